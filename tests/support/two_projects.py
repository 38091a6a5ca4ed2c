"""A collector with the default project and two more, each with a trace, labels and a webhook of words of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
from collecting import configured
from collecting import settled as everything_settled
from google.protobuf.message import Message
from hook_server import HookServer, answer, hook_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_clients import METHODS
from otlp_parts import span, text, traces

from tracejury.collector.app.service import Collector
from tracejury.collector.auth.key import KeyScope, new_key
from tracejury.collector.auth.key_file import changing

PROTOBUF = {"content-type": "application/x-protobuf"}
ALL = tuple(KeyScope)
AGENT, CALL, TOOL = (name.hex() for name in (b"agent001", b"llm00001", b"tool0001"))


@dataclass(frozen=True)
class Tenant:
    """One project with a trace. Every word of `words` is its own; `weird` stands in its texts."""

    name: str
    token: str
    trace: bytes
    weird: str = ""

    @property
    def trace_id(self) -> str:
        return self.trace.hex()

    @property
    def session(self) -> str:
        return f"{self.name}-session"

    @property
    def service(self) -> str:
        return f"{self.name}-service"

    @property
    def words(self) -> tuple[str, ...]:
        kinds = (
            "service", "session", "agent", "goal", "answer", "tool", "model", "person", "user", "release", "scope",
            "label", "described", "hook", "backend",
        )  # fmt: skip
        return (self.trace_id, *(f"{self.name}-{kind}" for kind in kinds))

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def request(self) -> ExportTraceServiceRequest:
        """A run with a failing tool call."""
        kind, own, odd = "openinference.span.kind", self.name, self.weird
        problem = f"TypeError: unexpected keyword argument '{own}-tool'{odd}"
        root = span(
            trace_id=self.trace, span_id=b"agent001", name=f"{own}-agent{odd}",
            attributes=[
                text(kind, "AGENT"), text("agent.name", f"{own}-agent{odd}"), text("session.id", self.session),
                text("user.id", f"{own}-user{odd}"),
                text("input.value", f"{own}-goal{odd}"), text("output.value", f"{own}-answer{odd}"),
            ],
            end_time_unix_nano=1_700_000_003_000_000_000,
        )  # fmt: skip
        model = span(
            trace_id=self.trace, span_id=b"llm00001", parent_span_id=b"agent001", name=f"llm{odd}",
            attributes=[
                text(kind, "LLM"), text("llm.model_name", f"{own}-model{odd}"),
                text("llm.input_messages.0.message.role", "user"),
                text("llm.input_messages.0.message.content", f"{own}-goal{odd}"),
                text("llm.output_messages.0.message.role", "assistant"),
                text("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", f"{own}-tool{odd}"),
                text("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "{}"),
            ],
            end_time_unix_nano=1_700_000_001_000_000_000,
        )  # fmt: skip
        tool = span(
            trace_id=self.trace, span_id=b"tool0001", parent_span_id=b"agent001", name=f"{own}-tool{odd}",
            attributes=[
                text(kind, "TOOL"), text("tool.name", f"{own}-tool{odd}"), text("output.value", f"Error: {problem}"),
            ],
            start_time_unix_nano=1_700_000_001_000_000_001, end_time_unix_nano=1_700_000_002_000_000_000,
        )  # fmt: skip
        made = traces(root, model, tool, service=self.service)
        group = made.resource_spans[0]
        group.resource.attributes.append(text("service.version", f"{own}-release{odd}"))
        group.scope_spans[0].scope.name = f"{own}-scope{odd}"
        return made


@dataclass
class Projects:
    """A collector whose projects' traces are judged, labelled and described. `base` is the default project."""

    collector: Collector
    acme: Tenant
    globex: Tenant
    base: Tenant
    tokens: dict[str, str]
    http: httpx.AsyncClient
    hook: HookServer

    @property
    def all(self) -> tuple[Tenant, ...]:
        return (self.acme, self.globex, self.base)

    async def get(self, path: str, tenant: Tenant | None = None, **more: Any) -> httpx.Response:
        return await self.http.get(path, headers=(tenant.headers() if tenant else {}) | more.pop("headers", {}), **more)

    def auth(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[name]}"}


KEYS = (
    ("acme", "acme", ALL, 0), ("globex", "globex", ALL, 0), ("base", "", ALL, 0),
    ("sender", "acme", (KeyScope.INGEST,), 0), ("reader", "acme", (KeyScope.READ,), 0),
    ("labeller", "acme", (KeyScope.READ, KeyScope.LABEL), 0), ("expired", "acme", ALL, 2),
)  # fmt: skip
"""Name, project, scopes and end of each key."""


@asynccontextmanager
async def projects(dsn: str, folder: Path, weird: str = "", **config: Any) -> AsyncIterator[Projects]:
    """A collector; the environment must hold `HOOK`, the webhooks' secret."""
    keys, tokens = folder / "keys.json", {"wrong": "tj_00000000_" + "x" * 43}
    with changing(keys) as held:
        for name, project, scopes, expires in KEYS:
            key, tokens[name] = new_key(f"{name}-person", project, scopes, 1, expires)
            held.append(key)
    names = ("acme", "globex", "base")
    with hook_server(answer(204)) as hook:
        owners = [(name, "" if name == "base" else name) for name in names]
        hooks = [
            {"name": f"{name}-hook", "url": f"{hook.url}/{name}", "secret": "${HOOK}", "project": project}
            for name, project in owners
        ]
        backends = [
            {"name": f"{name}-backend", "endpoint": "http://127.0.0.1:9", "project": project}
            for name, project in owners
        ]
        given = {"webhooks": hooks, "keys": {"file": str(keys)}, "export": {"otlp": backends}}
        async with Collector(configured(dsn, **given | config)) as collector:
            url = f"http://127.0.0.1:{collector.api_port}"
            async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
                acme, globex, base = (
                    Tenant(name, tokens[name], bytes([n]) * 16, weird) for n, name in enumerate(names, 1)
                )
                made = Projects(collector, acme, globex, base, tokens, http, hook)
                for tenant in made.all:
                    assert (await sent(made, tenant, tenant.headers())).status_code == 200
                for tenant in made.all:
                    await settled(made, tenant)
                    assert (await label(made, tenant)).status_code == 200
                    assert (await describe(made, tenant)).status_code == 200
                yield made


async def sent(world: Projects, tenant: Tenant, headers: dict[str, str]) -> httpx.Response:
    return await sent_as(world, tenant.request(), headers)


async def sent_as(world: Projects, request: Message, headers: dict[str, str]) -> httpx.Response:
    url = f"http://127.0.0.1:{world.collector.http_port}/v1/traces"
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(url, content=request.SerializeToString(), headers=PROTOBUF | headers)


async def sent_by_grpc(world: Projects, tenant: Tenant, metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode:
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{world.collector.grpc_port}", options=options) as channel:
        call = channel.unary_unary(METHODS["traces"], request_serializer=None, response_deserializer=None)
        try:
            await call(tenant.request().SerializeToString(), metadata=metadata, timeout=30)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK


async def settled(world: Projects, tenant: Tenant) -> None:
    """Wait until everything is judged; the tenant's trace is."""
    await everything_settled(world.collector)
    answer = await world.get(f"/api/traces/{tenant.trace_id}", tenant)
    assert answer.json()["state"] == "settled"


async def label(world: Projects, tenant: Tenant) -> httpx.Response:
    body = {
        "opinion": "missed", "trace_id": tenant.trace_id, "span_id": b"tool0001".hex(), "category": "Tool-related",
        "severity": "LOW", "annotator": f"{tenant.name}-person", "explanation": f"{tenant.name}-label",
    }  # fmt: skip
    return await world.http.post("/api/annotations", json={"items": [body]}, headers=tenant.headers())


async def describe(world: Projects, tenant: Tenant) -> httpx.Response:
    body = {"text": f"{tenant.name}-described"}
    return await world.http.put(f"/api/architectures/{tenant.service}", json=body, headers=tenant.headers())
