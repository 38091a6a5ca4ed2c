"""Several runs of one question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from check_cases import asked_of, check, check_case, only, states_of
from check_replies import reply
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.checks.vote import decided, majority
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.packs import sources
from tracejury.schemas.errors import LlmError

THREE = check(sources.STATES, runs=3)
QUOTED = {"label": "E2.S2", "quote": "I look at Rome now."}


class Runs:
    """Answers the second item of an exchange, run by run: yes, no, or nothing that can be read."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.answers, self.asked = answers, Counter[int]()

    def __call__(self, prompt: Prompt) -> str:
        self.asked[prompt.repeat] += 1
        said = self.answers[prompt.repeat]
        if said == "?":
            return "no JSON"
        told = {"answer": said, "reason": f"run {prompt.repeat}"} | (QUOTED if said == "no" else {})
        return reply(prompt, {2: told})


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 6))
def test_a_decided_item_is_so_whatever_further_runs_say(said: list[int], left: int) -> None:
    """Whichever of them are of use."""
    if decided(said, left, 3):
        for more in range(min(left, 3) + 1):
            assert {majority([*said, *further]) for further in product(range(4), repeat=more)} == {majority(said)}


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_the_best_of_two_answers_needs_more_than_half(yes: list[bool]) -> None:
    assert (majority([0 if one else 1 for one in yes]) == 0) is (2 * sum(yes) > len(yes))


def test_each_run_is_asked_for_itself_and_the_majority_counts() -> None:
    runs = Runs(["no", "yes", "no"])
    said, client = asked_of(check_case(1, THREE), runs)
    assert sorted(runs.asked.items()) == [(0, 1), (1, 1), (2, 1)]
    assert len({prompt.messages for prompt in client.prompts}) == 1
    first, second = only(said).items
    assert (first.answer, first.yes, first.runs) == ("yes", 3, 3)
    assert (second.answer, second.yes, second.runs, second.quote) == ("no", 1, 3, QUOTED["quote"])
    assert second.reason == "no: run 0\nno: run 2\nyes: run 1"
    assert len(said.findings) == 1


def test_an_early_stop_never_changes_an_answer() -> None:
    """It only leaves out runs that can change none."""
    case = check_case(1, check(sources.STATES, runs=5))
    for answers in product(["yes", "no", "?"], repeat=5):
        every, early = Runs(answers), Runs(answers)
        whole, stopped = (asked_of(case, runs, early_stop=runs is early)[0] for runs in (every, early))
        assert {*every.asked} == {0, 1, 2, 3, 4}
        assert len(early.asked) >= 3
        told = [[(one.item, one.answer) for one in only(said).items] for said in (whole, stopped)]
        assert told[0] == told[1] or not told[0]
        if answers[:3] in {("yes",) * 3, ("no",) * 3}:
            assert len(early.asked) == 3


@given(
    st.lists(st.sampled_from("yn?"), min_size=5, max_size=5).flatmap(
        lambda a: st.tuples(st.just(a), st.permutations(a))
    )
)
def test_runs_in_any_order_give_the_same_answer(orders: tuple[list[str], list[str]]) -> None:
    said = {"y": "yes", "n": "no", "?": "?"}
    case = check_case(1, check(sources.STATES, runs=5))
    found = [only(asked_of(case, Runs([said[one] for one in order]))[0]) for order in orders]
    assert len({tuple((one.item, one.answer, one.share) for one in verdict.items) for verdict in found}) == 1
    assert len({verdict.value for verdict in found}) == 1


def test_fewer_runs_of_use_than_half_leave_a_check_unscored() -> None:
    said, _ = asked_of(check_case(1, THREE), Runs(["yes", "?", "?"]))
    assert only(said).unscored_reason.startswith("1 of 3 runs gave an answer: ")
    assert only(asked_of(check_case(1, THREE), Runs(["yes", "?", "yes"]))[0]).value == 1.0
    assert only(asked_of(check_case(1, THREE), Runs(["yes", "?", "no"]))[0]).value == 0.5  # one of two is not more


def test_a_run_without_a_reply_is_one_of_no_use() -> None:
    def script(prompt: Prompt) -> str | Reply | LlmError:
        return LlmError("the model is away") if prompt.repeat == 1 else reply(prompt)

    assert only(asked_of(check_case(1, THREE), script)[0]).value == 1.0


def test_an_item_that_the_model_lists_counts_if_most_runs_list_it() -> None:
    observations = check(sources.OBSERVATIONS, runs=3)
    listed = {0: ["Rome has 12"], 1: ["Rome has 12", "more come on Monday"], 2: []}

    def script(prompt: Prompt) -> str:
        return reply(
            prompt,
            listed=[
                {"check": observations.name, "item": None, "mention": m, "reason": "so", "answer": "yes"}
                for m in listed[prompt.repeat]
            ],
        )

    (item,) = only(asked_of(check_case(1, observations), script)[0]).items
    assert (item.item, item.runs) == ("Rome has 12", 2)


def test_the_items_of_a_single_run_have_no_count() -> None:
    case = check_case(1, check(sources.STATES))
    assert states_of(case.record, 1)
    assert {(one.yes, one.runs) for one in only(asked_of(case)[0]).items} == {(0, 0)}
