"""The queue of LLM judging: bounded, each run once, one at a time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.judging.llm.judge_queue import MAX_WINDOWS, JudgeItem, JudgeQueue, JudgeTask
from tracejury.judges.llm.case import Stage
from tracejury.schemas.verdicts import SubjectKind


def task(run_id: str = "r", content: str = "h", stage: Stage = Stage.CLOSING, group: str = "") -> JudgeTask:
    """A run of one trace."""
    return JudgeTask(("", "t"), run_id, stage, ("logical-consistency",), content, 1.0, group=group)


def ids(items: list[JudgeItem]) -> list[str]:
    """The runs of tasks that were taken."""
    return [item.value.subject_id for item in items]


def test_runs_come_out_in_order_and_one_at_a_time() -> None:
    """What waits of a run in flight is passed over until that is done."""
    queue = JudgeQueue()
    queue.add(task("a"), task("b"))
    (first,) = queue.take_next(0)
    queue.add(task("a", "newer"))
    assert queue.is_replaced(first)
    assert ids(queue.take_next(0)) == ["b"]
    assert queue.take_next(0) == []
    queue.done([first])
    (again,) = queue.take_next(0)
    assert (again.key, again.value.content) == (first.key, "newer")


def test_runs_of_a_group_are_taken_together_and_each_is_in_flight_by_itself() -> None:
    """Of a group, what is in flight or waits for its time stays; every subject keeps its own place."""
    queue = JudgeQueue()
    queue.put(task("d").subject_key, task("d", group="g"), not_before=5)
    queue.add(task("a", group="g"), task("x"), task("b", group="g"), task("c", group="other"))
    first = queue.take_next(0)
    assert ids(first) == ["a", "b"]
    assert (queue.in_flight, len(queue)) == (2, 3)
    queue.add(task("b", "newer", group="g"))
    assert [*map(queue.is_replaced, first)] == [False, True]
    assert [ids(queue.take_next(0)) for _ in range(2)] == [["x"], ["c"]]
    queue.done(first)
    assert ids(queue.take_next(5)) == ["d", "b"]


def test_a_run_that_was_withdrawn_in_flight_does_not_come_back_with_the_others() -> None:
    queue = JudgeQueue()
    queue.add(*(task(run_id, group="g") for run_id in "abc"))
    first = queue.take_next(0)
    queue.withdraw(("", "t"), {SubjectKind.AGENT_RUN}, {"a", "c"})
    assert [*map(queue.is_replaced, first)] == [False, True, False]
    queue.put_back(first, 7)
    queue.done(first)
    assert task("b").subject_key not in queue
    assert (queue.take_next(6), ids(queue.take_next(7))) == ([], ["a", "c"])


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
    flying: list[list[JudgeItem]] = []
    owed: set[str] = set()
    for run_id, group, what in steps:
        if what == "put":
            queue.add(task(run_id, group=group))
            owed.add(run_id)
        elif what == "take" and (got := queue.take_next(0)):
            flying.append(got)
        elif what in ("done", "again") and flying:
            ended = flying.pop()
            if what == "again":
                queue.put_back(ended)
            queue.done(ended)
            owed -= {item.value.subject_id for item in ended if item.key not in queue}
        elif what == "drop":
            queue.drop(lambda _: True)
            owed.clear()
        now = [run for items in flying for run in ids(items)]
        assert len(now) == len(set(now))
    for items in flying:
        owed -= {*ids(items)}
        queue.done(items)
    while got := queue.take_next(0):
        owed -= {*ids(got)}
        queue.done(got)
    assert not owed
    assert (len(queue), queue.in_flight) == (0, 0)


def test_a_closing_pass_takes_the_place_of_a_window_and_not_the_other_way_round() -> None:
    """A window that waits would say nothing that the closing pass does not."""
    queue = JudgeQueue()
    assert queue.add(task(stage=Stage.WINDOW))
    assert queue.add(task())
    assert not queue.add(task(stage=Stage.WINDOW))
    assert [item.value.stage for item in queue.take_next(0)] == [Stage.CLOSING]
    assert queue.take_next(0) == []


def test_what_has_no_room_is_left_to_the_store() -> None:
    """A closing pass stays pending there, and the queue knows that there is something to read back."""
    queue = JudgeQueue(max_entries=1)
    seen = [(queue.add(task(run_id)), queue.overflowed) for run_id in "ab"]
    assert seen == [(True, False), (False, True)]
    assert queue.add(task("a", "newer"))  # it takes the place of what waits of it


def test_windows_have_a_bound_of_their_own() -> None:
    """They are best effort: beyond the bound nothing is remembered of them."""
    queue = JudgeQueue()
    assert all(queue.add(task(str(i), stage=Stage.WINDOW)) for i in range(MAX_WINDOWS))
    assert not queue.add(task("one more", stage=Stage.WINDOW))
    assert not queue.overflowed
    assert queue.add(task("closing"))
    while taken := queue.take_next(0):
        queue.done(taken)
    assert all(queue.add(task(str(i), stage=Stage.WINDOW)) for i in range(MAX_WINDOWS))


def test_what_asks_no_model_goes_before_what_waits() -> None:
    queue = JudgeQueue()
    queue.add(task("a"), task("b"))
    queue.add(replace(task("c"), urgent=True))
    assert [ids(queue.take_next(0)) for _ in range(3)] == [["c"], ["a"], ["b"]]
