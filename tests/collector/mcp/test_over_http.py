"""The tools over HTTP, with keys and projects: each tells its own project alone, and refuses in one line."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp_clients import over_http, refusal, text_of, told
from mcp_requests import POSTED, request
from two_projects import TOOL, Projects, Tenant, sent, settled

from tracejury.collector.mcp import sdk
from tracejury.collector.mcp.endpoint import WAITING
from tracejury.collector.mcp.tools import TOOLS
from tracejury.schemas.errors import ConfigError

ASKED = {"list_errors": {"profile": "0"}, "search": {}, "rates": {"by": "service"}, "patterns": {}}


def url(world: Projects) -> str:
    """The collector's API."""
    return str(world.http.base_url).rstrip("/")


async def post(world: Projects, body: dict[str, Any], tenant: Tenant | None = None, **more: str) -> httpx.Response:
    """A request as it is, with a project's key."""
    headers = POSTED | (tenant.headers() if tenant else {}) | more
    return await world.http.post("/mcp", json=body, headers=headers, timeout=120)


async def first_error(client: Client) -> dict[str, Any]:
    """An error of the project, whatever its confidence."""
    found: dict[str, Any] = (await told(client, "list_errors", profile="0"))["items"][0]
    return found


async def test_every_tool_answers_about_its_own_project_alone(world: Projects) -> None:
    """In structure, text and resources; of another project's ids nothing is known."""
    for own, other in ((world.acme, world.globex), (world.globex, world.acme)):
        async with over_http(url(world), own.token) as client:
            error = await first_error(client)
            both = {"first": own.trace_id, "second": own.trace_id}
            asked = ASKED | {
                "why": {"id": error["id"]}, "trace": {"trace": own.trace_id}, "compare": both,
                "label": {"opinion": "agree", "id": error["id"]},
            }  # fmt: skip
            assert set(asked) == set(TOOLS)
            said = ""
            for tool, arguments in asked.items():
                found = await client.call_tool(tool, arguments)
                assert not found.is_error, (tool, text_of(found))
                said += f"{found.structured_content}{text_of(found)}"
            said += str(await client.read_resource(f"tracejury://traces/{own.trace_id}"))
            assert [word for word in other.words if word in said] == []
            assert {f"{own.name}-{kind}" for kind in ("service", "agent", "goal", "tool")} <= {
                word for word in own.words if word in said
            }
            for tool, arguments in (
                ("why", {"id": TOOL, "trace": other.trace_id}),
                ("trace", {"trace": other.trace_id}),
                ("compare", {"first": own.trace_id, "second": other.trace_id}),
            ):
                assert f"{other.name}-" not in await refusal(client, tool, **arguments)


async def test_why_tells_the_error_with_its_turns_and_its_pattern(world: Projects) -> None:
    """By the id of the error, its beginning, and that of its span."""
    async with over_http(url(world), world.acme.token) as client:
        error = await first_error(client)
        found = await told(client, "why", id=error["id"])
        assert found["quoted"]["evidence"]
        assert found["trace_id"] == world.acme.trace_id
        assert [turn["here"] for turn in found["turns"]].count(True) == 1
        assert found["page"] == f"{url(world)}/errors/{error['id']}"
        assert (await world.get(f"/errors/{error['id']}", world.acme)).status_code == 303
        for given in (error["id"][:12], error["span_id"]):
            assert (await told(client, "why", id=given))["id"] == error["id"]


async def test_pages_follow_each_other(world: Projects) -> None:
    """All errors and all turns come once, in the order of one page."""
    for number in (8, 9):
        new = Tenant(world.acme.name, world.acme.token, bytes([number]) * 16)
        assert (await sent(world, new, new.headers())).status_code == 200
        await settled(world, new)
    async with over_http(url(world), world.acme.token) as client:
        whole = [error["id"] for error in (await told(client, "list_errors", profile="0", limit=50))["items"]]
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await told(client, "list_errors", profile="0", limit=1, cursor=cursor)
            seen += [error["id"] for error in page["items"]]
            cursor = page["next"]
        assert len(whole) == 3
        assert seen == whole
        trace = await told(client, "trace", trace=world.acme.trace_id, limit=1)
        turns = [turn for run in trace["agent_runs"] for turn in run["turns"]]
        assert len(turns) == 1
        for cursor in ("x:y", "-1:", "0:", "٣:", "9" * 900, "7:"):
            assert "cursor: " in await refusal(client, "trace", trace=world.acme.trace_id, cursor=cursor)


async def test_lists_by_rank_end(world: Projects) -> None:
    """Their pages come once, and a cursor that none of them gave is refused."""
    async with over_http(url(world), world.acme.token) as client:
        keys: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await told(client, "rates", by="category", profile="0", limit=1, cursor=cursor)
            keys += [item["quoted"].get("group", "") for item in page["items"]]
            cursor = page["next"]
        assert len(keys) == len(set(keys)) > 0
        for tool in ("rates", "patterns"):
            for cursor in ("x", "-1", "0", "1000", "9999", "٣", "1e2"):
                assert "is not the `next` of a page" in await refusal(client, tool, cursor=cursor)
        last = await told(client, "patterns", cursor="999", limit=50)
        assert (last["items"], last["next"]) == ([], None)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("why", {}, "id: this key is missing"),
    ("why", {"id": "zz"}, "no error 'zz' is stored"),
    ("list_errors", {"servise": "x"}, "unknown parameter 'servise'; there are: trace, service,"),
    ("list_errors", {"severity": "WORST"}, "severity: must be 'LOW', 'MEDIUM' or 'HIGH'"),
    ("list_errors", {"limit": 1000}, "limit: must be less than or equal to 50"),
    ("list_errors", {"service": "nope"}, "no service 'nope' is stored; known are: acme-service"),
    ("list_errors", {"cursor": "x"}, "cursor: 'x' is not the `next` of a page"),
    ("trace", {"trace": "01" * 16, "span": "f" * 16}, "no span 'ffffffffffffffff' is in this trace"),
    ("trace", {"trace": "01" * 16, "span": "f" * 16, "cursor": "x"}, "use either span or cursor, not both"),
    ("search", {"text": {"$ne": 1}}, "text: must be"),
    ("compare", {"first": "a"}, "name first and second, or task, or pattern, or version and to_version"),
    ("label", {"opinion": "delete"}, "opinion: must be 'agree'"),
]
"""A tool, arguments that do not fit, and what is said of them."""


async def test_what_does_not_fit_is_told_in_one_line(world: Projects) -> None:
    """With what is allowed."""
    async with over_http(url(world), world.acme.token) as client:
        for tool, arguments, said in REFUSED:
            text = await refusal(client, tool, **arguments)
            assert said in text
            assert text.count("\n") == 4  # the warning, and one line between its marks


async def test_there_is_no_other_tool_and_none_that_deletes(world: Projects) -> None:
    """What there is says whether it changes anything."""
    async with over_http(url(world), world.acme.token) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools if not (tool.annotations and tool.annotations.read_only_hint)] == ["label"]
        assert not any(tool.annotations is None or tool.annotations.destructive_hint for tool in tools)
        with pytest.raises(MCPError, match="there are: list_errors, why"):
            await client.call_tool("delete_trace", {"trace": world.acme.trace_id})


async def test_a_key_does_over_mcp_what_it_may_do_elsewhere(world: Projects) -> None:
    """None and a wrong one nothing; one that reads sets no label; a label names the key."""
    for headers in ({}, world.auth("wrong"), world.auth("sender")):
        answer = await post(world, request("tools/list"), None, **headers)
        assert answer.status_code in (401, 403), answer.text
    async with over_http(url(world), world.tokens["reader"]) as client:
        error = await first_error(client)
        assert "needs the scope label" in await refusal(client, "label", opinion="agree", id=error["id"])
    async with over_http(url(world), world.tokens["labeller"]) as client:
        assert (await told(client, "label", opinion="agree", id=error["id"]))["annotator"] == "mcp:labeller-person"


async def test_other_requests_are_refused(world: Projects) -> None:
    """Streams, forms, other sites, bodies that are too large or no MCP."""
    acme = world.acme
    assert (await world.get("/mcp", acme)).status_code == 405
    assert (await world.http.delete("/mcp", headers=acme.headers())).status_code in (405, 415)
    assert (await post(world, request("ping"), acme, origin="http://evil.example")).status_code == 403
    assert (await post(world, request("ping", junk="x" * 70_000), acme)).status_code == 413
    form = await world.http.post("/mcp", data={"a": "b"}, headers=POSTED | acme.headers())
    assert form.status_code == 415
    for body in ({}, {"jsonrpc": "2.0"}, request("no/such/method")):
        answer = await post(world, body, acme)
        assert answer.status_code < 500, answer.text
        assert "error" in answer.json()


async def test_a_host_that_is_no_address_is_refused(world: Projects) -> None:
    """In one line, and not in the log."""
    answer = await post(world, request("tools/list"), world.acme, host="127.0.0.1:x")
    assert (answer.status_code, "Host" in answer.json()["detail"]) == (400, True)


async def test_a_client_that_floods_is_refused_and_delays_no_other(world: Projects) -> None:
    """It has WAITING requests at most; another one is answered meanwhile."""
    flood = request("tools/call", name="search", arguments={})
    answers = [asyncio.create_task(post(world, flood, world.acme)) for _ in range(4 * WAITING)]
    began = time.monotonic()
    others = [await post(world, flood, world.globex) for _ in range(3)]
    other = time.monotonic() - began
    statuses = [answer.status_code for answer in await asyncio.gather(*answers)]
    assert {answer.status_code for answer in others} == {200}
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= WAITING
    assert other < 30
    assert (await post(world, flood, world.acme)).status_code == 200


async def test_without_the_sdk_it_says_what_to_install(world: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the API is as it was."""

    def absent() -> None:
        raise ConfigError(sdk.ABSENT)

    monkeypatch.setattr(sdk, "loaded", absent)
    answer = await post(world, request("tools/list"), world.acme)
    assert (answer.status_code, answer.json()["detail"]) == (
        501, "this collector has no MCP: MCP needs its SDK: pip install 'tracejury[mcp]'"
    )  # fmt: skip
    assert (await world.get("/api/errors", world.acme)).status_code == 200
