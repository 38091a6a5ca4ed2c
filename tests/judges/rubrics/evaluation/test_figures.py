"""Figures of tests of rubrics: the paper's arithmetic, parts, differences, spans, situations, rubrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_folders import GOOD, labelled
from scope_sets import set_of

from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.rubrics.evaluation.arms import SCOPE, JudgedSession, SplitOutcome, Tests
from tracejury.judges.rubrics.evaluation.figures import (
    PARTS,
    Spread,
    arm_tests,
    by_rubric,
    by_situation,
    differences,
    localised,
    situation_kappas,
    spreads,
)
from tracejury.judges.rubrics.evaluation.splits import Split
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import RubricSet

ONE: Final = labelled(0, GOOD)


def said(*of: tuple[int, bool, bool | None, bool], by: str = "ada") -> Tests:
    """So many sessions that are good, whose user is satisfied, and that are said to be good."""
    rows = [row[1:] for row in of for _ in range(row[0])]
    return [
        (replace(ONE, key=("s", str(n)), label=AgreedLabel(good, satisfied, "", (by,))), told)
        for n, (good, satisfied, told) in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("precision", "recall", "accuracy"), [(0.65, 0.99, 0.81), (0.53, 1.0, 0.69), (0.64, 0.96, 0.80), (0.59, 0.77, 0.73)]
)
def test_the_papers_precision_and_recall_give_its_accuracy(precision: float, recall: float, accuracy: float) -> None:
    """182 of 516 sessions are good. The last, of SCOPE without areas, is .05 below what the paper has for it."""
    hit = round(182 * recall)
    wrong = round(hit / precision) - hit
    tests = said((hit, True, True, True), (182 - hit, True, True, False), (wrong, False, False, True),
                 (334 - wrong, False, False, False))  # fmt: skip
    overall = spreads([tests], "overall")
    assert overall["precision"].mean == pytest.approx(precision, abs=0.005)
    assert overall["recall"].mean == pytest.approx(recall, abs=0.005)
    assert overall["accuracy"].mean == pytest.approx(accuracy, abs=0.006)
    assert overall["accuracy"].deviation is None


def test_a_quarter_of_hard_sessions_gives_the_papers_overall_accuracy() -> None:
    """.75 x .97 + .25 x .33 = .81; "satisfied = good" reaches .75."""
    tests = said((260, True, True, True), (31, False, False, False), (9, False, False, True),
                 (67, False, True, True), (33, False, True, False))  # fmt: skip
    assert spreads([tests], "easy")["accuracy"].mean == pytest.approx(0.97)
    assert spreads([tests], "hard negatives")["accuracy"] == Spread((0.33,))
    assert spreads([tests], "overall")["accuracy"].mean == pytest.approx(0.81, abs=0.001)
    outcome = SplitOutcome(Split("1", (), tuple(one for one, _ in tests)), {}, {})
    arms = arm_tests([outcome])
    assert spreads(arms["satisfied = good"], "overall")["accuracy"].mean == 0.75
    all_bad = spreads(arms["all bad"], "overall")
    assert (all_bad["accuracy"].mean, all_bad["recall"].mean, all_bad["precision"].mean) == (0.35, 0.0, None)


TESTS: Final = st.lists(
    st.tuples(
        st.booleans(), st.sampled_from([True, False, None]), st.sampled_from(["ada", "generator"]), st.booleans()
    ),
    min_size=1, max_size=40,
).map(
    lambda rows: [
        (replace(ONE, key=("s", str(n)), label=AgreedLabel(good, satisfied, "", (by,))), told)
        for n, (good, satisfied, by, told) in enumerate(rows)
    ]
)  # fmt: skip


@given(st.lists(TESTS, min_size=1, max_size=4))
def test_in_each_split_overall_accuracy_lies_between_those_of_its_parts(splits: list[Tests]) -> None:
    found = {part: spreads(splits, part)["accuracy"].splits for part in PARTS}
    for number, overall in enumerate(found["overall"]):
        for parts in (("easy", "hard negatives", "hard positives", "satisfaction unknown"), ("gold", "silver")):
            own = [value for part in parts if (value := found[part][number]) is not None]
            assert overall is not None
            assert min(own) - 1e-9 <= overall <= max(own) + 1e-9


def test_mean_and_deviation_are_over_the_splits_that_define_a_figure() -> None:
    some = Spread((0.5, None, 0.9, 1.0))
    assert some.mean == pytest.approx(0.8)
    assert some.deviation == pytest.approx(0.264575, abs=1e-6)
    assert (Spread((None,)).mean, Spread((None, 1.0)).deviation) == (None, None)


def test_differences_are_over_the_sessions_that_both_judge_and_do_not_depend_on_order() -> None:
    """One split: 3 of 4 right against 1 of 4; one session that the other arm has not judged counts in neither."""
    ours = said((2, True, True, True), (1, False, True, False), (1, False, True, True), (1, True, True, True))
    other = [(one, not good if at in (0, 2) else good) for at, (one, good) in enumerate(ours[:4])]
    nowhere: Tests = []
    found = differences({"us": [ours], "them": [other], "nobody": [nowhere]}, "us")
    assert (found["them"]["overall"], found["them"]["hard negatives"]) == (0.5, 0.5)
    low, high = found["them"]["overall, 95%"]
    assert 0 <= low < 0.5 < high <= 1
    assert found["nobody"] == dict.fromkeys(found["them"])
    again = differences({"us": [ours[::-1]], "them": [other[::-1]], "nobody": [nowhere]}, "us")
    assert again == found


SET: Final = RubricSet.model_validate(set_of([5, 5], [5, 5], make_or_break=1))


def outcome(name: str, judged: Iterable[tuple[AgreedLabel, JudgedSession | None]]) -> SplitOutcome:
    """Sessions 0, 1 … of one trace each, as they are judged; None: not at all."""
    rows = [(replace(labelled(n, GOOD), label=label), found) for n, (label, found) in enumerate(judged)]
    sessions: list[LabelledSession] = [one for one, _ in rows]
    return SplitOutcome(
        Split(name, (), tuple(sessions)), {SCOPE: SET}, {SCOPE: {one.key: found for one, found in rows if found}}
    )


def test_arms_weigh_one_answer_and_the_gate_alone_tells_raw_from_proven() -> None:
    """Full good ones against one make-or-break at 4: bad but without its weight; what no quote proves counts raw."""
    label = AgreedLabel(good=False, satisfied=True, situation="skipped-tool", annotators=("ada",))
    good: dict[str, Any] = {"good-0": 10, "good-1": 10}
    proven = JudgedSession(good | {"bad-0": 4}, good | {"bad-0": 4})
    unproven = JudgedSession(good, good | {"bad-0": 10})
    half = JudgedSession(good | {"bad-0": 1}, good | {"bad-0": 1})
    tests = outcome("1", [(label, proven), (label, unproven), (label, half), (label, None)]).tests()
    told = {name: "".join("gb"[not good] for _, good in own) for name, own in tests.items()}
    assert told == {
        "all bad": "bbbb", "satisfied = good": "gggg",
        "SCOPE": "bgb", "SCOPE, raw": "bbb",
        "SCOPE without weights": "ggg", "SCOPE without weights, raw": "ggg",
        "SCOPE without make-or-break": "ggg", "SCOPE without make-or-break, raw": "ggg",
        "SCOPE, veto 1": "bgb", "SCOPE, veto 1, raw": "bbb",
        "SCOPE, veto 5": "bgb", "SCOPE, veto 5, raw": "bbb",
        "SCOPE, veto 10": "bgb", "SCOPE, veto 10, raw": "bbb",
    }  # fmt: skip


def test_errors_are_localised_and_situations_and_rubrics_have_a_record() -> None:
    """Of the five of the first split two are right; nobody names a situation in the second: it has no kappa."""
    wrong = AgreedLabel(good=False, satisfied=True, situation="skipped-tool", annotators=("ada",))
    right = AgreedLabel(good=True, satisfied=True, situation="correct", annotators=("ada",))
    unlabelled = AgreedLabel(good=True, satisfied=True, situation="", annotators=("ada",))
    trace = next(iter(labelled(0, GOOD).recorded.traces))
    at, elsewhere = (trace, "1" * 16), (trace, "2" * 16)
    seen = JudgedSession({"bad-0": 8, "good-0": 1}, {}, frozenset({at}), "skipped-tool", at)
    missed = JudgedSession({"bad-1": 8}, {}, frozenset({elsewhere}), "superfluous-calls", elsewhere)
    fine = JudgedSession({"good-0": 9}, {}, frozenset(), "correct")
    first = outcome("1", [(wrong, seen), (wrong, missed), (right, fine), (right, fine), (unlabelled, seen)])
    second = outcome("2", [(unlabelled, fine)])
    found = localised([first, second], {at, ("f" * 32, "1" * 16)}, SCOPE)
    assert {what: row["share"].splits for what, row in found.items()} == {
        "bad rubrics": (0.4, 0.0),
        "situation": (0.4, 0.0),
    }
    assert localised([second], {("f" * 32, "1" * 16)}, SCOPE)["bad rubrics"]["share"] == Spread((None,))
    kappas = {what: row["kappa"].splits for what, row in situation_kappas([first, second], SCOPE).items()}
    assert kappas["situation"][0] == pytest.approx(0.6)
    assert {axis: kappas[axis] for axis in ("user", "tools", "conduct")} == {
        "user": (None, None), "tools": (None, None), "conduct": (1.0, None)
    }  # fmt: skip
    shares_bad = by_situation([first.tests()[SCOPE], first.tests()[SCOPE]])
    assert {name: (row["sessions"], row["tests"], row["share"]) for name, row in shares_bad.items()} == {
        "correct": (2, 4, 0.0), "skipped-tool": (2, 4, 1.0)
    }  # fmt: skip
    records = by_rubric([first], SCOPE)
    assert {name: (row["sessions hit"], row["bad"], row["share"]) for name, row in records.items()} == {
        "1 good-0": (4, 1, 0.25), "1 good-1": (0, 0, None), "1 bad-0": (2, 1, 0.5), "1 bad-1": (1, 1, 1.0)
    }  # fmt: skip
    assert records["1 good-0"]["95%"] == pytest.approx((0.046, 0.699), abs=0.001)
