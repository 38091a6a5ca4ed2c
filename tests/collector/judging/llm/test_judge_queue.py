"""The docket: bounded, each run once, one at a time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_traces import Said, run, trace

from tracejury.collector.judging.llm.judge_queue import MAX_WINDOWS, JudgeQueue, JudgeTask
from tracejury.judges.llm.case import Stage


def entry(run_id: str = "r", content: str = "h", stage: Stage = Stage.CLOSING, *, held: bool = False) -> JudgeTask:
    """A run of one trace."""
    whole = trace(run(run_id, Said("l", "x"))) if held else None
    return JudgeTask(("", "t"), run_id, stage, ("logical-consistency",), content, 1.0, trace=whole)


def taken(docket: JudgeQueue, now: int = 0) -> JudgeTask:
    """The next run, which there must be."""
    entry = docket.take(now)
    assert entry is not None
    return entry


def test_runs_come_out_in_order_and_one_at_a_time() -> None:
    """What waits of a run in flight is passed over until that is done."""
    docket = JudgeQueue()
    docket.put(entry("a"))
    docket.put(entry("b"))
    first = taken(docket, 0)
    assert first.run_id == "a"
    docket.put(entry("a", "newer"))
    assert docket.replaced(first)
    second = taken(docket, 0)
    assert second.run_id == "b"
    assert docket.take(0) is None
    docket.done(first)
    again = taken(docket, 0)
    assert again.content == "newer"


def test_a_closing_pass_takes_the_place_of_a_window_and_not_the_other_way_round() -> None:
    """A window that waits would say nothing that the closing pass does not."""
    docket = JudgeQueue()
    assert docket.put(entry(stage=Stage.WINDOW))
    assert docket.put(entry())
    assert not docket.put(entry(stage=Stage.WINDOW))
    assert taken(docket).stage is Stage.CLOSING
    assert docket.take(0) is None


def test_what_has_no_room_is_left_to_the_store() -> None:
    """A closing pass stays pending there, and the docket knows that there is something to read back."""
    docket = JudgeQueue(max_entries=1)
    seen = [(docket.put(entry(run_id)), docket.overflowed) for run_id in "ab"]
    assert seen == [(True, False), (False, True)]
    assert docket.put(entry("a", "newer"))  # it takes the place of what waits of it


def test_windows_have_a_bound_of_their_own() -> None:
    """They are best effort: beyond the bound nothing is remembered of them."""
    docket = JudgeQueue()
    assert all(docket.put(entry(str(i), stage=Stage.WINDOW)) for i in range(MAX_WINDOWS))
    assert not docket.put(entry("one more", stage=Stage.WINDOW))
    assert not docket.overflowed
    assert docket.put(entry("closing"))


def test_traces_are_held_as_long_as_there_is_room() -> None:
    """Beyond it the run keeps its place and its trace is read from the store."""
    docket = JudgeQueue(max_bytes=3000)
    docket.put(entry("a", held=True))
    docket.put(entry("b", held=True))
    assert docket.held_bytes == 2000
    assert [taken(docket).trace is None for _ in range(2)] == [False, True]
    assert docket.held_bytes == 0


def test_a_trace_counts_once_however_many_of_its_runs_wait() -> None:
    """Its runs share it; it is let go with the last of them."""
    docket = JudgeQueue(max_bytes=3000)
    shared = entry("a", held=True)
    for run_id in "abcdef":
        docket.put(replace(shared, run_id=run_id))
    assert docket.held_bytes == 2000
    assert all(taken(docket).trace is shared.trace for _ in range(5))
    assert docket.held_bytes == 2000
    taken(docket)
    assert docket.held_bytes == 0


def test_what_is_put_back_waits_for_its_time_and_yields_to_what_is_newer() -> None:
    """A retry of an old state of a run is not worth more than the new state."""
    docket = JudgeQueue()
    docket.put(entry("a"))
    held = taken(docket)
    docket.put_again(replace(held, not_before=100))
    docket.done(held)
    assert docket.take(99) is None
    assert docket.take(100) == replace(held, not_before=100)
    docket.put(entry("a", "newer"))
    docket.put_again(replace(held, not_before=100))
    docket.done(held)
    later = taken(docket, 0)
    assert later.content == "newer"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(Stage)), st.booleans(), st.booleans())))
def test_bytes_and_windows_are_counted_back_to_nothing(steps: list[tuple[str, Stage, bool, bool]]) -> None:
    """Whatever is put, replaced, taken and done, an empty docket holds nothing."""
    docket = JudgeQueue(max_entries=2, max_bytes=3000)
    for run_id, stage, held, take in steps:
        docket.put(entry(run_id, stage=stage, held=held))
        if take and (held_now := docket.take(0)) is not None:
            docket.done(held_now)
    while (left := docket.take(0)) is not None:
        docket.done(left)
    assert (len(docket), docket.in_flight, docket.held_bytes) == (0, 0, 0)
    assert all(docket.put(entry(str(i), stage=Stage.WINDOW)) for i in range(MAX_WINDOWS))
