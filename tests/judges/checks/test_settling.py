"""Items that settle: a fold over what was said of a session's exchanges."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from check_cases import check
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.checks.progress import check_progress
from tracejury.judges.checks.settling import settled_items, settles
from tracejury.judges.packs import sources
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

NOTES = ("a", "b", "c")
ITEMS = tuple(map(CheckItem, NOTES))
BEST = check(sources.POLICIES, settles="best")
WORST = check(sources.POLICIES, settles="worst")

Said = dict[str, tuple[str, bool]]


def verdict(number: int, said: Said, failure: str = "") -> Verdict:
    """What was said of an exchange: by item the answer, and whether its quote stands."""
    items = tuple(ItemAnswer(text, word, best=word == "yes", grounded=real) for text, (word, real) in said.items())
    subject = Subject(SubjectKind.EXCHANGE, f"m:{number}", "t" * 32)
    return Verdict(BEST.name, "v", subject, None, unscored_reason=failure, items=items)


SAID: st.SearchStrategy[Said] = st.dictionaries(
    st.sampled_from(NOTES), st.tuples(st.sampled_from(["yes", "no"]), st.booleans())
)


def asked_in(order: Sequence[int], answers: Sequence[Said]) -> list[Verdict | None]:
    """What is stored if exchanges are judged in this order, each about what those before it have not settled yet."""
    stored: dict[int, Verdict] = {}
    for number in order:
        earlier = [item for before, one in stored.items() if before < number for item in one.items]
        settled = {item.item for item in earlier if settles(BEST, item)}
        stored[number] = verdict(number, {text: said for text, said in answers[number].items() if text not in settled})
    return [stored.get(number) for number in range(len(answers))]


@given(st.lists(SAID, min_size=1, max_size=5).flatmap(lambda a: st.tuples(st.just(a), st.permutations(range(len(a))))))
def test_any_order_of_judging_gives_the_same_session(case: tuple[list[Said], list[int]]) -> None:
    """Of the answers that exchanges give, however many of them were asked needlessly."""
    answers, order = case
    whole = [{text: said.get(text, ("no", True)) for text in NOTES} for said in answers]
    in_order = settled_items(BEST, ITEMS, asked_in(range(len(whole)), whole))
    any_order = settled_items(BEST, ITEMS, asked_in(order, whole))
    assert (in_order.answers, in_order.left) == (any_order.answers, any_order.left)
    made = [sum(one.best and one.grounded for one in state) for state in in_order.states]
    assert made == sorted(made)  # what is achieved stays so
    achieved = {text for said in whole for text, (word, real) in said.items() if word == "yes" and real}
    assert {one.item for one in in_order.answers if one.best and one.grounded} == achieved


def test_the_settling_answer_stands_and_an_open_item_has_its_last() -> None:
    said = [
        verdict(0, {"a": ("yes", True), "b": ("no", True)}),
        verdict(1, {"a": ("no", True), "b": ("yes", False)}),
        verdict(2, {"b": ("no", True)}),
    ]
    settled = settled_items(BEST, ITEMS, said)
    assert [[(one.item, one.answer) for one in state] for state in settled.states] == [
        [("a", "yes"), ("b", "no")],
        [("a", "yes"), ("b", "yes")],
        [("a", "yes"), ("b", "no")],
    ]
    assert [item.text for item in settled.left] == ["c"]  # nobody asked about it at the last exchange


def test_what_the_last_exchange_could_not_tell_is_asked_at_the_close() -> None:
    """An exchange that is unscored, or has no verdict, keeps the answers before."""
    first = verdict(0, {"a": ("yes", True), "b": ("no", True)})
    for last in (None, verdict(1, {"b": ("yes", True)}, failure="no answer")):
        settled = settled_items(BEST, ITEMS, [first, last])
        assert settled.states[0] == settled.states[1]
        assert [item.text for item in settled.left] == ["b", "c"]


def test_a_worst_answer_settles_where_that_is_said() -> None:
    said = [verdict(0, {"a": ("no", True), "b": ("yes", True)}), verdict(1, {"a": ("yes", True), "b": ("yes", True)})]
    assert [one.answer for one in settled_items(WORST, ITEMS[:2], said).answers] == ["no", "yes"]
    assert [settles(WORST, answer) for answer in said[0].items] == [True, False]


def test_a_task_has_as_many_entries_as_it_may_take_exchanges() -> None:
    said = [verdict(0, {"a": ("no", True)}), verdict(1, {"a": ("yes", True)})]
    settled = settled_items(BEST, ITEMS[:1], said)
    final = settled.answers
    assert [[one.answer for one in entry] for entry in settled.entries(4, final)] == [["no"], ["yes"], ["yes"], ["yes"]]
    assert [[one.answer for one in entry] for entry in settled.entries(1, settled.states[0])] == [["no"]]
    assert len(settled.entries(None, final)) == 2
    assert settled_items(BEST, (), []).entries(2, ()) == [(), ()]


YES, NO, LOOSE = ("yes", True), ("no", True), ("yes", False)


@pytest.mark.parametrize(
    ("said", "closing", "exchanges", "after"),
    [
        ([{"a": YES, "b": NO, "c": NO}, None, {"b": YES}], None, [1, 3, None], [1 / 3, 1 / 3, 2 / 3]),
        ([{"a": YES, "b": NO, "c": NO}, "failed"], {"a": YES, "b": YES, "c": NO}, [1, None, None], [1 / 3, 2 / 3]),
        ([{"a": LOOSE, "b": YES}, {"a": NO}, {"a": YES}], None, [3, 1], [0.5, 0.5, 1]),
        ([], {"a": YES, "b": NO}, [None, None], []),
    ],
)
def test_progress_is_the_share_that_is_settled_after_each_exchange(
    said: Sequence[Said | str | None], closing: Said | None, exchanges: list[int | None], after: list[float]
) -> None:
    """With the exchange that settled each; what the close alone settles counts at the last one."""
    verdicts = [
        None if one is None else verdict(at, {}, one) if isinstance(one, str) else verdict(at, one)
        for at, one in enumerate(said)
    ]
    found = check_progress(BEST, verdicts, None if closing is None else verdict(99, closing))
    assert found is not None
    assert [one.exchange for one in found.items] == exchanges
    assert found.after == pytest.approx(after)
    assert found.closed is (closing is not None)
    assert check_progress(BEST, [None, verdict(1, {}, "failed")], None) is None
