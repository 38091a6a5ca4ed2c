"""The life cycle of a trace: when it settles, and what opens it again."""

from __future__ import annotations

import pytest
from open_traces import CONFIG, KEY, T0, Scheduled, span

from tracejury.processors.assemble import SECOND, Assembler, AssemblerConfig
from tracejury.processors.life_cycle import is_closed, state_at
from tracejury.schemas.spans import FLAG_HAS_IS_REMOTE, FLAG_IS_REMOTE, Span
from tracejury.schemas.trajectory import TraceState

LARGE = AssemblerConfig(max_bytes=1_000_000)
FILLING = ("", "f" * 32)


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
    scene = Scheduled()
    trace = scene.add(KEY, *spans)
    scene.now += CONFIG.coalesce
    assert scene.judge() == [trace]
    assert state_at(trace, T0 + after, CONFIG) is state
    lacks = trace.lacks() and after >= CONFIG.quiet  # then its parents are looked for in other traces, once
    settles = state is not TraceState.OPEN
    assert scene.due(T0 + after) == ([KEY] if settles or lacks else [])
    trace.sought = trace.lacks()
    scene.schedule.put(trace)
    assert scene.due(T0 + after) == ([KEY] if settles else [])


def test_a_trace_that_never_falls_quiet_settles_at_the_age_limit() -> None:
    """One that keeps growing is closed all the same."""
    scene = Scheduled(AssemblerConfig(max_age=100 * SECOND))
    for second in range(100):
        scene.now = T0 + second * SECOND
        trace = scene.add(KEY, span(f"{second}x", "0x" if second else ""))
    config = scene.assembler.config
    assert state_at(trace, T0 + 99 * SECOND, config) is TraceState.OPEN
    assert state_at(trace, T0 + 100 * SECOND, config) is TraceState.SETTLED


def test_a_settled_trace_is_forgotten_and_a_late_span_opens_it_again() -> None:
    """Nothing of a closed trace stays in memory; the late span's trace is read from the store."""
    scene = Scheduled()
    scene.add(KEY, span("1"))
    scene.now += CONFIG.coalesce
    assert [is_closed(trace) for trace in scene.judge()] == [False]
    scene.now = T0 + CONFIG.quiet
    assert [(trace.state, is_closed(trace)) for trace in scene.judge()] == [(TraceState.SETTLED, True)]
    assert (len(scene.assembler), scene.assembler.held_bytes) == (0, 0)
    later = T0 + 60 * SECOND
    trace = scene.assembler.add(KEY, [span("2", "1")], (), later, later)
    scene.schedule.put(trace)
    assert scene.due(later + CONFIG.coalesce) == [KEY]
    assert not trace.held
    scene.assembler.fill(trace, [span("1"), span("2", "1")], (), later)
    assert set(trace.spans) == {"1", "2"}
    assert state_at(trace, later + CONFIG.coalesce, CONFIG) is TraceState.OPEN


def test_what_came_while_it_was_judged_keeps_a_settled_trace_open() -> None:
    scene = Scheduled()
    trace = scene.add(KEY, span("1"))
    scene.now += CONFIG.quiet
    (taken,) = scene.schedule.take(scene.now, 1)
    seen = taken.arrivals
    scene.add(KEY, span("2", "1"))
    taken.note_judged(TraceState.SETTLED, scene.now, 0, seen)
    scene.put_back([taken])
    assert scene.assembler.is_open(trace)
    assert scene.due(scene.now + CONFIG.debounce) == [KEY]


def test_a_trace_asked_for_settles_by_its_own_times() -> None:
    """An old stored trace is judged at once as settled, however recently it was asked for."""
    now, assembler = T0 + 3600 * SECOND, Assembler()
    trace = assembler.request(KEY, now)
    assembler.fill(trace, [span("1")], (), T0)
    assert state_at(trace, now, CONFIG) is TraceState.SETTLED


@pytest.mark.parametrize(("full", "quiet"), [(0.0, 1.0), (0.5, 1.0), (0.75, 0.5), (0.9, 0.2), (0.95, 0.1), (1.0, 0.1)])
def test_a_trace_settles_sooner_where_memory_is_more_than_half_full(full: float, quiet: float) -> None:
    """Half full: after the configured time. Then in proportion to what is left, at last after a tenth."""
    scene = Scheduled(LARGE)
    if full:
        scene.add(FILLING, span("1", pending=True, text="x" * (round(full * 1_000_000) - 2000)))
    trace = scene.add(KEY, span("1"))
    assert scene.assembler.held_bytes == max(full * 1_000_000, 1000)
    scene.now += LARGE.coalesce
    scene.judge()
    settles = T0 + round(LARGE.quiet * quiet)
    assert KEY not in scene.due(settles - 1)
    assert KEY in scene.due(settles)
    assert state_at(trace, settles, LARGE, scene.assembler.held_bytes) is TraceState.SETTLED


def test_an_ended_trace_settles_sooner_once_others_have_filled_memory() -> None:
    """It would be spilled else. One whose root has not ended waits on, and one that is quiet for less time."""
    scene = Scheduled(LARGE)
    trace = scene.add(KEY, span("1"))
    scene.add(("", "b" * 32), span("1", pending=True))
    scene.now += LARGE.coalesce
    scene.judge()
    scene.now = T0 + round(0.3 * LARGE.quiet)
    assert scene.due(scene.now) == []
    scene.add(FILLING, span("1", text="x" * 895_000))
    assert scene.due(scene.now) == [KEY]
    assert state_at(trace, scene.now, LARGE, scene.assembler.held_bytes) is TraceState.SETTLED
