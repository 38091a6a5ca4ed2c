"""The step that goes with failing: right where one was planted, silent where nothing but chance tells runs apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from store_parts import a_judged_trace, a_run

from tracejury.judges.divergence.aligning import StepDifference, align, difference
from tracejury.judges.divergence.failing import failing_step
from tracejury.judges.divergence.steps import FAILED, TraceStep, steps_of
from tracejury.judges.divergence.wording import same_argument, same_wording
from tracejury.schemas.trajectory import Turn, TurnKind


def step(tool: str, result: str = "", outcome: str = "", agent: str = "agent", **told: str) -> TraceStep:
    failure = outcome and "broken"
    return TraceStep(
        agent, tool, "", outcome, result or failure, "trace", f"{tool}-span", told, failure, "" if failure else result
    )


def run(random: Random, *, fails: bool, planted: str) -> list[TraceStep]:
    """Two to five look-ups in any order, a booking, a check, the answer; `planted` says what failing runs do."""
    steps = [step("search", query=random.choice("abc")) for _ in range(random.randint(1, 4))]
    steps.insert(random.randint(0, len(steps)), step("get_user", result=f"user {random.randint(1, 3)}"))
    wrong = fails and random.random() < 0.8
    days = "30" if wrong and planted == "arguments" else random.choice(["10", "20"])
    steps.append(step("book", outcome=f"{FAILED}: timeout" if wrong and planted == "outcome" else "", days=days))
    if not (wrong and planted == "missing"):
        steps.append(step("verify"))
    if wrong and planted == "step":
        steps.append(step("cancel"))
    return [*steps, step("", f"Done {random.random()}")]


@pytest.mark.parametrize(
    ("planted", "tool", "kind", "value"),
    [
        ("arguments", "book", StepDifference.ARGUMENTS, "days: 30"),
        ("outcome", "book", StepDifference.OUTCOME, f"{FAILED}: timeout"),
        ("missing", "verify", StepDifference.STEP, ""),
        ("step", "cancel", StepDifference.STEP, ""),
    ],
)
def test_the_planted_step_is_found(planted: str, tool: str, kind: StepDifference, value: str) -> None:
    """Four of five failing runs do it: among 8 of them it is mostly found, among 30 nearly always."""
    right, elsewhere = dict.fromkeys((8, 30), 0), 0
    for seed, runs in product(range(40), right):
        random = Random(seed)  # noqa: S311 - a simulation
        failing = [run(random, fails=True, planted=planted) for _ in range(runs)]
        passing = [run(random, fails=False, planted=planted) for _ in range(2 * runs)]
        found, looked_at = failing_step(failing, passing)
        assert looked_at
        if found is None:
            continue
        told = found.feature
        if (told.tool, told.kind, told.value) != (tool, kind, value):
            elsewhere += 1
            continue
        right[runs] += 1
        share = found.failing.hits / runs - found.passing.hits / (2 * runs)
        assert found.lift.value == pytest.approx(share)
        assert found.lift.low <= share <= found.lift.high
        assert (found.lift.value < 0) == (planted == "missing")
        does = [tool in [s.tool for s in runs[at] if not value or value in (s.outcome, f"days: {s.told.get('days')}")]
                for runs, at in zip((failing, passing), found.examples, strict=True)]  # fmt: skip
        assert does == [planted != "missing", planted == "missing"]
        assert found.step.tool == tool
    assert right[8] >= 28
    assert right[30] >= 38
    assert elsewhere <= 3


def test_chance_is_called_a_divergence_in_at_most_four_percent() -> None:
    told = 0
    for seed in range(300):
        random = Random(seed)  # noqa: S311 - a simulation
        runs = [run(random, fails=False, planted="") for _ in range(60)]
        told += failing_step(runs[:20], runs[20:])[0] is not None
    assert told <= 0.04 * 300 + 6
    assert failing_step([], runs) == (None, 0)
    assert failing_step(runs, []) == (None, 0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("length of the Rhine in km", "length of the Elbe in km", False),
        ("Rhine, length in km", "length in km: rhine", True),
        ("The Rhine (1,230 km) is longer than the Elbe (1094 km) by 136 km.",
         "By 136 km the Rhine is longer: it has 1230 km, the Elbe 1094 km.", True),
        ("The Rhine (1230 km) is longer than the Elbe (1094 km) by 136 km.",
         "The Rhine (1230 km) is longer than the Elbe (1112 km) by 118 km.", False),
        ("Your order was cancelled and you get your money back within days",
         "Unfortunately nothing could be found, so please tell me your number again", False),
        ("", "something", False),
        ("x" * 30_000, "x" * 30_001, False),
    ],
)  # fmt: skip
def test_wording_is_no_difference(one: str, other: str, *, same: bool) -> None:
    assert same_wording(one, other) is same
    assert same_wording(other, one) is same


def test_steps_are_aligned_after_the_first_difference() -> None:
    base = [step("a"), step("b", days="1"), step("c"), step("", "Here is the whole of it, all 3 of them")]
    more = [base[0], base[0], *base[1:]]
    told = align(base, more)
    assert (told.at, told.left) == (1, 0)
    assert told.divergence
    assert told.divergence.difference is StepDifference.STEP
    assert [(p.first and p.first.tool, p.second and p.second.tool, p.difference) for p in told.pairs] == [
        ("a", "a", None), (None, "a", StepDifference.STEP), ("b", "b", None), ("c", "c", None), ("", "", None),
    ]  # fmt: skip
    ended = align(base, base[:2]).divergence
    assert ended
    assert (ended.difference, ended.second) == (StepDifference.ENDS, None)
    assert align(base, base).divergence is None
    assert align([], []).pairs == []
    assert difference(step("b", days="1"), step("b", days="2")) is StepDifference.ARGUMENTS
    assert difference(step("b", "4 items"), step("b", "5 items")) is StepDifference.RESULT
    assert difference(step("", "It is 4"), step("", "It is 5")) is StepDifference.ANSWER
    assert difference(step("b"), step("b", agent="")) is None


def test_agents_below_each_other_without_end_are_read() -> None:
    """Thousands of them, in a circle, too."""
    many = 3_000
    turns = [Turn(0, TurnKind.ACT, None, (), (f"{(i + 1) % many}",)) for i in range(many)]
    runs = tuple(
        a_run(id=f"{i}", name="agent", parent_id=f"{i - 1}" if i else "", turns=(turns[i],), answer=f"answer {i}")
        for i in range(many)
    )
    trace = a_judged_trace(runs=runs).trace
    assert sorted(step.result for step in steps_of([trace])) == sorted(f"answer {i}" for i in range(many))
    hostile = [step(random.choice("ab")) for random in [Random(1)] for _ in range(5_000)]  # noqa: S311
    other = [step(random.choice("ab")) for random in [Random(2)] for _ in range(5_000)]  # noqa: S311
    assert align(hostile, other).left > 9_000


def of_one_reply(*steps: TraceStep) -> list[TraceStep]:
    """As they are read: sorted by their arguments."""
    return sorted((replace(one, reply="r") for one in steps), key=lambda one: (one.tool, sorted(one.told.items())))


def test_calls_of_one_reply_have_no_order() -> None:
    """Another wording, and another argument of one of them, sort them otherwise."""
    good = of_one_reply(step("search", query="the area of Berlin"), step("search", query="population of Berlin"))
    reworded = of_one_reply(step("search", query="area of Berlin, the"), step("search", query="population of Berlin"))
    assert align(good, reworded).divergence is None
    wrong = of_one_reply(step("search", query="zoo"), step("search", query="population of Berlin"))
    for first, second in ((good, wrong), (wrong, good)):
        found = align(first, second)
        assert found.at == 1
        assert found.divergence is not None
        assert found.divergence.difference is StepDifference.ARGUMENTS
        assert {s.told["query"] for s in (found.divergence.first, found.divergence.second) if s} == {
            "zoo", "the area of Berlin",
        }  # fmt: skip
    missing = align([*good, step("book")], [good[1], step("book")])
    assert missing.divergence is not None
    assert missing.divergence.difference is StepDifference.STEP


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("-5", "5", False),
        ("3.0", "3", True),
        ("1.5", "15", False),
        ("2024-01-05", "2024-01-05T", False),
        ("from 3-5", "from 3-5", True),
        ("SELECT a FROM b WHERE c > 5 AND d < 7 ORDER BY e", "SELECT a FROM b WHERE c < 5 AND d > 7 ORDER BY e", False),
        ("the area of Berlin", "area of Berlin, the", True),
    ],
)
def test_arguments_are_the_same_but_for_wording(one: str, other: str, same: bool) -> None:  # noqa: FBT001
    assert same_argument(one, other) is same
    assert same_argument(other, one) is same
