"""Traces that are one, of which one alone is due: what was judged with it is stored, too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judging_bench import Bench, span

from tracejury.collector.judging.detect import worker
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.spans import SpanLink

FIRST, SECOND = "a" * 32, "b" * 32


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)])
def test_each_has_the_row_of_its_last_judging(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    """Under load a step takes few traces: the other one then settles as a member of the group, without being due."""
    monkeypatch.setattr(worker, "STEP_TRACES", 1)
    bench = Bench(store)
    roots = {
        trace_id: replace(
            span(f"{at}0", trace_id=trace_id), start=at, end=at + 90,
            links=(SpanLink(order[0], "10".rjust(16, "0")),) if trace_id == order[1] else (),
        )
        for at, trace_id in enumerate(order, 1)
    }  # fmt: skip
    parts = {
        trace_id: replace(span(f"{at}1", f"{at}0", trace_id=trace_id), start=at + 5, end=at + 6)
        for at, trace_id in enumerate(order, 1)
    }
    bench.commit(*roots.values())
    bench.wait(1)
    bench.commit(*parts.values())
    bench.now += 30_000_000_000
    bench.wait(30)
    rows = store.rows("SELECT TraceId, State FROM traces FINAL ORDER BY TraceId")
    assert rows == [(FIRST, "settled"), (SECOND, "settled")]
    assert (
        store.rows("SELECT TraceId, argMax(TraceState, JudgedAt) FROM judgements GROUP BY TraceId ORDER BY TraceId")
        == rows
    )
