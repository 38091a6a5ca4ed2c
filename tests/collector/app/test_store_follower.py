"""Several collectors on one server, whose clocks are minutes apart: what one stores the others learn from the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from clickhouse_http import ClickHouseServer, clickhouse_server
from collecting import ask, asking, configured, send, settled
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_parts import traces
from weather_agent import agent, trace_id

from tracejury.collector.app import store_follower
from tracejury.collector.app.service import Collector
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND
from tracejury.schemas.rows import SPAN_COLUMNS

TRACE = trace_id(1).hex()
PATH = f"/api/traces/{TRACE}"
PATIENCE = 60.0
Start = Callable[..., Awaitable[Collector]]


def parts() -> tuple[ExportTraceServiceRequest, ExportTraceServiceRequest]:
    """A run of an agent that calls a tool wrongly, in two requests: first without its root."""
    spans = agent(fault=True).resource_spans[0].scope_spans[0].spans
    return traces(*spans[:2], service="shop"), traces(spans[2], service="shop")


async def until(asked: Callable[[], Awaitable[Any]]) -> Any:
    """Its first answer that is true."""
    async with asyncio.timeout(PATIENCE):
        while not (answer := await asked()):  # noqa: ASYNC110  the store is asked, as any user does
            await asyncio.sleep(0.05)
    return answer


async def shown(collector: Collector, **expected: Any) -> Any:
    """The trace, once these keys of it are as expected."""

    async def asked() -> Any:
        async with asking(collector) as client:
            response = await client.get(PATH, params={"profile": "0"})
        found = response.json() if response.is_success else {}
        return found if expected.items() <= found.items() else None

    return await until(asked)


@pytest.fixture
def server(store_folder: Path) -> Iterator[ClickHouseServer]:
    with clickhouse_server(store_folder) as server:
        yield server


@pytest.fixture
def dsn(server: ClickHouseServer, served_dsn: str) -> str:
    return f"{server.dsn}/{served_dsn.rpartition('=')[2]}"


@pytest.fixture
async def start(dsn: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Starts a collector whose clock is so many minutes ahead; `judging`: keys of that section."""
    monkeypatch.setattr(store_follower, "EVERY", 0.1)
    async with AsyncExitStack() as stack:

        async def start(role: str, minutes: int = 0, **judging: Any) -> Collector:
            config = configured(dsn, role=role, judging={"quiet_seconds": 0.5, **judging})
            ahead = minutes * 60 * SECOND
            return await stack.enter_async_context(Collector(config, clock=lambda: time.time_ns() + ahead))

        yield start


async def test_received_judged_and_shown_by_three(start: Start) -> None:
    """Whoever is behind or ahead by five minutes: no list misses a trace, and none settles before its root has come."""
    receive, web, work = await start("receive", -5), await start("web", 2), await start("work", 5)
    first, last = parts()
    await send(receive, first)
    await shown(web, state="open", spans=2)
    async with asking(web) as client, client.stream("GET", f"/live/traces/{TRACE}/events") as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == "retry: 2000"
        await asyncio.sleep(1.0)  # longer than it would be quiet, had its root come
        assert (await ask(web, PATH, profile="0"))["state"] == "open"
        await send(receive, last)
        async with asyncio.timeout(PATIENCE):
            said = [line async for line in _until_told(lines)]
    found = await shown(web, state="settled", spans=3)
    assert all(any(f["id"] in line for line in said) for f in found["findings"])
    assert [f["category"] for f in found["findings"]] == ["Formatting Errors"]
    assert [f["state"] for f in found["findings"]] == ["current"]
    listed = await ask(web, "/api/traces", since="1m")
    assert [one["trace_id"] for one in listed["items"]] == [TRACE]
    assert [e["trace_id"] for e in (await ask(web, "/api/errors", since="1m", profile="0"))["items"]] == [TRACE]
    async with asking(receive) as client:
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        assert "tracejury_store_follower_lag_seconds" in (await client.get("/metrics")).text
    await settled(work)


async def _until_told(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Lines of a stream up to one that tells a state of findings."""
    async for line in lines:
        yield line
        if line.startswith("data: ") and "current" in line:
            return


async def test_each_judges_what_it_received(start: Start) -> None:
    """Of a trace that came whole to one the other does nothing; of one that came to both each has it all."""
    one, other = await start("all", -5), await start("all", 5, takeover_seconds=30.0)
    first, last = parts()
    await send(one, first, last)
    await shown(other, state="settled", spans=3)
    working = other._working
    assert working is not None

    async def has_seen_it_judged() -> bool:
        return not len(working.takeover)

    await until(has_seen_it_judged)
    assert working.detecting.judged_traces == 0

    split = trace_id(2)
    for collector, request in ((one, first), (other, last)):
        for span in request.resource_spans[0].scope_spans[0].spans:
            span.trace_id = split
        await send(collector, request)
    for collector in (one, other):

        async def whole(collector: Collector = collector) -> bool:
            found = await ask(collector, f"/api/traces/{split.hex()}", profile="0")
            return (found["state"], found["spans"], len(found["findings"])) == ("settled", 3, 1)

        await until(whole)
        await settled(collector)


async def test_a_process_dies_before_it_judged(start: Start, dsn: str, served_dsn: str) -> None:
    """What it had committed another takes up once its time is over; so does one that starts only then."""
    taken = await start("all", 5, takeover_seconds=0.5)
    dead = SharedStore.open(dsn)
    origin = SharedStore.open(served_dsn)
    await send(await start("receive", -5), *parts())
    await shown(taken, state="settled", spans=3)
    listed = ", ".join(f"`{name}`" for name in SPAN_COLUMNS)
    for number in (3, 4):  # as a process wrote it that judges, too, the first one with a clock ahead
        ahead = 300 if number == 3 else 0
        copied = listed.replace("`TraceId`", f"'{trace_id(number).hex()}'", 1).replace(
            "`ReceivedAt`", f"now64(9) + INTERVAL {ahead} SECOND"
        )
        origin.command(
            f"INSERT INTO spans ({listed}, StoredBy) SELECT {copied}, '{dead.stored_by}' FROM spans FINAL "
            f"WHERE TraceId = '{TRACE}'"
        )
    for store in (dead, origin):
        store.close()
    for number in (3, 4):

        async def judged(number: int = number) -> bool:
            async with asking(taken) as client:
                found = (await client.get(f"/api/traces/{trace_id(number).hex()}", params={"profile": "0"})).json()
            return found.get("state") == "settled" and len(found["findings"]) == 1

        await until(judged)
