"""The assembler: what makes a trace due, what settles it, and what its bounds do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracejury.processors import open_trace
from tracejury.processors.assemble import (
    SECOND,
    Assembler,
    AssemblerConfig,
    TraceKey,
)
from tracejury.processors.normalize import normalize
from tracejury.processors.open_trace import EXPENSIVE
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import FLAG_HAS_IS_REMOTE, FLAG_IS_REMOTE, LogRecord, Span
from tracejury.schemas.trajectory import TraceState

KEY: TraceKey = ("", "a" * 32)
T0 = 1_700_000_000 * SECOND
CONFIG = AssemblerConfig()


def span(
    span_id: str, parent: str = "", *, end: int = 2, flags: int = 0, pending: bool = False, text: str = ""
) -> Span:
    return Span("a" * 32, span_id, parent, span_id, 1, end, {"input.value": text}, flags=flags, pending=pending)


def log(span_id: str, body: str) -> LogRecord:
    return LogRecord("a" * 32, span_id, 1, 1, body=body)


def added(*spans: Span, now: int = T0, config: AssemblerConfig = CONFIG) -> Assembler:
    assembler = Assembler(config)
    assembler.add(KEY, spans, (), now, now)
    assembler.mark_complete(KEY)
    return assembler


def judge(assembler: Assembler, now: int, cost: int = 0) -> TraceState:
    (trace,) = assembler.due(now, 10)
    state = assembler.state(trace, now)
    assembler.mark_judged(trace, state, now, cost)
    return state


def judge_all(assembler: Assembler, now: int) -> None:
    for trace in assembler.due(now, 10):
        assembler.mark_judged(trace, assembler.state(trace, now), now, 0)


def test_a_new_trace_is_due_after_a_moment_to_coalesce() -> None:
    """The spans that arrive together are judged together."""
    assembler = added(span("1"))
    assert not assembler.due(T0 + CONFIG.coalesce - 1, 10)
    assert [t.key for t in assembler.due(T0 + CONFIG.coalesce, 10)] == [KEY]


@pytest.mark.parametrize(
    ("spans", "after", "state"),
    [
        ([span("1")], CONFIG.quiet - 1, TraceState.OPEN),
        ([span("1")], CONFIG.quiet, TraceState.SETTLED),
        ([span("1", pending=True)], CONFIG.quiet, TraceState.OPEN),
        ([span("2", "1")], CONFIG.quiet, TraceState.OPEN),
        ([span("2", "1")], CONFIG.rootless - 1, TraceState.OPEN),
        ([span("2", "1")], CONFIG.rootless, TraceState.INCOMPLETE),
        ([span("2", "1", flags=FLAG_HAS_IS_REMOTE)], CONFIG.quiet, TraceState.OPEN),
        ([span("2", "1", flags=FLAG_HAS_IS_REMOTE | FLAG_IS_REMOTE)], CONFIG.quiet, TraceState.SETTLED),
        ([span("1"), span("3", "2")], CONFIG.quiet, TraceState.OPEN),
        ([span("1"), span("2", "1")], CONFIG.quiet, TraceState.SETTLED),
    ],
)
def test_a_trace_settles_when_its_roots_have_ended_and_it_is_quiet(
    spans: list[Span], after: int, state: TraceState
) -> None:
    """An ended root and quiet settle it; without a root it is given up, incomplete, much later."""
    assembler = added(*spans)
    judge(assembler, T0 + CONFIG.coalesce)
    trace = assembler.get(KEY)
    assert trace is not None
    assert assembler.state(trace, T0 + after) is state


def test_a_trace_that_never_falls_quiet_settles_at_the_age_limit() -> None:
    """One that keeps growing is closed all the same."""
    config = AssemblerConfig(max_age=100 * SECOND)
    assembler = added(span("1"), config=config)
    for second in range(1, 100):
        assembler.add(KEY, [span(f"{second}x", "1")], (), T0, T0 + second * SECOND)
    trace = assembler.get(KEY)
    assert trace is not None
    assert assembler.state(trace, T0 + 99 * SECOND) is TraceState.OPEN
    assert assembler.state(trace, T0 + 100 * SECOND) is TraceState.SETTLED


def test_a_settled_trace_is_forgotten_and_a_late_span_opens_it_again() -> None:
    """Nothing of a closed trace stays in memory; the late span's trace is read from the store."""
    assembler = added(span("1"))
    judge(assembler, T0 + CONFIG.coalesce)
    assert judge(assembler, T0 + CONFIG.quiet) is TraceState.SETTLED
    assert len(assembler) == 0
    assert assembler.held_bytes == 0
    later = T0 + 60 * SECOND
    assembler.add(KEY, [span("2", "1")], (), later, later)
    (trace,) = assembler.due(later + CONFIG.coalesce, 10)
    assert not trace.held
    assembler.fill(KEY, [span("1"), span("2", "1")], (), later)
    assert set(trace.spans) == {"1", "2"}
    assert assembler.state(trace, later + CONFIG.coalesce) is TraceState.OPEN


def test_an_identical_copy_judges_nothing_again() -> None:
    """A client that re-sends costs nothing."""
    assembler = added(span("1"))
    judge(assembler, T0 + CONFIG.coalesce)
    assembler.add(KEY, [span("1")], (), T0 + SECOND, T0 + SECOND)
    assert not assembler.due(T0 + CONFIG.quiet - 1, 10)


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
    assembler = added(first, second)
    trace = assembler.get(KEY)
    assert trace is not None
    assert trace.spans["1"].raw.end == name_end


def test_an_open_trace_is_judged_at_most_a_quarter_of_the_time() -> None:
    """The dearer a judging, the longer until the next."""
    assembler = added(span("1", pending=True))
    now = T0 + CONFIG.coalesce
    judge(assembler, now, cost=SECOND)
    assembler.add(KEY, [span("2", "1")], (), now, now)
    assert not assembler.due(now + 4 * SECOND - 1, 10)
    assert assembler.due(now + 4 * SECOND, 10)


def test_a_trace_that_was_dear_to_judge_comes_alone() -> None:
    """What is found in the others is stored before it, or after it, but never waits inside the same step."""
    assembler = Assembler()
    cheap, dear, other = (("", f"{n:032x}") for n in range(3))
    now = T0
    for key, cost in ((cheap, EXPENSIVE - 1), (dear, EXPENSIVE), (other, 0)):
        assembler.add(key, [span("1", pending=True)], (), now, now)
        assembler.mark_complete(key)
        (trace,) = assembler.due(now + CONFIG.coalesce, 10)
        assembler.mark_judged(trace, TraceState.OPEN, now + CONFIG.coalesce, cost)
    for key in (cheap, dear, other):
        assembler.add(key, [span("2", "1")], (), now, now)
    later = now + 10 * SECOND
    steps = [[t.key for t in assembler.due(later, 10)] for _ in range(3)]
    assert [s for s in steps if dear in s] == [[dear]]
    assert sorted(key for step in steps for key in step) == [cheap, dear, other]


def test_beyond_the_memory_bound_the_least_recent_content_is_released() -> None:
    """The trace stays known and is read again from the store; the newest stays held."""
    config = AssemblerConfig(max_bytes=14_999)
    assembler = Assembler(config)
    keys = [("", f"{n:032x}") for n in range(4)]
    for n, key in enumerate(keys):
        assembler.add(key, [span("1", text="x" * 4000)], (), T0 + n, T0 + n)
        assembler.mark_complete(key)
    held = [assembler.get(k).held for k in keys]  # type: ignore[union-attr]  # all four are open
    assert held == [False, False, True, True]
    assert assembler.held_bytes <= config.max_bytes


@pytest.mark.parametrize(("full", "quiet"), [(0.0, 1.0), (0.5, 1.0), (0.75, 0.5), (0.9, 0.2), (0.95, 0.1), (1.0, 0.1)])
def test_a_trace_settles_sooner_where_memory_is_more_than_half_full(full: float, quiet: float) -> None:
    """Half full: after the configured time. Then in proportion to what is left, at last after a tenth."""
    config = AssemblerConfig(max_bytes=1_000_000)
    assembler = Assembler(config)
    if full:
        filling = replace(span("1", pending=True, text="x" * (round(full * 1_000_000) - 2000)), trace_id="b" * 32)
        assembler.add(("", "b" * 32), [filling], (), T0, T0, is_whole=True)
    assembler.add(KEY, [span("1")], (), T0, T0, is_whole=True)
    assert assembler.held_bytes == max(full * 1_000_000, 1000)
    judge_all(assembler, T0 + config.coalesce)
    settles = T0 + round(config.quiet * quiet)
    assert KEY not in [t.key for t in assembler.due(settles - 1, 10)]
    assert KEY in [t.key for t in assembler.due(settles, 10)]
    trace = assembler.get(KEY)
    assert trace is not None
    assert assembler.state(trace, settles) is TraceState.SETTLED


def test_an_ended_trace_settles_sooner_once_others_have_filled_memory() -> None:
    """It would be spilled else. One whose root has not ended waits on, and one that is quiet for less time."""
    config = AssemblerConfig(max_bytes=1_000_000)
    assembler, open_, late = Assembler(config), ("", "b" * 32), ("", "c" * 32)
    assembler.add(KEY, [span("1")], (), T0, T0, is_whole=True)
    assembler.add(open_, [replace(span("1", pending=True), trace_id="b" * 32)], (), T0, T0, is_whole=True)
    judge_all(assembler, T0 + config.coalesce)
    now = T0 + round(0.3 * config.quiet)
    assert not assembler.due(now, 10)
    filling = replace(span("1", text="x" * 895_000), trace_id="c" * 32)
    assembler.add(late, [filling], (), now - 1, now - 1, is_whole=True)
    assert [t.key for t in assembler.due(now, 10)] == [KEY]
    trace = assembler.get(KEY)
    assert trace is not None
    assert assembler.state(trace, now) is TraceState.SETTLED


def test_a_trace_that_is_judged_late_while_memory_is_full_settles_at_once() -> None:
    """Also where it waits outside memory: it is read and judged once."""
    config = AssemblerConfig(max_bytes=1_000_000)
    assembler = Assembler(config)
    assembler.add(KEY, [span("1")], (), T0, T0, is_whole=True)
    filling = replace(span("1", pending=True, text="x" * 999_000), trace_id="b" * 32)
    assembler.add(("", "b" * 32), [filling], (), T0, T0, is_whole=True)
    trace = assembler.get(KEY)
    assert trace is not None
    assert not trace.held
    late = T0 + config.quiet // 5
    assert KEY in [t.key for t in assembler.due(late, 10)]
    assert assembler.state(trace, late) is TraceState.SETTLED


def test_beyond_the_trace_bound_the_oldest_is_forgotten_and_counted() -> None:
    """The sweep of the store finds it again."""
    assembler = Assembler(AssemblerConfig(max_traces=2))
    for n in range(3):
        assembler.add(("", f"{n:032x}"), [span("1")], (), T0, T0)
    assert (len(assembler), assembler.forgotten) == (2, 1)


@pytest.mark.parametrize(("n", "over"), [(2, 0), (3, 0), (4, 1)])
def test_spans_beyond_the_limit_of_a_trace_are_counted(n: int, over: int) -> None:
    """They are stored, not rebuilt."""
    assembler = added(*(span(f"{i}") for i in range(n)), config=AssemblerConfig(max_spans_per_trace=3))
    trace = assembler.get(KEY)
    assert trace is not None
    assert (len(trace.spans), assembler.over_limit) == (min(n, 3), over)


@pytest.mark.parametrize("log_first", [True, False])
def test_a_log_record_joins_its_span_in_either_order(log_first: bool) -> None:  # noqa: FBT001  a table column
    """Content may arrive before or after its span."""
    assembler = Assembler()
    record = log("1", "said so")
    steps: list[tuple[list[Span], list[LogRecord]]] = [([], [record]), ([span("1")], [])]
    for spans, logs in steps if log_first else reversed(steps):
        assembler.add(KEY, spans, logs, T0, T0)
    trace = assembler.get(KEY)
    assert trace is not None
    assert trace.spans["1"].log_text == ("said so",)
    assembler.mark_complete(KEY)
    judge(assembler, T0 + CONFIG.coalesce)
    assembler.add(KEY, [], [record], T0 + 1, T0 + 1)
    assert not assembler.due(T0 + SECOND, 10), "a re-sent record is no news"


def test_a_span_may_have_very_many_log_records() -> None:
    """Each counts once, also where they are sent again, and all are read with one look at the span."""
    assembler = added(span("1"))
    records = [log("1", f"line {i}") for i in range(20_000)]
    for _ in range(2):
        assembler.add(KEY, [], records, T0, T0)
    trace = assembler.get(KEY)
    assert trace is not None
    assert len(trace.spans["1"].log_text) == trace.rows - 1 == len(records)


def test_a_trace_asked_for_settles_by_its_own_times() -> None:
    """An old stored trace is judged at once as settled, however recently it was asked for."""
    assembler = Assembler()
    now = T0 + 3600 * SECOND
    assembler.request(KEY, now)
    (trace,) = assembler.due(now, 10)
    assembler.fill(KEY, [span("1")], (), T0)
    assert assembler.state(trace, now) is TraceState.SETTLED


def test_an_open_trace_asked_for_is_read_again_whole() -> None:
    """Rows that were committed but not handed over are not missed."""
    assembler = added(span("1", pending=True))
    judge(assembler, T0 + CONFIG.coalesce)
    assembler.request(KEY, T0 + SECOND)
    (trace,) = assembler.due(T0 + SECOND, 10)
    assert not trace.held
    assembler.fill(KEY, [span("2", "1")], (), T0 + SECOND)
    assert set(trace.spans) == {"1", "2"}


def waiting(count: int) -> Assembler:
    """An assembler with a backlog: as many traces of one span, each a nanosecond after the other."""
    assembler = Assembler(CONFIG)
    for number in range(count):
        assembler.add(("", f"{number:032x}"), [span("1")], (), T0 + number, T0 + number)
    return assembler


def test_of_a_backlog_some_are_the_newest() -> None:
    """A trace that arrives while many wait is among the next; the longest due get the other places, in their order."""
    assembler = waiting(1000)
    now = T0 + SECOND
    first = [int(trace.key[1], 16) for trace in assembler.due(now, 100)]
    assert first[::4] == [999 - number for number in range(25)]
    assert [number for at, number in enumerate(first) if at % 4] == list(range(75))
    assembler.add(KEY, [span("1")], (), now, now)
    assert KEY in {trace.key for trace in assembler.due(now + CONFIG.coalesce, 100)}


def test_what_fits_comes_in_the_order_in_which_it_became_due() -> None:
    """Without a backlog nothing goes before another."""
    order = [int(trace.key[1], 16) for trace in waiting(100).due(T0 + SECOND, 100)]
    assert order == list(range(100))


def test_a_backlog_comes_to_its_end_and_each_trace_once() -> None:
    """Also the oldest, whatever arrives."""
    assembler = waiting(1000)
    judged: list[int] = []
    for step in range(40):
        judged += [int(trace.key[1], 16) for trace in assembler.due(T0 + SECOND, 100)]
        late = [("", f"{1000 + 10 * step + number:032x}") for number in range(10)]
        for key in late:
            assembler.add(key, [span("1")], (), T0, T0)
    assert sorted(judged) == sorted(set(judged))
    assert set(judged) >= set(range(1000))


def test_an_expensive_trace_of_a_backlog_comes_alone_too() -> None:
    """Wherever in the backlog it is, newest or oldest."""
    assembler = waiting(10)
    for place in (0, 9):
        found = assembler.get(("", f"{place:032x}"))
        assert found is not None
        found.cost = EXPENSIVE
    sizes = []
    while due := assembler.due(T0 + SECOND, 4):
        sizes.append((len(due), max(trace.cost for trace in due)))
    assert (1, EXPENSIVE) in sizes
    assert all(size == 1 or cost < EXPENSIVE for size, cost in sizes)
    assert sum(size for size, _ in sizes) == 10


def test_taking_in_normalises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backlog is taken in quickly; each span is normalised once, when it is needed, and again where it changed."""
    seen: list[str] = []

    def counting(raw: Span, logs: tuple[LogRecord, ...]) -> NormalizedSpan:
        seen.append(raw.span_id)
        return normalize(raw, logs)

    monkeypatch.setattr(open_trace, "normalize", counting)
    assembler = added(span("1"), span("2", "1"))
    assert seen == []
    (trace,) = assembler.due(T0 + SECOND, 10)
    assert list(trace.spans) == list(trace.spans) == ["1", "2"]
    assert seen == ["1", "2"]
    assembler.add(KEY, [span("1", end=9), span("3", "1")], [log("2", "text")], T0, T0)
    assert list(trace.spans) == ["1", "2", "3"]
    assert sorted(seen[2:]) == ["1", "2", "3"]
    assert (trace.spans["1"].raw.end, trace.spans["2"].log_text != ()) == (9, True)
