"""The assembler: committed rows to open traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from open_traces import CONFIG, KEY, T0, log, span

from tracejury.processors import open_trace
from tracejury.processors.assemble import SECOND, Assembler, AssemblerConfig
from tracejury.processors.normalize import normalize
from tracejury.processors.open_trace import OpenTrace
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span


def added(*spans: Span, config: AssemblerConfig = CONFIG) -> tuple[Assembler, OpenTrace]:
    assembler = Assembler(config)
    return assembler, assembler.add(KEY, spans, (), T0, T0, is_whole=True)


def judged(trace: OpenTrace) -> OpenTrace:
    trace.note_judged(trace.state, T0, 0, trace.arrivals)
    return trace


def test_an_identical_copy_judges_nothing_again() -> None:
    """A client that re-sends costs nothing."""
    assembler, trace = added(span("1"))
    assert trace.dirty
    judged(trace)
    assembler.add(KEY, [span("1")], (), T0 + SECOND, T0 + SECOND)
    assert (trace.dirty, trace.last_arrival) == (False, T0)


@pytest.mark.parametrize(
    ("first", "second", "name_end"),
    [
        (span("1", pending=True, end=9), span("1", end=2), 2),
        (span("1", end=2), span("1", pending=True, end=9), 2),
        (span("1", end=2), span("1", end=3), 3),
        (span("1", end=3), span("1", end=2), 3),
        (span("1", end=2, text="x"), span("1", end=2, text="y"), 2),
    ],
)
def test_of_two_rows_the_finished_then_the_later_end_wins(first: Span, second: Span, name_end: int) -> None:
    """The same rule as the store's."""
    _, trace = added(first, second)
    assert trace.spans["1"].raw.end == name_end


@pytest.mark.parametrize(
    ("other", "collisions"),
    [
        ({"name": "b", "start": 7}, 1),
        ({"name": "b"}, 0),
        ({"start": 7}, 0),
        ({"name": "b", "start": 7, "pending": True}, 0),
    ],
)
def test_two_different_spans_of_one_id_are_counted(other: dict[str, Any], collisions: int) -> None:
    """Not one that was renamed or announced."""
    both = span("1", end=9), replace(span("1", end=9), **other)
    assert [added(*spans)[1].collisions for spans in (both, both[::-1])] == [collisions] * 2


@pytest.mark.parametrize(("n", "over"), [(2, 0), (3, 0), (4, 1)])
def test_spans_beyond_the_limit_of_a_trace_are_counted(n: int, over: int) -> None:
    """They are stored, not rebuilt."""
    assembler, trace = added(*(span(f"{i}") for i in range(n)), config=AssemblerConfig(max_spans_per_trace=3))
    assert (len(trace.spans), assembler.over_limit) == (min(n, 3), over)


@pytest.mark.parametrize("log_first", [True, False])
def test_a_log_record_joins_its_span_in_either_order(log_first: bool) -> None:  # noqa: FBT001  a table column
    """Content may arrive before or after its span."""
    assembler = Assembler()
    record = log("1", "said so")
    steps: list[tuple[list[Span], list[LogRecord]]] = [([], [record]), ([span("1")], [])]
    for spans, logs in steps if log_first else reversed(steps):
        trace = assembler.add(KEY, spans, logs, T0, T0, is_whole=True)
    assert trace.spans["1"].log_text == ("said so",)
    judged(trace)
    assembler.add(KEY, [], [record], T0 + 1, T0 + 1)
    assert not trace.dirty, "a re-sent record is no news"


def test_a_span_may_have_very_many_log_records() -> None:
    """Each counts once, also where they are sent again, and all are read with one look at the span."""
    assembler, trace = added(span("1"))
    records = [log("1", f"line {i}") for i in range(20_000)]
    for _ in range(2):
        assembler.add(KEY, [], records, T0, T0)
    assert len(trace.spans["1"].log_text) == trace.rows - 1 == len(records)


def test_an_open_trace_asked_for_is_read_again_whole() -> None:
    """Rows that were committed but not handed over are not missed."""
    assembler, trace = added(span("1", pending=True))
    judged(trace)
    assert assembler.request(KEY, T0 + SECOND) is trace
    assert (trace.dirty, trace.held) == (True, False)
    assembler.fill(trace, [span("2", "1")], (), T0 + SECOND)
    assert (trace.dirty, trace.held) == (True, True)
    assert set(trace.spans) == {"1", "2"}


def test_a_forgotten_trace_is_another_one_when_it_comes_again() -> None:
    """Nothing of it is left in memory; what comes is not all of it."""
    assembler, trace = added(span("1"))
    assembler.discard(KEY)
    assert (len(assembler), assembler.held_bytes, assembler.get(KEY)) == (0, 0, None)
    again = assembler.add(KEY, [span("2", "1")], (), T0, T0)
    assert not assembler.is_open(trace)
    assert assembler.is_open(again)
    assert not again.held


def test_taking_in_normalises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backlog is taken in quickly; each span is normalised once, when it is needed, and again where it changed."""
    seen: list[str] = []

    def counting(raw: Span, logs: tuple[LogRecord, ...]) -> NormalizedSpan:
        seen.append(raw.span_id)
        return normalize(raw, logs)

    monkeypatch.setattr(open_trace, "normalize", counting)
    assembler, trace = added(span("1"), span("2", "1"))
    assert seen == []
    assert list(trace.spans) == list(trace.spans) == ["1", "2"]
    assert seen == ["1", "2"]
    assembler.add(KEY, [span("1", end=9), span("3", "1")], [log("2", "text")], T0, T0)
    assert list(trace.spans) == ["1", "2", "3"]
    assert sorted(seen[2:]) == ["1", "2", "3"]
    assert (trace.spans["1"].raw.end, trace.spans["2"].log_text != ()) == (9, True)
