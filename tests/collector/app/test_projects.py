"""Three projects on one collector: no answer, stream, change or webhook of one tells or touches another."""

from __future__ import annotations

import asyncio
import re
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_requests import request
from two_projects import AGENT, TOOL, Projects, Tenant, label, sent, sent_as, settled
from walked import filled, routes

from tracejury.collector.api.access import is_open

STREAMS = {"/live/events", "/live/traces/{trace_id}/events"}
OF_ALL = {("POST", "/api/backups")}
"""What only the default project may do, as it concerns all."""


def told_of(others: list[Tenant], said: str, asked: str = "") -> list[str]:
    """Words of other projects in an answer, without those that were asked with."""
    return [word for other in others for word in other.words if word in said and word not in asked]


async def error_id(world: Projects, tenant: Tenant) -> str:
    """The id of an error of a project."""
    found = (await world.get("/api/errors", tenant, params={"profile": "0"})).json()["items"]
    return str(found[0]["id"])


async def answer_of(http: httpx.AsyncClient, path: str, headers: dict[str, str], params: dict[str, str]) -> str | None:
    """All of an answer, headers included; None for a stream, which has no end."""
    async with http.stream("GET", path, headers=headers, params=params) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return None
        await answer.aread()
        assert answer.status_code < 500, (path, answer.text)
        return f"{answer.status_code} {dict(answer.headers)} {answer.text}"


async def test_no_answer_tells_a_word_of_another_project(world: Projects) -> None:
    """Whether it is asked about its own ids or those of the other one; headers, errors and metrics included."""
    errors = {one.name: await error_id(world, one) for one in world.all}
    acme, globex, base = world.all
    asked = [(acme, acme), (acme, globex), (acme, base), (base, base), (base, acme)]
    streams = set()
    for (own, ids), (method, path) in product(asked, routes()):
        if method != "GET":
            continue
        address = filled(path, ids, errors[ids.name])
        more = {"profile": "0", "since": "3650d"} if path.startswith("/api") else {"range": "30d"}
        headers = own.headers() | ({} if path.startswith("/api") else {"accept": "text/html"})
        said = await answer_of(world.http, address, headers, more)
        if said is None:
            streams.add(path)
        else:
            assert told_of([one for one in world.all if one is not own], said, address) == [], address
    assert streams == STREAMS, "a stream that test_no_stream_tells_of_another_project does not follow"


async def test_no_project_compares_traces_of_another(world: Projects) -> None:
    """Neither by API nor on the page; of its own a project is told."""
    acme, globex, _ = world.all
    for path in ("/api/compare/traces", "/compare/traces"):
        for own, other in ((acme, globex), (globex, acme)):
            for first, second in ((own.trace_id, other.trace_id), (other.trace_id, own.trace_id)):
                params = {"first": first, "second": second}
                answer = await world.get(path, own, params=params)
                assert answer.status_code == 404, answer.text
                assert told_of([other], answer.text, str(params)) == []
            told = await world.get(path, own, params={"first": own.trace_id, "second": own.trace_id})
            assert f"{own.name}-tool" in told.text


async def test_the_words_are_there_to_be_told(world: Projects) -> None:
    """Each project finds its own in its answers: the walk looks for what can be found."""
    for own in world.all:
        said = ""
        for path in ("/api/export", "/api/annotations", f"/api/architectures/{own.service}", "/metrics", "/api/traces"):
            said += (await world.get(path, own, params={"profile": "0"} if path == "/api/export" else {})).text
        said += (await world.get(f"/api/traces/{own.trace_id}/otlp", own)).text
        assert [word for word in own.words if word not in said] == []


async def heard(stream: httpx.Response, sought: str) -> str:
    """What a stream tells until a word comes."""
    text = ""
    async with asyncio.timeout(30):
        async for piece in stream.aiter_text():
            text += piece
            if sought in text:
                return text
    raise AssertionError(f"it ended without {sought}: {text}")


async def test_no_stream_tells_of_another_project(world: Projects) -> None:
    """Others get new findings first; then the stream hears of its own alone."""
    own = world.acme
    others = [world.globex, world.base]
    params = {"profile": "0"}
    async with world.http.stream("GET", "/live/events", headers=own.headers(), params=params) as stream:
        for tenant, trace in ((others[0], 8), (others[1], 9), (own, 10)):
            new = Tenant(tenant.name, tenant.token, bytes([trace]) * 16)
            assert (await sent(world, new, new.headers())).status_code == 200
            await settled(world, new)
        said = await heard(stream, f"{own.name}-tool")
        assert told_of(others, said) == []


async def test_no_stream_of_a_trace_tells_of_its_namesake(world: Projects) -> None:
    """Ids are the clients' own: a project that follows another's id hears of its own trace of that id alone."""
    other, own = world.globex, Tenant("acme", world.acme.token, world.globex.trace)
    path = f"/live/traces/{other.trace_id}/events"
    theirs = (await world.get("/api/findings", other, params={"profile": "0"})).json()["items"]
    async with world.http.stream("GET", path, headers=own.headers()) as stream:
        assert (await label(world, other)).status_code == 200
        assert (
            await world.http.post("/api/judge", json={"trace_id": other.trace_id}, headers=other.headers())
        ).is_success
        assert (await sent(world, own, own.headers())).status_code == 200
        await settled(world, own)
        mine = (await world.get("/api/findings", own, params={"profile": "0", "trace": own.trace_id})).json()["items"]
        said = await heard(stream, mine[0]["id"])
    assert theirs
    assert [one["id"] for one in theirs if one["id"] in said] == []


def changes(tenant: Tenant, error: str) -> dict[tuple[str, str], list[Any]]:
    """Bodies for every route that changes something, about what a project has."""
    own = {"annotator": "mallory", "trace_id": tenant.trace_id}
    form = {"annotator": "mallory", "trace": tenant.trace_id, "run": AGENT}
    missed = {"opinion": "missed", "span_id": TOOL, "category": "Tool-related", "severity": "LOW"}
    score, review = {"dimension": "GF", "score": 3}, {"agent_run_id": AGENT}
    pair = {"session_id": tenant.session, "other_session_id": "acme-session", "better": "first"}
    return {
        ("DELETE", "/api/traces/{trace_id}"): [{}],
        ("DELETE", "/api/annotations/{annotation_id:path}"): [{}],
        ("DELETE", "/api/architectures/{service:rest}"): [{}],
        ("PUT", "/api/architectures/{service:rest}"): [{"text": "mallory"}],
        ("PUT", "/api/views/{view:some}"): [{"link": "/traces?q=mallory"}],
        ("DELETE", "/api/views/{view:some}"): [{}],
        ("POST", "/views"): [{"name": "x", "link": "/traces?q=mallory"}],
        ("POST", "/views/delete"): [{"name": "x"}],
        ("POST", "/api/delete"): [{"session": tenant.session}, {"service": tenant.service, "before": "0s"}],
        ("POST", "/api/judge"): [{"trace_id": tenant.trace_id}, {"session": tenant.session}],
        ("POST", "/api/annotations"): [
            {"items": [own | missed]},
            {"items": [{"annotator": "mallory", "opinion": "disagree", "finding_id": error}]},
        ],
        ("POST", "/api/clusters/names"): [{"name": "mallory", "error_ids": [error]}],
        ("POST", "/mcp"): [request("tools/call", name="label", arguments={"opinion": "disagree", "id": error})],
        ("POST", "/api/human-scores"): [{"items": [own | score]}],
        ("POST", "/api/reviews"): [{"items": [own | review]}],
        ("POST", "/api/preferences"): [{"items": [{"annotator": "mallory", "service": tenant.service} | pair]}],
        ("POST", "/api/session-labels"): [
            {"items": [{"annotator": "mallory", "service": tenant.service, "session_id": tenant.session, "good": True}]}
        ],
        ("POST", "/api/pattern-labels"): [
            {"items": [{"annotator": "mallory", "pattern": "0" * 16, "mark": "ignored"}]}
        ],
        ("POST", "/api/score-outcomes"): [{"items": [{"annotator": "mallory", "name": "thumbs", "good": ">=1"}]}],
        ("POST", "/api/scores"): [{"trace_id": tenant.trace_id, "name": "mallory", "value": 1}],
        ("POST", "/api/public/scores"): [{"traceId": tenant.trace_id, "name": "mallory", "value": 1}],
        ("POST", "/api/public/{path:rest}"): [{}],
        ("POST", "/api/public/ingestion"): [
            {"batch": [{"type": "score-create", "body": {"traceId": tenant.trace_id, "name": "mallory", "value": 1}}]}
        ],
        ("POST", "/v1/span_annotations"): [{"data": [{"span_id": TOOL, "name": "mallory", "result": {"score": 1}}]}],
        ("POST", "/v1/trace_annotations"): [
            {"data": [{"trace_id": tenant.trace_id, "name": "mallory", "result": {"score": 1}}]}
        ],
        ("POST", "/v1/session_annotations"): [
            {"data": [{"session_id": tenant.session, "name": "mallory", "result": {"score": 1}}]}
        ],
        ("POST", "/api/labels/import"): [{"items": [{"kind": "score"} | own | score | review]}],
        ("POST", "/api/labels/delete"): [
            {"trace": tenant.trace_id},
            {"annotator": f"{tenant.name}-person"},
            {"session": tenant.session},
        ],
        ("POST", "/feedback/missed"): [form | {"span": TOOL, "category": "Tool-related", "severity": "LOW"}],
        ("POST", "/feedback/opinion"): [form | {"finding": error, "opinion": "disagree"}],
        ("POST", "/feedback/opinions"): [form | {f"pick:{error}": "1", "opinion": "disagree"}],
        ("POST", "/feedback/review"): [form],
        ("POST", "/feedback/score"): [form | {"dimension": "GF", "score": "3"}],
        ("POST", "/feedback/withdraw"): [form | {"annotation": "x"}],
        ("POST", "/feedback/preference"): [
            {"annotator": "mallory", "first": tenant.session, "second": "acme-session", "better": "same"}
        ],
        ("POST", "/feedback/session"): [
            {"annotator": "mallory", "session_id": tenant.session, "service": tenant.service, "good": "no"}
        ],
        ("POST", "/feedback/pattern"): [{"annotator": "mallory", "pattern": "0" * 16, "mark": "ignored"}],
        ("POST", "/feedback/name"): [{"annotator": "mallory"}],
    }


async def everything(world: Projects, tenant: Tenant) -> list[str]:
    """What a project has, as far as somebody could change it."""
    paths = (
        "/api/export?profile=0", "/api/annotations?withdrawn=true", "/api/human-scores?withdrawn=true",
        "/api/reviews?withdrawn=true", "/api/preferences?withdrawn=true",
        "/api/session-labels?withdrawn=true", "/api/pattern-labels?withdrawn=true", "/api/views",
        "/api/score-outcomes?withdrawn=true", "/api/scores",
        f"/api/architectures/{tenant.service}?history=true", "/api/traces?profile=0", f"/api/traces/{tenant.trace_id}",
    )  # fmt: skip
    return [(await world.get(path, tenant)).text for path in paths]


async def test_no_change_reaches_another_project(world: Projects) -> None:
    """Every route that changes something, with everything that names what the other one has."""
    own = world.acme
    page = await world.get("/sign-in", own)
    cookie = page.headers["set-cookie"].partition(";")[0]
    csrf = {"csrf": re.findall(r'name="csrf" value="([^"]+)"', page.text)[-1]}
    changing = {(method, path) for method, path in routes() if method != "GET" and not is_open(path)} - OF_ALL
    for other in (world.globex, world.base):
        bodies = changes(other, await error_id(world, other))
        assert set(bodies) == changing, "a route that this test does not try"
        before = await everything(world, other)
        for (method, path), given in bodies.items():
            for body in given:
                address = filled(path, other)
                programs = path.startswith(("/api", "/v1", "/mcp"))
                sending = {"json": body} if programs else {"data": body | csrf}
                headers = own.headers() | ({} if programs else {"cookie": cookie})
                answer = await world.http.request(method, address, headers=headers, **sending)
                assert answer.status_code < 500, (address, answer.text)
                assert answer.status_code not in (401, 403, 415), (address, answer.text)
                asked = f"{address} {body}"
                assert told_of([other], f"{dict(answer.headers)} {answer.text}", asked) == [], address
        assert await everything(world, other) == before


@pytest.mark.parametrize("name", ["globex", "base"])
async def test_one_trace_id_in_two_projects_is_two_traces(world: Projects, name: str) -> None:
    """Ids are the clients' own: a project that sends another's id adds nothing to its trace, and reads nothing of it.

    Also when both are read from the store to be judged again, and while one grows.
    """
    other = next(one for one in world.all if one.name == name)
    copy = Tenant("acme", world.acme.token, other.trace)
    before = await everything(world, other)
    for _ in range(2):
        assert (await sent(world, copy, copy.headers())).status_code == 200
        await settled(world, copy)
        for tenant in (copy, other):
            body = {"trace_id": copy.trace_id}
            again = await world.http.post("/api/judge", json=body, headers=tenant.headers())
            assert [item["findings"] for item in again.json()["items"]] == [1]
        for path in (f"/api/traces/{copy.trace_id}", "/api/export?profile=0", "/api/errors?profile=0"):
            assert told_of([other], (await world.get(path, copy)).text, copy.trace_id) == []
        assert (await world.get(f"/api/traces/{copy.trace_id}", copy)).json()["spans"] == 3
    assert await everything(world, other) == before
    gone = await world.http.request("DELETE", f"/api/traces/{copy.trace_id}", json={}, headers=copy.headers())
    assert gone.is_success
    assert (await world.get(f"/api/traces/{copy.trace_id}", other)).status_code == 200


async def test_a_link_to_a_trace_of_another_project_joins_nothing(world: Projects) -> None:
    """Traces are one run only within their project."""
    for other in (world.globex, world.base):
        own = Tenant("acme", world.acme.token, other.trace[:15] + b"!")
        request = own.request()
        link = request.resource_spans[0].scope_spans[0].spans[0].links.add()
        link.trace_id, link.span_id = other.trace, b"agent001"
        assert (await sent_as(world, request, own.headers())).status_code == 200
        await settled(world, own)
        again = await world.http.post("/api/judge", json={"trace_id": own.trace_id}, headers=own.headers())
        assert again.status_code == 200
        seen = await world.get(f"/api/traces/{own.trace_id}", own)
        assert (seen.json()["spans"], seen.json()["trace_ids"]) == (3, [own.trace_id])
        theirs = await world.get(f"/api/traces/{other.trace_id}", other)
        assert theirs.json()["trace_ids"] == [other.trace_id]


async def test_a_backup_is_the_default_projects(world: Projects) -> None:
    """It holds all projects, so no key of another one makes it, not even an admin's; and no path is taken."""
    refused = await world.http.post("/api/backups", json={}, headers=world.acme.headers())
    assert (refused.status_code, "needs an admin key of the default project" in refused.text) == (403, True)
    made = await world.http.post("/api/backups", json={}, headers=world.auth("base"))
    assert made.status_code == 200
    assert Path(made.json()["folder"]).name == made.json()["name"]
    path = await world.http.post("/api/backups", json={"name": "../x"}, headers=world.auth("base"))
    assert path.status_code == 422


async def test_a_webhook_is_told_of_its_project_alone(world: Projects) -> None:
    """Each hears of its own project, and no word of another."""
    await asyncio.to_thread(world.hook.wait, 3)
    for tenant in world.all:
        others = [one for one in world.all if one is not tenant]
        received = [one for one in world.hook.received if one.path == f"/hook/{tenant.name}"]
        assert received
        assert told_of(others, " ".join(f"{one.headers} {one.body!r}" for one in received)) == []
