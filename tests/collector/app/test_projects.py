"""Keys and projects on a whole collector: what opens, what is refused, and that no project sees a word of another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from fastapi.routing import APIRoute
from google.protobuf.message import Message
from hook_server import SECRET, HookServer, answer, hook_server
from otlp_clients import METHODS
from otlp_parts import span, text, traces

from tracejury.collector.api.access import OPEN, STATIC, needed_scope
from tracejury.collector.app.service import Collector
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.auth.key import KeyScope, new_key
from tracejury.collector.auth.key_file import changing
from tracejury.collector.config import load_config

pytestmark = pytest.mark.store

FREE = {"endpoint": "127.0.0.1:0"}
PROTOBUF = {"content-type": "application/x-protobuf"}
ALL = tuple(KeyScope)


@dataclass(frozen=True)
class Tenant:
    """One of two projects with a trace each. Every word of `words` is its own."""

    name: str
    token: str
    trace: bytes

    @property
    def trace_id(self) -> str:
        return self.trace.hex()

    @property
    def session(self) -> str:
        return f"{self.name}-session"

    @property
    def words(self) -> tuple[str, ...]:
        kinds = ("service", "session", "agent", "goal", "answer", "tool", "model", "person")
        return (self.trace_id, *(f"{self.name}-{kind}" for kind in kinds))

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def request(self) -> Message:
        """A run with a failing tool call."""
        kind, own = "openinference.span.kind", self.name
        problem = f"TypeError: unexpected keyword argument '{own}-tool'"
        root = span(
            trace_id=self.trace, span_id=b"agent001", name=f"{own}-agent",
            attributes=[
                text(kind, "AGENT"), text("agent.name", f"{own}-agent"), text("session.id", self.session),
                text("input.value", f"{own}-goal"), text("output.value", f"{own}-answer"),
            ],
            end_time_unix_nano=1_700_000_003_000_000_000,
        )  # fmt: skip
        model = span(
            trace_id=self.trace, span_id=b"llm00001", parent_span_id=b"agent001", name="llm",
            attributes=[
                text(kind, "LLM"), text("llm.model_name", f"{own}-model"),
                text("llm.input_messages.0.message.role", "user"),
                text("llm.input_messages.0.message.content", f"{own}-goal"),
                text("llm.output_messages.0.message.role", "assistant"),
                text("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", f"{own}-tool"),
                text("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "{}"),
            ],
            end_time_unix_nano=1_700_000_001_000_000_000,
        )  # fmt: skip
        tool = span(
            trace_id=self.trace, span_id=b"tool0001", parent_span_id=b"agent001", name=f"{own}-tool",
            attributes=[
                text(kind, "TOOL"), text("tool.name", f"{own}-tool"), text("output.value", f"Error: {problem}"),
            ],
            start_time_unix_nano=1_700_000_001_000_000_001, end_time_unix_nano=1_700_000_002_000_000_000,
        )  # fmt: skip
        return traces(root, model, tool, service=f"{own}-service")


@dataclass
class Town:
    """A collector with two projects, whose traces are judged, and a label in each."""

    collector: Collector
    acme: Tenant
    globex: Tenant
    tokens: dict[str, str]
    http: httpx.AsyncClient
    hook: HookServer

    async def get(self, path: str, tenant: Tenant | None = None, **more: Any) -> httpx.Response:
        return await self.http.get(path, headers=(tenant.headers() if tenant else {}) | more.pop("headers", {}), **more)

    def auth(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[name]}"}


@pytest.fixture
async def town(served_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Town]:
    keys, tokens = tmp_path / "keys.json", dict[str, str]()
    with changing(keys) as held:
        for name, project, scopes in (
            ("acme", "acme", ALL), ("globex", "globex", ALL), ("sender", "acme", (KeyScope.INGEST,)),
            ("reader", "acme", (KeyScope.READ,)), ("labeller", "acme", (KeyScope.READ, KeyScope.LABEL)),
        ):  # fmt: skip
            key, tokens[name] = new_key(f"{name}-person", project, scopes, 1)
            held.append(key)
    judging = {"quiet_seconds": 0.2, "rootless_seconds": 0.2}
    store, own = {"dsn": served_dsn}, {"file": str(keys)}
    monkeypatch.setenv("HOOK", SECRET)
    with hook_server(answer(204)) as hook:
        hooks = [
            {"name": name, "url": f"{hook.url}/{name}", "secret": "${HOOK}", "project": project}
            for name, project in (("default", ""), ("acme", "acme"))
        ]
        given = {"store": store, "grpc": FREE, "http": FREE, "api": FREE, "judging": judging, "keys": own}
        async with opened(given | {"webhooks": hooks}, tokens, hook) as made:
            yield made


@asynccontextmanager
async def opened(config: dict[str, Any], tokens: dict[str, str], hook: HookServer) -> AsyncIterator[Town]:
    async with Collector(load_config(None, config)) as collector:
        url = f"http://127.0.0.1:{collector.api_port}"
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
            # One trace id in both: ids are the clients' own.
            acme, globex = (Tenant(name, tokens[name], bytes([n]) * 16) for n, name in ((1, "acme"), (2, "globex")))
            made = Town(collector, acme, globex, tokens, http, hook)
            for tenant in (acme, globex):
                assert (await sent(made, tenant, tenant.headers())).status_code == 200
                await settled(made, tenant)
                assert (await label(made, tenant)).status_code == 200
            yield made


async def sent(town: Town, tenant: Tenant, headers: dict[str, str]) -> httpx.Response:
    url = f"http://127.0.0.1:{town.collector.http_port}/v1/traces"
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(url, content=tenant.request().SerializeToString(), headers=PROTOBUF | headers)


async def sent_by_grpc(town: Town, tenant: Tenant, metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode:
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{town.collector.grpc_port}", options=options) as channel:
        call = channel.unary_unary(METHODS["traces"], request_serializer=None, response_deserializer=None)
        try:
            await call(tenant.request().SerializeToString(), metadata=metadata, timeout=30)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK


async def settled(town: Town, tenant: Tenant) -> None:
    async with asyncio.timeout(30):
        while True:
            answer = await town.get(f"/api/traces/{tenant.trace_id}", tenant)
            if answer.status_code == 200 and answer.json()["state"] == "settled":
                return
            await asyncio.sleep(0.02)


async def label(town: Town, tenant: Tenant) -> httpx.Response:
    body = {
        "opinion": "missed", "trace_id": tenant.trace_id, "span_id": b"tool0001".hex(), "category": "Tool-related",
        "severity": "LOW", "annotator": f"{tenant.name}-person", "explanation": f"{tenant.name}-answer",
    }  # fmt: skip
    return await town.http.post("/api/annotations", json={"items": [body]}, headers=tenant.headers())


@pytest.mark.parametrize(
    ("name", "header", "code", "status"),
    [
        ("", "authorization", grpc.StatusCode.UNAUTHENTICATED, 401),
        ("wrong", "authorization", grpc.StatusCode.UNAUTHENTICATED, 401),
        ("reader", "authorization", grpc.StatusCode.PERMISSION_DENIED, 403),
        ("sender", "authorization", grpc.StatusCode.OK, 200),
        ("sender", "x-api-key", grpc.StatusCode.OK, 200),
    ],
)
async def test_only_a_key_with_ingest_sends(
    town: Town, name: str, header: str, code: grpc.StatusCode, status: int
) -> None:
    """Over both protocols; what was refused is not stored."""
    town.tokens["wrong"] = "tj_00000000_" + "x" * 43
    own = Tenant("acme", "", bytes([9]) * 16)
    value = town.tokens[name] if name else ""
    value = f"Bearer {value}" if header == "authorization" else value
    headers = {header: value} if name else {}
    assert await sent_by_grpc(town, own, tuple(headers.items())) is code
    assert (await sent(town, own, headers)).status_code == status
    stored = (await town.get(f"/api/traces/{own.trace_id}", town.acme)).status_code
    assert stored == (200 if status == 200 else 404)


def routes() -> list[tuple[str, str]]:
    """Method and path of every endpoint of API and pages."""
    from memory_api import MemoryReader

    from tracejury.collector.api.services import Services

    app = create_web_app(Services(MemoryReader(), lambda _ids, _hand: (), tuple, bytes))
    return sorted({(method, r.path) for r in app.routes if isinstance(r, APIRoute) for method in r.methods or ()})


def filled(path: str, tenant: Tenant, error_id: str) -> str:
    """A path with the ids of a tenant in place of its parameters."""
    values = {
        "trace_id": tenant.trace_id, "span_id": b"tool0001".hex(), "session_id": tenant.session,
        "service": f"{tenant.name}-service", "error_id": error_id, "finding_id": error_id, "some_id": error_id,
        "annotation_id": "x", "key": tenant.trace_id, "node": b"agent001".hex(), "run_id": b"agent001".hex(),
    }  # fmt: skip
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: values.get(found[1], "x"), path)


async def test_every_address_asks_for_a_key(town: Town) -> None:
    """API, pages, metrics and documents; without one nothing is told, with one that lacks the scope neither."""
    for method, path in routes():
        address = filled(path, town.acme, "0" * 32)
        is_open = address in OPEN or address.startswith(STATIC)
        answer = await town.http.request(method, address, json={} if method != "GET" else None)
        if is_open:
            assert answer.status_code != 401, address
        else:
            assert answer.status_code == 401, (method, address)
        for word in (*town.acme.words, *town.globex.words):
            assert is_open or word not in answer.text.replace(address, ""), (method, address)
        needed = needed_scope(method, address)
        if not is_open:
            refused = await town.http.request(method, address, headers=town.auth("sender"))
            assert refused.status_code == 403, (method, address)
        if not is_open and needed is not KeyScope.READ:
            refused = await town.http.request(method, address, json={}, headers=town.auth("reader"))
            assert refused.status_code == 403, (method, address)
        if needed is KeyScope.ADMIN and not is_open:
            refused = await town.http.request(method, address, json={}, headers=town.auth("labeller"))
            assert refused.status_code == 403, (method, address)


async def test_no_address_tells_a_word_of_another_project(town: Town) -> None:
    """Whether it is asked about its own ids or those of the other one."""
    for own, other in ((town.acme, town.globex), (town.globex, town.acme)):
        errors = (await town.get("/api/errors", other, params={"profile": "0"})).json()["items"]
        assert errors
        for method, path in routes():
            if method != "GET" or path.startswith("/api/live") or "events" in path:
                continue
            for ids in (own, other):
                address = filled(path, ids, errors[0]["id"])
                headers = {"accept": "text/html"} if not path.startswith("/api") else {}
                params = {"profile": "0", "since": "3650d"} if path.startswith("/api") else {}
                answer = await town.get(address, own, headers=headers, params=params)
                said = answer.text.replace(address, "")
                told = [word for word in other.words if word in said and word not in address]
                assert not told, (address, told, answer.status_code)
    for path in ("/api/traces", "/api/errors", "/api/sessions", "/api/export"):
        answer = await town.get(path, town.acme, params={"profile": "0"} if path != "/api/sessions" else {})
        assert "acme-service" in answer.text, path


async def test_no_change_reaches_another_project(town: Town) -> None:
    """Deleting, judging and labelling by ids of the other one finds nothing."""
    mine, theirs = town.acme, town.globex
    post = town.http.post
    gone = await town.http.request("DELETE", f"/api/traces/{theirs.trace_id}", json={}, headers=mine.headers())
    assert gone.status_code == 404
    for body in ({"session": theirs.session}, {"service": "globex-service", "before": "0s"}):
        assert (await post("/api/delete", json=body, headers=mine.headers())).json()["deleted"] == 0
    assert (await post("/api/judge", json={"trace_id": theirs.trace_id}, headers=mine.headers())).status_code == 404
    refused = await label(town, Tenant("globex", mine.token, theirs.trace))
    assert refused.status_code == 404
    await settled(town, theirs)
    said = (await town.get("/api/annotations", theirs)).json()["items"]
    assert [one["annotator"] for one in said] == ["globex-person"]


async def test_one_trace_id_in_two_projects_is_two_traces(town: Town) -> None:
    """Ids are the clients' own: a project that sends another's id adds nothing to its trace."""
    copy = Tenant("acme", town.acme.token, town.globex.trace)
    assert (await sent(town, copy, copy.headers())).status_code == 200
    await settled(town, copy)
    seen = {
        tenant.name: (await town.get(f"/api/traces/{copy.trace_id}", tenant)).json()["service"]
        for tenant in (town.acme, town.globex)
    }
    assert seen == {"acme": "acme-service", "globex": "globex-service"}
    assert (
        await town.http.request("DELETE", f"/api/traces/{copy.trace_id}", json={}, headers=town.acme.headers())
    ).is_success
    assert (await town.get(f"/api/traces/{copy.trace_id}", town.globex)).status_code == 200


async def test_people_sign_in_with_a_key(town: Town) -> None:
    """A page leads to the form; a right key leads back; the cookie holds no key, and ends with it."""
    page = await town.get("/traces?q=x", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=%2Ftraces%3Fq%3Dx")
    async with httpx.AsyncClient(base_url=town.http.base_url, trust_env=False) as browser:
        form = await browser.get(page.headers["location"])
        token = re.findall(r'name="csrf" value="([^"]+)"', form.text)[-1]
        wrong = {"csrf": token, "key": "tj_00000000_x", "next": "/traces?q=x"}
        refused = await browser.post("/sign-in", data=wrong)
        assert (refused.status_code, "not known here" in refused.text) == (401, True)
        right = await browser.post("/sign-in", data=wrong | {"key": town.acme.token})
        assert (right.status_code, right.headers["location"]) == (303, "/traces?q=x")
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert town.acme.token.split("_", 2)[2] not in cookie
        seen = await browser.get("/traces")
        assert "acme-service" in seen.text
        assert "project acme" in seen.text
        # A second key, and the way between both.
        assert (await browser.post("/sign-in", data=wrong | {"key": town.globex.token})).status_code == 303
        both = await browser.get("/traces")
        assert "globex-service" in both.text
        assert "acme-service" not in both.text
        key_id = town.acme.token.split("_")[1]
        assert (await browser.post("/project", data={"csrf": token, "key": key_id})).status_code == 303
        assert "acme-service" in (await browser.get("/traces")).text
        foreign = await browser.post("/project", data={"csrf": token, "key": town.tokens["reader"].split("_")[1]})
        assert foreign.status_code == 303
        assert "acme-person" in (await browser.get("/traces")).text
        assert (await browser.post("/sign-out", data={"csrf": token})).status_code == 303
        assert (await browser.get("/traces", headers={"accept": "text/html"})).status_code == 303


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("/traces?q=x", "/traces?q=x"),
        ("//evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a//b", "/"),
        ("/\r\nSet-Cookie: a=b", "/"),
        ("", "/"),
    ],
)
def test_signing_in_leads_nowhere_else(given: str, target: str) -> None:
    from tracejury.collector.web.sign_in import local

    assert local(given) == target


async def test_a_revoked_key_is_refused_and_its_streams_end(town: Town) -> None:
    """Live pages included, at their next event."""
    path = Path(town.collector.config.keys.file)
    async with town.http.stream("GET", "/live/events", headers=town.acme.headers()) as stream:
        assert stream.status_code == 200
        with changing(path) as keys:
            keys[:] = [key for key in keys if key.name != "acme-person"]
        async with asyncio.timeout(30):
            async for _ in stream.aiter_bytes():
                pass
    assert (await town.get("/api/traces", town.acme)).status_code == 401
    assert (await town.get("/api/traces", town.globex)).status_code == 200


async def test_a_webhook_is_told_of_its_project_alone(town: Town) -> None:
    """Neither that of the default project nor that of another one hears a word."""
    await asyncio.to_thread(town.hook.wait, 1)
    await settled(town, town.globex)
    assert {request.path for request in town.hook.received} == {"/hook/acme"}
    assert not [request for request in town.hook.received if b"globex" in request.body]
