"""An open trace whose calls are sent the history again: few spans, and too much text to read for each page."""

from __future__ import annotations

import pytest
from judging_bench import TRACE, Bench
from long_histories import LOOP, long_history

from tracejury.collector.queries.trace import stored
from tracejury.collector.queries.trace.stored import StoredTraceQueries
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.trace.detail import Details
from tracejury.judges.registry import default_suite
from tracejury.processors import open_trace, trace_outline
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.trace_rows import span_size
from tracejury.schemas.trajectory import TraceState

TURNS = 60


@pytest.mark.parametrize("flat", [True, False], ids=["flat", "json"])
def test_it_is_judged_while_it_is_open_and_shown_from_memory(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch, *, flat: bool
) -> None:
    """Its loop is an error, with its agent's name as its calls state it; its page reads nothing that spans hold.

    What comes later is on the page once it is judged.
    """
    spans = list(long_history(TURNS, 20_000, trace_id=TRACE, flat=flat))
    sent = sum(map(span_size, spans))
    monkeypatch.setattr(trace_outline, "LARGE_TEXTS", sent // 2)
    monkeypatch.setattr(open_trace, "SHARED_FROM", sent // 20)
    # Memory has no room for all that was sent; what has none would be read from the store again.
    bench = Bench(store, default_suite(), config=AssemblerConfig(max_bytes=sent // 5))
    queries = StoredTraceQueries(store, AssemblerConfig(), lambda: bench.now)
    for first in range(0, 2 * TURNS - 10, 10):
        bench.commit(*spans[first : first + 10])
        bench.wait(1)
    judged = bench.watch.judgings[-1].trace
    assert (judged.state, len(judged.spans)) == (TraceState.OPEN, 2 * TURNS - 10)
    assert [run.name for run in judged.runs] == ["archivist"]
    loop = {span.span_id for span in spans[: 2 * LOOP]}
    assert loop & {error.span_id for error in StoredErrors(store).under([TRACE])[TRACE]}

    queries.cache_judged(judged)
    bench.commit(*spans[-10:])
    monkeypatch.setattr(stored, "stored_trace", lambda *_: pytest.fail("it reads the whole trace"))
    monkeypatch.setattr(stored, "stored_part", lambda *_: pytest.fail("it reads a part of the trace"))
    shown = queries.trace_index(TRACE)
    assert shown is not None
    assert (shown.outline.large, shown.outline.spans) == (True, 2 * TURNS - 10)
    assert queries.count_spans(TRACE) == 2 * TURNS
    key = shown.key_of_span(spans[-12].span_id) or ""
    part = queries.part(shown, key)
    assert part is not None
    assert Details(part, shown, ()).at(key) is not None
    bench.wait(1)
    queries.cache_judged(bench.watch.judgings[-1].trace)
    after = queries.trace(TRACE)
    assert after is not None
    assert len(after.spans) == 2 * TURNS
