"""Rebuilt traces in memory, and the threads on which they are made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import httpx
import pytest
from large_trace import large_trace
from served_api import DAY, NOW, Judge, WatchedReader, served
from starlette.types import ASGIApp, Receive, Scope, Send
from trace_pages import TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.queries.trace.recent import RebuiltTrace, RecentTraces
from tracejury.collector.queries.trace.stored import StoredTraceQueries
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.queries.reader import Confidence, TraceView
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.trajectory import Trace, TraceState

OTHER, THIRD = "a" * 32, "b" * 32
POOL = 40
"""Threads that the framework has for all plain endpoints."""
PATIENCE = 60.0


def rebuilt(trace_id: str = TRACE_ID, result: str = "") -> Trace:
    """A small trace; `result`: of its tool."""
    return rebuild([normalize(replace(span, trace_id=trace_id)) for span in failing_run(result=result)])


def size(trace: Trace) -> int:
    """What it counts for."""
    return RecentTraces().put(trace).size


def test_beyond_the_limit_the_one_asked_for_last_is_kept_beside_the_others() -> None:
    """One, however large, until another that is as large is asked for."""
    small, large, larger = rebuilt(THIRD), rebuilt(result="x" * 1000), rebuilt(OTHER, "x" * 2000)
    recent = RecentTraces(size(small))
    recent.put(small)
    for trace, before in ((large, TRACE_ID), (larger, TRACE_ID), (large, OTHER)):
        recent.ask(trace.trace_id)
        made = recent.put(trace)
        assert recent.get(trace.trace_id) is made
        assert before == trace.trace_id or recent.get(before) is None
        assert recent.get(THIRD) is not None


def test_a_large_trace_that_nobody_asked_for_takes_nobodys_place() -> None:
    """What is judged goes by; the one that is kept is replaced by what it has become."""
    asked, other = rebuilt(result="x" * 1000), rebuilt(OTHER, "x" * 1000)
    recent = RecentTraces(0)
    recent.ask(TRACE_ID)
    recent.put(asked)
    recent.put(other)
    assert recent.get(OTHER) is None
    recent.ask(OTHER)
    grown = recent.put(replace(asked, received_through=7))
    assert recent.get(TRACE_ID) is grown
    recent.put(other)
    assert recent.get(TRACE_ID) is None
    assert recent.get(OTHER) is not None


def test_a_trace_larger_than_the_memory_is_rebuilt_once(store: SharedStore) -> None:
    """The second look has it; while it is open, from the next judging on."""
    with trace_pages(store) as pages:
        pages.put(*failing_run())
        trace_queries = trace_queries_of(pages)
        first = trace_queries.trace(TRACE_ID)
        assert first is not None
        assert trace_queries.trace(TRACE_ID) is first
        spans = list(large_trace(1000, OTHER))
        pages.put(*spans, settle=False)
        growing = trace_queries.trace(OTHER)
        assert growing is not None
        assert growing.state is TraceState.OPEN
        trace_queries.cache_judged(growing)
        assert trace_queries.trace(OTHER) is growing


def trace_queries_of(pages: Pages) -> StoredTraceQueries:
    """Trace queries in whose memory no trace fits."""
    return StoredTraceQueries(pages.store, AssemblerConfig(), lambda: pages.now, RecentTraces(0))


@dataclass
class Rebuilding:
    """Traces whose rebuilding ends when the test says so. `asked`: of requests that have come."""

    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    end: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        assert self.end.wait(PATIENCE)


@dataclass
class Counting:
    """The application, telling of each request."""

    app: ASGIApp
    asked: threading.Semaphore

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.release()
        await self.app(scope, receive, send)


class SlowTraceQueries(StoredTraceQueries):
    """Rebuilds for as long as the test wants."""

    slow: Rebuilding

    def _rebuilt(self, trace_id: str) -> RebuiltTrace | None:
        self.slow.wait()
        return super()._rebuilt(trace_id)


class SlowReader(WatchedReader):
    """The same for the API."""

    slow: Rebuilding

    def trace(self, trace_id: str, confidence: Confidence) -> TraceView | None:
        self.slow.wait()
        return super().trace(trace_id, confidence)


@pytest.mark.parametrize("path", ["", "/panel", "/tree", "/branch", "/text", "api", "span"])
def test_those_who_wait_for_a_large_trace_leave_threads_to_the_other_pages(store: SharedStore, path: str) -> None:
    """More of them than there are threads; a list of traces answers all the same, and then each of them does."""
    trace = rebuilt()
    slow = Rebuilding()
    store.insert("spans", SPAN_COLUMNS, span_columns([span.raw for span in trace.spans.values()], NOW - DAY))
    trace_queries, reader = SlowTraceQueries(store, AssemblerConfig(), lambda: NOW), SlowReader.over(store)
    assert isinstance(reader, SlowReader)
    trace_queries.slow = reader.slow = slow
    reader.trace_queries = trace_queries
    app = create_web_app(Services(reader, Judge(), problems=lambda: (), metrics=lambda: b"", clock=lambda: NOW))
    app.add_middleware(Counting, asked=slow.asked)
    span_id = next(iter(trace.spans))
    paths = {"api": f"/api/traces/{TRACE_ID}", "span": f"/spans/{span_id}?trace={TRACE_ID}"}
    address = paths.get(path, f"/traces/{TRACE_ID}{path}")
    with (
        served(app) as url,
        ThreadPoolExecutor(POOL + 5) as pool,
        httpx.Client(
            base_url=url, trust_env=False, timeout=PATIENCE, limits=httpx.Limits(max_connections=None)
        ) as client,
    ):
        get: Callable[[str], httpx.Response] = client.get
        try:
            waiting = [pool.submit(get, address) for _ in range(POOL + 5)]
            for _ in waiting:
                assert slow.asked.acquire(timeout=PATIENCE)
            answer = pool_free(url)
        finally:
            slow.end.set()
        assert answer.status_code == 200
        assert {one.result().status_code for one in waiting} <= {200, 404}


def pool_free(url: str) -> httpx.Response:
    """What a list of traces answers on a connection of its own."""
    return httpx.get(f"{url}/api/traces", timeout=10, trust_env=False)
