"""The step that goes with failing: right where one was planted, silent where nothing but chance tells runs apart."""

from __future__ import annotations

from random import Random

import pytest

from tracejury.judges.divergence.aligning import StepDifference, align, difference
from tracejury.judges.divergence.failing import failing_step
from tracejury.judges.divergence.steps import FAILED, TraceStep
from tracejury.judges.divergence.wording import same_wording


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
    right = 0
    for seed in range(40):
        random = Random(seed)  # noqa: S311 - a simulation
        failing = [run(random, fails=True, planted=planted) for _ in range(30)]
        passing = [run(random, fails=False, planted=planted) for _ in range(60)]
        found, looked_at = failing_step(failing, passing)
        assert found
        assert looked_at > 10
        told = found.feature
        if (told.tool, told.kind, told.value) != (tool, kind, value):
            continue
        right += 1
        share = found.failing.hits / 30 - found.passing.hits / 60
        assert found.lift.value == pytest.approx(share)
        assert found.lift.low <= share <= found.lift.high
        assert (found.lift.value < 0) == (planted == "missing")
        does = [tool in [s.tool for s in runs[at] if not value or value in (s.outcome, f"days: {s.told.get('days')}")]
                for runs, at in zip((failing, passing), found.examples, strict=True)]  # fmt: skip
        assert does == [planted != "missing", planted == "missing"]
        assert found.step.tool == tool
    assert right >= 38


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
