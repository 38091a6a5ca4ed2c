"""The queue of LLM judging: bounded, each run once, one at a time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_traces import Said, run, trace

from tracejury.collector.judging.llm.judge_queue import MAX_WINDOWS, JudgeQueue, JudgeTask
from tracejury.judges.llm.case import Stage


def task(run_id: str = "r", content: str = "h", stage: Stage = Stage.CLOSING, *, held: bool = False) -> JudgeTask:
    """A run of one trace."""
    whole = trace(run(run_id, Said("l", "x"))) if held else None
    return JudgeTask(("", "t"), run_id, stage, ("logical-consistency",), content, 1.0, trace=whole)


def taken(queue: JudgeQueue, now: int = 0) -> JudgeTask:
    """The next run, which there must be."""
    task = queue.take(now)
    assert task is not None
    return task


def test_runs_come_out_in_order_and_one_at_a_time() -> None:
    """What waits of a run in flight is passed over until that is done."""
    queue = JudgeQueue()
    queue.put(task("a"))
    queue.put(task("b"))
    first = taken(queue, 0)
    assert first.subject_id == "a"
    queue.put(task("a", "newer"))
    assert queue.replaced(first)
    second = taken(queue, 0)
    assert second.subject_id == "b"
    assert queue.take(0) is None
    queue.done(first)
    again = taken(queue, 0)
    assert again.content == "newer"


def grouped(run_id: str, group: str = "g", content: str = "h") -> JudgeTask:
    """A run that is judged with others of its group."""
    return replace(task(run_id, content), group=group)


def test_runs_of_a_group_are_taken_together_and_each_is_in_flight_by_itself() -> None:
    """Of a group, what is in flight or waits for its time stays; every subject keeps its own place."""
    queue = JudgeQueue()
    late = replace(grouped("d"), not_before=5)
    queue.put(grouped("a"), task("x"), grouped("b"), grouped("c", "other"), late)
    first = taken(queue)
    assert [one.subject_id for one in first.each] == ["a", "b"]
    assert (queue.in_flight, len(queue)) == (2, 3)
    queue.put(grouped("b", content="newer"))
    assert [queue.replaced(one) for one in first.each] == [False, True]
    assert [one.subject_id for one in taken(queue).each] == ["x"]
    assert [one.subject_id for one in taken(queue).each] == ["c"]
    queue.done(first)
    again = taken(queue, 5)
    assert [(one.subject_id, one.content) for one in again.each] == [("d", "h"), ("b", "newer")]


def test_runs_that_were_taken_together_are_put_back_and_dropped_each_by_itself() -> None:
    """A run that was withdrawn meanwhile does not come back with the others."""
    queue = JudgeQueue()
    queue.put(grouped("a"), grouped("b"), grouped("c"))
    first = taken(queue)
    queue.withdraw(("", "t"), {first.kind}, {"a", "c"})
    queue.put_again(replace(first, tries=2, not_before=7))
    queue.done(first)
    assert not queue.holds(task("b").subject_key)
    assert queue.take(6) is None
    again = taken(queue, 7)
    assert [(one.subject_id, one.tries) for one in again.each] == [("a", 2), ("c", 2)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.sampled_from(["", "g", "h"]),
            st.sampled_from(["put", "take", "done", "again", "drop"]),
        )
    )
)
def test_however_groups_come_and_go_no_run_is_lost_or_in_flight_twice(steps: list[tuple[str, str, str]]) -> None:
    """Of each run at most one task is in flight, and one that was put is taken in the end unless it was dropped."""
    queue = JudgeQueue()
    flying: list[JudgeTask] = []
    owed: set[str] = set()
    for run_id, group, what in steps:
        if what == "put":
            queue.put(grouped(run_id, group))
            owed.add(run_id)
        elif what == "take" and (got := queue.take(0)):
            flying.append(got)
        elif what in ("done", "again") and flying:
            ended = flying.pop()
            if what == "again":
                queue.put_again(ended)
            else:
                owed -= {one.subject_id for one in ended.each if not queue._waiting.get(one.subject_key)}
            queue.done(ended)
        elif what == "drop":
            queue.drop({("", "t")})
            owed.clear()
        now = [one.subject_id for each in flying for one in each.each]
        assert len(now) == len(set(now))
    for each in flying:
        owed -= {one.subject_id for one in each.each}
        queue.done(each)
    while got := queue.take(0):
        owed -= {one.subject_id for one in got.each}
        queue.done(got)
    assert not owed
    assert not len(queue)
    assert not queue.in_flight


def test_a_closing_pass_takes_the_place_of_a_window_and_not_the_other_way_round() -> None:
    """A window that waits would say nothing that the closing pass does not."""
    queue = JudgeQueue()
    assert queue.put(task(stage=Stage.WINDOW))
    assert queue.put(task())
    assert not queue.put(task(stage=Stage.WINDOW))
    assert taken(queue).stage is Stage.CLOSING
    assert queue.take(0) is None


def test_what_has_no_room_is_left_to_the_store() -> None:
    """A closing pass stays pending there, and the queue knows that there is something to read back."""
    queue = JudgeQueue(max_entries=1)
    seen = [(queue.put(task(run_id)), queue.overflowed) for run_id in "ab"]
    assert seen == [(True, False), (False, True)]
    assert queue.put(task("a", "newer"))  # it takes the place of what waits of it


def test_windows_have_a_bound_of_their_own() -> None:
    """They are best effort: beyond the bound nothing is remembered of them."""
    queue = JudgeQueue()
    assert all(queue.put(task(str(i), stage=Stage.WINDOW)) for i in range(MAX_WINDOWS))
    assert not queue.put(task("one more", stage=Stage.WINDOW))
    assert not queue.overflowed
    assert queue.put(task("closing"))


def test_traces_are_held_as_long_as_there_is_room() -> None:
    """Beyond it the run keeps its place and its trace is read from the store."""
    queue = JudgeQueue(max_bytes=3000)
    queue.put(task("a", held=True))
    queue.put(task("b", held=True))
    assert queue.held_bytes == 2000
    assert [taken(queue).trace is None for _ in range(2)] == [False, True]
    assert queue.held_bytes == 0


def test_a_trace_counts_once_however_many_of_its_runs_wait() -> None:
    """Its runs share it; it is let go with the last of them."""
    queue = JudgeQueue(max_bytes=3000)
    shared = task("a", held=True)
    for run_id in "abcdef":
        queue.put(replace(shared, subject_id=run_id))
    assert queue.held_bytes == 2000
    assert all(taken(queue).trace is shared.trace for _ in range(5))
    assert queue.held_bytes == 2000
    taken(queue)
    assert queue.held_bytes == 0


def test_what_is_put_back_waits_for_its_time_and_yields_to_what_is_newer() -> None:
    """A retry of an old state of a run is not worth more than the new state."""
    queue = JudgeQueue()
    queue.put(task("a"))
    held = taken(queue)
    queue.put_again(replace(held, not_before=100))
    queue.done(held)
    assert queue.take(99) is None
    assert queue.take(100) == replace(held, not_before=100)
    queue.put(task("a", "newer"))
    queue.put_again(replace(held, not_before=100))
    queue.done(held)
    later = taken(queue, 0)
    assert later.content == "newer"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(Stage)), st.booleans(), st.booleans())))
def test_bytes_and_windows_are_counted_back_to_nothing(steps: list[tuple[str, Stage, bool, bool]]) -> None:
    """Whatever is put, replaced, taken and done, an empty queue holds nothing."""
    queue = JudgeQueue(max_entries=2, max_bytes=3000)
    for run_id, stage, held, take in steps:
        queue.put(task(run_id, stage=stage, held=held))
        if take and (held_now := queue.take(0)) is not None:
            queue.done(held_now)
    while (left := queue.take(0)) is not None:
        queue.done(left)
    assert (len(queue), queue.in_flight, queue.held_bytes) == (0, 0, 0)
    assert all(queue.put(task(str(i), stage=Stage.WINDOW)) for i in range(MAX_WINDOWS))


def test_what_asks_no_model_goes_before_what_waits() -> None:
    queue = JudgeQueue()
    queue.put(task("a"), task("b"))
    queue.put(replace(task("c"), urgent=True))
    assert [taken.subject_id for taken in (queue.take(0), queue.take(0), queue.take(0)) if taken] == ["c", "a", "b"]
