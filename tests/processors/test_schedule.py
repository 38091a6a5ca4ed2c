"""The schedule: when a trace is judged, what its judgings may cost, and which of many come next."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_traces import CONFIG, KEY, T0, Scheduled, numbered, span

from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.processors.open_trace import EXPENSIVE, LARGE_SPANS
from tracejury.processors.schedule import COST_SHARE, CREDIT, MAX_LAG, MAX_REST, PRESSED, STEP_BACK

MS = SECOND // 1000
Play = tuple[Scheduled, list[tuple[int, Callable[[], object]]]]


def test_a_new_trace_is_due_after_a_moment_to_coalesce() -> None:
    """The spans that arrive together are judged together."""
    scene = Scheduled()
    scene.grow()
    assert scene.due(T0 + CONFIG.coalesce - 1) == []
    assert scene.due(T0 + CONFIG.coalesce) == [KEY]


@pytest.mark.parametrize(
    ("costs", "wait"),
    [
        ([1 * MS], 100 * MS),  # the least time between two judgings
        ([60 * MS], 100 * MS),  # it may be ahead by 50 ms of CPU time: 10 times 60 ms less 500 ms
        ([61 * MS], 110 * MS),
        ([1000 * MS], 9500 * MS),
        ([40 * MS, 40 * MS], 200 * MS),  # 100 ms of the first 400 are over when it is judged again
    ],
)
def test_an_open_trace_is_judged_again_once_its_judgings_are_paid_for(costs: list[int], wait: int) -> None:
    """Ten times as long as they took; a cheap one at once."""
    scene = Scheduled()
    scene.grow()
    scene.now += CONFIG.coalesce
    for cost in costs:
        ended = max(scene.now, scene.schedule.next_due() or 0)
        scene.now = ended
        (trace,) = scene.judge(cost=0)
        trace.cost = cost
        scene.schedule.judged(trace, scene.now)
        scene.grow()
    assert scene.due(scene.now + wait - 1) == []
    assert scene.due(scene.now + wait) == [KEY]


def test_nothing_new_is_not_judged_again_before_it_settles() -> None:
    scene = Scheduled()
    scene.grow()
    scene.now += CONFIG.coalesce
    scene.judge()
    assert scene.due(T0 + CONFIG.rootless - 1) == []
    assert scene.due(T0 + CONFIG.rootless) == [KEY]


def test_what_comes_due_while_it_is_judged_with_another_trace_is_judged_afterwards() -> None:
    """A thread that looks for what is due meanwhile leaves it; it is put again."""
    scene = Scheduled()
    scene.grow()
    scene.now += CONFIG.coalesce
    (trace,) = scene.judge()
    trace.taken = True
    at = T0 + CONFIG.rootless
    assert scene.schedule.take(at, 10) == []
    trace.taken = False
    scene.schedule.put(trace)
    assert scene.schedule.take(at, 10) == [trace]


def test_a_trace_that_settles_is_judged_though_its_judgings_are_not_paid_for() -> None:
    """Nobody waits for the last word longer than for the end of the quiet time."""
    scene = Scheduled()
    scene.add(KEY, span("1"))
    scene.now += CONFIG.coalesce
    scene.judge(cost=3 * SECOND)
    scene.add(KEY, span("2", "1"))
    assert scene.due(scene.now + CONFIG.quiet - 1) == []
    assert scene.due(scene.now + CONFIG.quiet) == [KEY]


def test_a_closed_trace_that_is_opened_again_waits_until_it_is_paid_for() -> None:
    """Else one to which something comes every few seconds would be judged whole each time it settles."""
    scene = Scheduled()
    scene.add(KEY, span("1"))
    scene.now += CONFIG.quiet
    (trace,) = scene.judge(cost=3 * SECOND)
    assert not scene.assembler.is_open(trace)
    scene.add(KEY, span("2", "1"))
    paid = scene.now + COST_SHARE * 3 * SECOND - CREDIT
    assert scene.due(paid - 1) == []
    assert scene.due(paid) == [KEY]


def test_a_trace_that_somebody_asked_for_is_judged_at_once() -> None:
    """Whatever it has cost; one that is open here waits for its turn, which comes soon."""
    scene = Scheduled()
    scene.add(KEY, span("1"))
    scene.now += CONFIG.quiet
    scene.judge(cost=3 * SECOND)
    scene.schedule.put(scene.assembler.request(KEY, scene.now))
    assert scene.due(scene.now) == [KEY]


@pytest.mark.parametrize(
    ("pressed", "late", "share"), [(False, 0, 1), (True, 0, PRESSED), (False, 1, 2), (True, 3, 4 * PRESSED)]
)
def test_under_pressure_judgings_pay_for_longer(late: int, share: int, *, pressed: bool) -> None:
    """Four times while clients wait for the store; and once more for each second for which others have waited."""
    scene = Scheduled(pressed=lambda: pressed)
    scene.grow()
    scene.now += CONFIG.coalesce
    (trace,) = scene.judge()
    if late:
        scene.add(numbered(1), span("1", pending=True))
        scene.now += CONFIG.coalesce + late * SECOND
    trace.cost = SECOND
    scene.schedule.judged(trace, scene.now)
    assert trace.paid_until - scene.now == COST_SHARE * share * SECOND


def growing(at: Iterable[int], key: TraceKey = KEY, size: int = 1) -> Play:
    """A trace that grows at these times after T0, and a scene for it."""
    scene = Scheduled()
    return scene, [(T0 + one, partial(scene.grow, key, size)) for one in at]


@given(st.integers(0, 30 * MS), st.integers(1, 400), st.randoms(use_true_random=False))
def test_a_live_trace_never_takes_more_than_a_tenth_of_a_core(cost: int, batches: int, chance: random.Random) -> None:
    """However many batches it comes in, and however they come: when a judging begins those before it are paid for."""
    scene, coming = growing(chance.randrange(0, 60 * SECOND) for _ in range(batches))
    spent = 0
    for began, _, took in scene.play(coming, lambda trace: cost * trace.span_count, T0 + 100 * SECOND):
        assert spent <= (began - T0 + CREDIT) / COST_SHARE
        spent += took


def test_the_cost_of_a_growing_trace_is_bounded_by_time_not_by_batches() -> None:
    """10,000 spans in a minute, a tenth of a millisecond each: a hundred batches or a thousand cost the same."""
    totals = []
    for batches in (100, 1000):
        scene, coming = growing((n * 60 * SECOND // batches for n in range(batches)), size=10_000 // batches)
        judged = scene.play(coming, lambda trace: trace.span_count * MS // 10, T0 + 61 * SECOND)
        totals.append(sum(cost for *_, cost in judged))
    assert totals[1] <= totals[0] * 1.2
    assert totals[0] <= 7 * SECOND, "judging it once takes a second"


@given(st.integers(0, 2 * SECOND), st.integers(0, 5 * SECOND))
def test_from_arrival_to_judging_ten_times_the_cost_at_most(cost: int, after: int) -> None:
    """Webhooks that stop an agent: never later than that, or than the least time between two judgings."""
    scene = Scheduled()
    scene.grow()
    scene.now += CONFIG.coalesce
    scene.judge(cost=cost)
    scene.now += after
    scene.grow()
    assert scene.due(scene.now + max(COST_SHARE * cost, CONFIG.debounce)) == [KEY]


@pytest.mark.parametrize(("spans", "least"), [(200, CONFIG.coalesce + 40 * MS), (5000, 10 * SECOND)])
def test_a_finding_comes_at_once_in_a_small_trace_and_within_seconds_in_a_runaway_one(spans: int, least: int) -> None:
    """A turn every two seconds: 200 spans at 0.2 ms each wait for nothing, 5,000 for ten times a second at most."""
    turns = [n * 2 * SECOND for n in range(50)]
    scene, coming = growing(turns, size=spans // 50)
    judged = scene.play(coming, lambda trace: trace.span_count * MS // 5, T0 + 200 * SECOND)
    assert max(min(at for at, *_ in judged if at >= T0 + turn) - T0 - turn for turn in turns) <= least


def test_a_small_trace_never_waits_for_a_large_one() -> None:
    """Large ones, by their spans or their cost, come alone, one at a time: the other thread has the small ones."""
    scene = Scheduled()
    for number in (1, 2):
        scene.add(numbered(number), *(span(f"{n}", "0", pending=True) for n in range(LARGE_SPANS)))
    scene.add(numbered(3), *(span(f"{n}", "0", pending=True) for n in range(LARGE_SPANS - 1)))
    scene.now += CONFIG.coalesce
    (large,) = scene.schedule.take(scene.now, 10)
    assert large.key == numbered(1)
    assert [trace.key for trace in scene.schedule.take(scene.now, 10)] == [numbered(3)]
    assert scene.schedule.take(scene.now, 10) == []
    assert scene.schedule.next_due() is None, "a thread with nothing to do does not spin"
    scene.put_back([large])
    assert scene.due(scene.now) == [numbered(2)]


def test_a_trace_that_was_dear_to_judge_comes_alone() -> None:
    """What is found in the others is stored before it, or after it, but never waits inside the same step."""
    scene = Scheduled()
    keys = [numbered(n) for n in range(3)]
    for key, cost in zip(keys, (EXPENSIVE - 1, EXPENSIVE, 0), strict=True):
        scene.grow(key)
        scene.now += CONFIG.coalesce
        scene.judge(cost=cost)
    for key in keys:
        scene.grow(key)
    scene.now += 10 * SECOND
    steps = [sorted(trace.key for trace in scene.judge()) for _ in range(2)]
    assert sorted(steps) == [[keys[0], keys[2]], [keys[1]]]


def test_what_is_being_judged_is_not_taken_again() -> None:
    """What comes meanwhile is judged next."""
    scene = Scheduled()
    scene.grow()
    scene.now += CONFIG.coalesce
    taken = scene.schedule.take(scene.now, 1)
    scene.grow()
    assert scene.schedule.take(scene.now + SECOND, 1) == []
    scene.put_back(taken)
    assert scene.due(scene.now + SECOND) == [KEY]


def waiting(count: int) -> Scheduled:
    """A backlog: as many traces of one span, each a nanosecond after the other."""
    scene = Scheduled()
    for number in range(count):
        scene.add(numbered(number), span("1"))
        scene.now += 1
    scene.now = T0 + SECOND
    return scene


def taken(scene: Scheduled, limit: int) -> list[int]:
    return [int(trace.key[1], 16) for trace in scene.schedule.take(scene.now, limit)]


def test_of_a_backlog_some_are_the_newest() -> None:
    """A trace that arrives while many wait is among the next; the longest due get the other places, in their order."""
    scene = waiting(1000)
    first = taken(scene, 100)
    assert first[::4] == [999 - number for number in range(25)]
    assert [number for at, number in enumerate(first) if at % 4] == list(range(75))
    scene.add(numbered(5000), span("1"))
    scene.now += CONFIG.coalesce
    assert 5000 in taken(scene, 100)


def test_what_fits_comes_in_the_order_in_which_it_became_due() -> None:
    """Without a backlog nothing goes before another."""
    assert taken(waiting(100), 100) == list(range(100))


def test_a_backlog_comes_to_its_end_and_each_trace_once() -> None:
    """Also the oldest, whatever arrives."""
    scene = waiting(1000)
    judged: list[int] = []
    for step in range(40):
        judged += taken(scene, 100)
        for number in range(10):
            scene.add(numbered(1000 + 10 * step + number), span("1"))
        scene.now += CONFIG.coalesce
    assert sorted(judged) == sorted(set(judged))
    assert set(judged) >= set(range(1000))


def test_many_large_traces_take_turns() -> None:
    """Each is judged before another is judged again."""
    scene = Scheduled()
    coming = [(T0 + at * 100 * MS, partial(scene.grow, numbered(n))) for n in range(5) for at in range(600)]
    judged = scene.play(coming, lambda trace: trace.span_count * SECOND // 600, T0 + 60 * SECOND)
    counts = Counter(key for _, key, _ in judged)
    assert max(counts.values()) - min(counts.values()) <= 2


@pytest.mark.parametrize(
    ("worked", "after", "lag", "pressed", "rests"),
    [
        (10 * MS, STEP_BACK * 10 * MS - 1, 0, True, True),
        (10 * MS, STEP_BACK * 10 * MS, 0, True, False),
        (10 * MS, 0, 0, False, False),
        (10 * MS, 0, MAX_LAG - 1, True, True),
        (10 * MS, 0, MAX_LAG, True, False),
        (SECOND, MAX_REST - 1, 0, True, True),
        (SECOND, MAX_REST, 0, True, False),
    ],
)
def test_judging_rests_while_clients_wait(worked: int, after: int, lag: int, *, pressed: bool, rests: bool) -> None:
    """Twelve times as long as the last step took, two seconds at most, while nothing is later than four."""
    scene = Scheduled(pressed=lambda: pressed)
    scene.schedule.worked(scene.now, worked)
    assert scene.schedule.rests(scene.now + after, lag) == rests
