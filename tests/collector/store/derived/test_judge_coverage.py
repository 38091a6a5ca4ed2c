"""What the words of LLM judges mean for rates: a table."""

from __future__ import annotations

import pytest

from tracejury.collector.store.derived.base import BaseWord
from tracejury.collector.store.derived.judge_coverage import JudgeCoverage, run_coverage, trace_coverage
from tracejury.schemas.verdicts import Outcome

DONE = Outcome.DONE


def said(*words: tuple[str, Outcome, float], scored: str = "abc") -> JudgeCoverage:
    """Of run r; `scored`: names of judges whose verdict has a score."""
    return run_coverage([BaseWord("r", *word) for word in words], frozenset(("r", judge) for judge in scored))


@pytest.mark.parametrize(
    ("words", "weight", "why"),
    [
        ([], 0.0, "not-asked"),
        ([("a", DONE, 1.0)], 1.0, ""),
        ([("a", Outcome.CACHED, 0.25)], 4.0, ""),
        ([("a", DONE, 1.0), ("b", DONE, 0.5)], 2.0, ""),
        ([("a", DONE, 1e-6)], 1e6, ""),
        ([("a", DONE, 0.0)], 0.0, "by-hand"),
        ([("a", DONE, 1.0), ("b", DONE, 0.0)], 0.0, "by-hand"),
        ([("a", DONE, 1.0), ("b", Outcome.NOT_APPLICABLE, 1.0)], 1.0, ""),
        ([("a", DONE, 1.0), ("b", Outcome.FILTERED, 1.0)], 1.0, ""),
        ([("a", DONE, 1.0), ("b", Outcome.SUPERSEDED, 1.0)], 1.0, ""),
        ([("a", DONE, 1.0), ("b", Outcome.FAILED, 1.0)], 0.0, "failed"),
        ([("a", DONE, 1.0), ("b", Outcome.PENDING, 1.0)], 0.0, "pending"),
        ([("a", DONE, 1.0), ("b", Outcome.OVER_BUDGET, 1.0)], 0.0, "over-budget"),
        ([("a", Outcome.PENDING, 1.0), ("b", Outcome.FAILED, 1.0)], 0.0, "failed"),
        ([("a", Outcome.SAMPLED_OUT, 1.0)], 0.0, "sampled-out"),
        ([("a", Outcome.FILTERED, 0.0)], 0.0, "filtered"),
        ([("a", Outcome.NOT_APPLICABLE, 1.0)], 0.0, "not-applicable"),
        ([("a", Outcome.NOT_APPLICABLE, 1.0), ("b", Outcome.FILTERED, 1.0)], 0.0, "filtered"),
        ([("x", DONE, 1.0)], 0.0, "failed"),
        ([("a", DONE, 1.0), ("x", DONE, 1.0)], 0.0, "failed"),
    ],
)
def test_a_run(words: list[tuple[str, Outcome, float]], weight: float, why: str) -> None:
    """All judges that were to look must have scored it, or had nothing to judge; `x` gave no score."""
    standing = said(*words).standing
    assert (standing.weight, standing.why) == (weight, why)


def test_each_judge_has_a_weight_of_its_own() -> None:
    """Also where another one's failure keeps the run out of the common rate."""
    found = said(("a", DONE, 0.5), ("b", Outcome.FAILED, 0.5), ("c", Outcome.NOT_APPLICABLE, 0.5))
    assert (found.scored, found.missed) == ((("a", 2.0),), ("b",))


@pytest.mark.parametrize(
    ("runs", "weight", "why"),
    [
        ([], 0.0, "not-asked"),
        ([said(("a", DONE, 1.0))], 1.0, ""),
        ([said(("a", DONE, 1.0)), said(("a", DONE, 0.1))], 10.0, ""),
        ([said(("a", DONE, 1.0)), said(("a", Outcome.FILTERED, 0.0))], 1.0, ""),
        ([said(("a", DONE, 1.0)), said(("a", Outcome.NOT_APPLICABLE, 1.0))], 1.0, ""),
        ([said(("a", DONE, 1.0)), said(("a", Outcome.SAMPLED_OUT, 0.1))], 0.0, "sampled-out"),
        ([said(("a", DONE, 1.0)), said()], 1.0, ""),
        ([said(("a", DONE, 0.5)), said(), said(("a", Outcome.FAILED, 0.5))], 0.0, "failed"),
        ([said(("a", DONE, 1.0)), said(("a", Outcome.SUPERSEDED, 1.0))], 0.0, "not-asked"),
        ([said(), said()], 0.0, "not-asked"),
        ([said(("a", Outcome.NOT_APPLICABLE, 1.0)), said()], 0.0, "not-applicable"),
        ([said(("a", Outcome.FILTERED, 0.0))], 0.0, "filtered"),
    ],
)
def test_a_trace(runs: list[JudgeCoverage], weight: float, why: str) -> None:
    """Every run that was to be looked at must have been; the least likely gives the weight; others do not matter."""
    standing = trace_coverage(runs).standing
    assert (standing.weight, standing.why) == (weight, why)


def test_a_judge_of_a_trace_counts_where_it_missed_none_of_its_runs() -> None:
    """One that failed at one run has not judged the trace."""
    found = trace_coverage(
        [said(("a", DONE, 1.0), ("b", DONE, 0.5)), said(("a", DONE, 0.25), ("b", Outcome.FAILED, 1.0))]
    )
    assert (found.scored, found.missed) == ((("a", 4.0),), ("b",))
