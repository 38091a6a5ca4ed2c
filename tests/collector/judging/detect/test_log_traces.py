"""Log events of a coding agent that came without ids, and the spans of the same session in a trace of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from judging_bench import Bench
from stored_readers import stored_reader

from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.processors.log_spans import session_trace, with_log_spans
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.spans import LogRecord, Span

ALL = Confidence(0.0, 0.0)
REAL = "5" * 32
SESSION = {"session.id": "s1"}


def spans(trace_id: str = REAL, first: int = 1) -> list[Span]:
    """A prompt with one request, in a trace of its own."""
    asked = SESSION | {"user_prompt": "rename it"}
    request = SESSION | {"model": "m", "input_tokens": "40", "output_tokens": "80"}
    root, below = f"{first:016x}", f"{first + 1:016x}"
    return [
        Span(trace_id, root, "", "claude_code.interaction", SECOND, 9 * SECOND, asked, service="cli"),
        Span(trace_id, below, root, "claude_code.llm_request", 2 * SECOND, 3 * SECOND, request, service="cli"),
    ]


def events(**changes: Any) -> list[LogRecord]:
    """A prompt, its request and a request that failed."""
    told = (
        (1, "user_prompt", {"prompt": "rename it"}),
        (3, "api_request", {"model": "m", "input_tokens": "40", "output_tokens": "80"}),
        (4, "api_error", {"model": "m", "error": "overloaded"}),
    )
    records = [
        LogRecord("", "", at * SECOND, at * SECOND, "", f"claude_code.{name}", attributes=SESSION | said, service="cli")
        for at, name, said in told
    ]
    return [replace(record, **changes) for record in records]


def commit(bench: Bench, records: Sequence[LogRecord]) -> None:
    """Store records as a receiver does."""
    placed, made = with_log_spans(records)
    bench.commit(*made, logs=placed)


@pytest.mark.parametrize("order", ["spans first", "events first", "together"])
def test_events_without_ids_join_the_spans_of_their_session(store: SharedStore, order: str) -> None:
    """Whichever comes first: one run of one request, the events as lines of their spans, one row in lists."""
    bench = Bench(store)
    if order == "spans first":
        bench.commit(*spans())
        bench.wait(7)
    commit(bench, events())
    bench.wait(7 if order == "events first" else 0)
    if order != "spans first":
        bench.commit(*spans())
    bench.wait(7)
    bench.wait(7)
    for trace_id in (REAL, session_trace("", "cli", "s1")):
        view = stored_reader(store, AssemblerConfig(), lambda: bench.now).trace(trace_id, ALL)
        assert view is not None
        (run,) = view.trace.runs
        assert (run.name, run.goal, len(run.turns)) == ("claude-code", "rename it", 1)
        assert run.turns[0].llm is not None
        assert run.turns[0].llm.log_text == ("claude_code.api_request", "claude_code.api_error: overloaded")
    assert len(StoredReading(store).find_traces(TraceQuery(ALL, 10))) == 1


def test_events_of_another_service_do_not_join(store: SharedStore) -> None:
    """Nor of another session: ids of both make the trace."""
    bench = Bench(store)
    bench.commit(*spans())
    commit(bench, events(service="other"))
    bench.wait(7)
    view = stored_reader(store, AssemblerConfig(), lambda: bench.now).trace(REAL, ALL)
    assert view is not None
    assert view.trace.trace_ids == (REAL,)
    assert len(StoredReading(store).find_traces(TraceQuery(ALL, 10))) == 2


def test_a_session_without_events_joins_nothing(store: SharedStore) -> None:
    """The prompts of a session stay traces of their own."""
    bench = Bench(store)
    bench.commit(*spans(), *spans("6" * 32, 11))
    bench.wait(7)
    assert len(StoredReading(store).find_traces(TraceQuery(ALL, 10))) == 2
