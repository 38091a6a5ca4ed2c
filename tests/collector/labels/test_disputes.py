"""Reasons to look at runs, over claims, opinions and scores at hand; on the real store: test_disputed.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.labels.disputes import SIGNALS, JudgeClaim, Known, PersonOpinion, Scored, disputes
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import DETECTORS

ONE, TWO = ("a", "1"), ("b", "1")
NO = Opinion.DISAGREE
SURE = 0.9


def claim(run: tuple[str, str] = ONE, **changes: Any) -> JudgeClaim:
    values: dict[str, Any] = {
        "run": run, "span_id": "s", "id": "f" + run[0], "fingerprint": "p" + run[0], "judge": "loops",
        "by": DETECTORS, "category": "Goal Deviation", "severity": Severity.HIGH, "confidence": SURE,
    }  # fmt: skip
    return JudgeClaim(**(values | changes))


def said(run: tuple[str, str], annotator: str, opinion: Opinion) -> PersonOpinion:
    return PersonOpinion(run, "f" + run[0], "", opinion, annotator, "loops", "Goal Deviation")


def whys(
    *claims: JudgeClaim, people: tuple[PersonOpinion, ...] = (), scored: tuple[Scored, ...] = ()
) -> list[tuple[str, str]]:
    return [(run[0], why) for run, why in disputes(Known(claims, people, scored, 0.38)).items()]


def test_more_people_who_contradict_go_first() -> None:
    """By people, then by the runs' ids."""
    three = tuple(said(TWO, n, o) for n, o in (("x", Opinion.AGREE), ("y", Opinion.DISAGREE), ("z", Opinion.AGREE)))
    two = (said(ONE, "x", Opinion.AGREE), said(ONE, "y", Opinion.DISAGREE))
    assert [run for run, _ in whys(claim(ONE), claim(TWO), people=two + three)] == ["b", "a"]
    assert [run for run, _ in whys(claim(ONE), claim(TWO), people=two)] == ["a"]


def test_people_contradict_each_other_on_findings_of_one_error() -> None:
    """Of one class of cause at one span, whoever said what of which; also one person does."""
    first = claim(judge="service-error", category="Service Errors")
    second = claim(judge="timeout-error", category="Timeout Issues", id="g")
    agrees = said(ONE, "x", Opinion.AGREE)
    for who in ("x", "y"):
        ((run, why),) = whys(first, second, people=(agrees, replace(agrees, finding_id="g", annotator=who, opinion=NO)))
        found = "service-error found (Service Errors) and timeout-error found (Timeout Issues)"
        assert (run, why) == ("a", f"people say agree and disagree of what {found}")
    apart = replace(second, span_id="t")
    ((_, why),) = whys(first, apart, people=(agrees, replace(agrees, finding_id="g", opinion=NO)))
    assert why == "x disagrees with what loops found (Goal Deviation)"


def test_judges_that_name_one_cause_differently_are_of_one_mind() -> None:
    """What they found is one error."""
    one = claim(judge="service-error", category="Service Errors")
    same = claim(judge="tool-calling", by="tool-calling", category="Formatting Errors", id="g")
    assert whys(one, same) == []
    assert whys(one, replace(same, judge="plan-quality")) != []
    best = (Scored(ONE, "goal", 3),)
    own = [claim(judge="goal", by="goal", id=str(n), category="Goal Deviation") for n in range(3)]
    assert whys(*own, scored=best)[0][1] == "goal scores it 3 of 3 and names an error of weight"


def test_a_judges_own_errors_of_weight_are_counted() -> None:
    """Those of others, of low severity, and those that do not show are none."""
    goal: dict[str, Any] = {"judge": "goal", "by": "goal"}
    best = (Scored(ONE, "goal", 3),)
    own = [claim(id=str(n), span_id=str(n), **goal) for n in range(2)]
    ((_, why),) = whys(*own, claim(id="other", span_id="9"), scored=best)
    assert why == "goal scores it 3 of 3 and names 2 errors of weight"
    assert whys(claim(**goal, severity=Severity.LOW), claim(**goal, confidence=0.1), scored=best) == []


def test_the_surest_detector_speaks_for_a_span() -> None:
    """Where LLM judges looked at the run and are silent at the span; the surest run goes first."""
    claims = (claim(confidence=0.5, judge="weak"), claim(confidence=0.8), claim(TWO, confidence=0.85))
    scored = (Scored(ONE, "goal", 2), Scored(TWO, "goal", 2))
    told = whys(*claims, scored=scored)
    assert [(run, why.split()[0]) for run, why in told] == [("b", "loops"), ("a", "loops")]
    seen = claim(judge="goal", by="goal", id="x")
    assert [run for run, _ in whys(*claims, seen, scored=scored)] == ["b"]


def test_the_least_sure_goes_first() -> None:
    """By how far a confidence is from the threshold."""
    told = whys(claim(ONE, confidence=0.44), claim(TWO, confidence=0.36), claim(("c", "1"), confidence=0.6))
    assert [run for run, _ in told] == ["b", "a"]


claims = st.builds(
    claim,
    st.sampled_from([ONE, TWO, ("a", "2")]),
    span_id=st.sampled_from("st"),
    judge=st.sampled_from(["loops", "goal"]),
    by=st.sampled_from([DETECTORS, "goal"]),
    category=st.sampled_from(["x", "y"]),
    severity=st.sampled_from(Severity),
    confidence=st.floats(0, 1),
)
opinions = st.builds(said, st.sampled_from([ONE, TWO]), st.sampled_from("xy"), st.sampled_from(Opinion))
scores = st.builds(Scored, st.sampled_from([ONE, TWO]), st.sampled_from(["loops", "goal"]), st.integers(0, 3))


@given(st.lists(claims), st.lists(opinions), st.lists(scores), st.randoms())
def test_reasons_do_not_depend_on_the_order_of_what_is_known(
    found: list[JudgeClaim], people: list[PersonOpinion], scored: list[Scored], random: Any
) -> None:
    """Each run has the strongest kind of reason that there is for it, whatever order the store answers in."""
    known = Known(found, people, scored, 0.38)
    told = disputes(known)
    for run in told:
        first = next(signal for signal in SIGNALS if any(one.run == run for one in signal(known)))
        assert told[run] == min(one for one in first(known) if one.run == run).why
    for items in (found, people, scored):
        random.shuffle(items)
    assert list(disputes(Known(found, people, scored, 0.38))) == list(told)
