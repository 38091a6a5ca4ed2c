"""Shares of patterns as far as people confirm them: of the runs with an error of a pattern, those where it is right.

What judges miss is of no pattern: a missed error has a category and a span, no cause and no words of a rule. So only
what is reported in error is corrected, by drawn and reviewed runs in which the judges see the pattern. There an error
of the pattern counts as in calibrated rates: right where people mark it and nobody disagrees, else none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tracejury.judges.measures.ppi import Pair, confirmed_share
from tracejury.schemas.queries.patterns import PatternQuery, PatternRow
from tracejury.schemas.rates import RateQuery
from tracejury.schemas.text.counting import counted

from .calibration import ReviewedRun, found_errors, nobody_looked, truth_of
from .label_calibration import LabelCalibration
from .question import Question, exact

ENOUGH_WITH: Final = 10
"""Drawn and reviewed runs with the pattern without which its share is not calibrated."""


class PatternCalibration:
    """Calibrates shares of patterns by the current labels. Blocks."""

    def __init__(self, labels: LabelCalibration, tenant: str = "") -> None:
        self._labels, self._tenant = labels, tenant

    def __call__(self, query: PatternQuery, row: PatternRow) -> PatternRow:
        """The row of an answer to `query` with its calibrated share, or why there is none.

        Raises:
            RetryableError, StoreError: as other reading.
        """
        if row.share is None or not row.hits:
            return replace(row, uncalibrated="no run has it in this time")
        question = _question(query, row, self._tenant)
        if refused := self._labels.refused(question, ENOUGH_WITH):
            return replace(row, uncalibrated=refused.refused)
        runs, unseen = self._labels.sample(question)
        if unseen.strata:
            return replace(row, uncalibrated=nobody_looked(question, unseen.strata))
        pairs = pattern_pairs(question, runs)
        if len(pairs) < ENOUGH_WITH:
            drawn = f"of runs with it that the label queue drew, people reviewed {len(pairs)} and agree about them"
            return replace(row, uncalibrated=f"{drawn}; {counted(ENOUGH_WITH, 'such run')} are needed")
        return replace(row, calibrated=confirmed_share(row.share, pairs))


def pattern_pairs(question: Question, runs: Iterable[ReviewedRun]) -> list[Pair]:
    """What people say of the runs in which judges see the pattern; contested ones are left out."""
    pattern, judges = question.pattern, question.population
    return [
        Pair(truth, judge=True, weight=run.weight * run.fact.standings[judges].weight)
        for run in runs
        if any(error.pattern == pattern for error in found_errors(question, run.fact))
        and (truth := truth_of(e.label for e in run.errors if e.error and e.error.pattern == pattern)) is not None
    ]


def _question(query: PatternQuery, row: PatternRow, tenant: str) -> Question:
    """That about the runs with the pattern in the time of its share."""
    asked = RateQuery(query.asked_from, query.until, profile=query.profile, simulated=query.simulated)
    return replace(exact(asked, row.population, (), tenant=tenant), pattern=row.id)
