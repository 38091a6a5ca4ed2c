"""Whether a session is good or bad, by the strength of each rubric in it: SCOPE's averages, SPUR's sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Final

from .rubric_set import Label, Rubric, RubricSet

FULL: Final = 10
"""The greatest strength; 0 where a rubric does not apply."""
MAKE_OR_BREAK_WEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class Weighing:
    """What counts of a set.

    The paper's ablations leave out `weights` (all are 1), or what is `make_or_break` (its weight stays). `veto`: a
    make-or-break rubric of that strength or more makes a session bad whatever else holds; 0: none does.
    """

    weights: bool = True
    make_or_break: bool = True
    veto: int = 0

    def weight(self, rubric: Rubric) -> int:
        """The weight w of the formula."""
        if not self.weights:
            return 1
        return MAKE_OR_BREAK_WEIGHT if rubric.make_or_break and self.make_or_break else rubric.weight


@dataclass(frozen=True, slots=True)
class LabelFound:
    """`good` and `bad`: the averages of SCOPE, the sums of SPUR. `vetoed_by`: names of the rubrics that forced bad."""

    good: float
    bad: float
    vetoed_by: tuple[str, ...] = ()

    @property
    def label(self) -> Label:
        """Good only where more speaks for it."""
        return "good" if self.good > self.bad and not self.vetoed_by else "bad"


def weighted_sum(rubrics: tuple[Rubric, ...], strengths: Mapping[str, int], weighing: Weighing) -> float:
    """Σ w_i · p_i / 10; a rubric without a strength has 0."""
    return fsum(weighing.weight(rubric) * strengths.get(rubric.name, 0) / FULL for rubric in rubrics)


def found_label(rubrics: RubricSet, strengths: Mapping[str, int], weighing: Weighing = Weighing()) -> LabelFound:
    """The label of a session. `strengths`: p of rubrics by name, 0 to 10.

    SCOPE ("Multi-Faceted Evaluation of Tool-Augmented Dialogue Systems"): avg_L = (1/N_L) Σ w_i · p_i/10 over all N_L
    rubrics of label L, those at 0 included, and good if avg_good - avg_bad > 0. SPUR: good if the sum of impacts of
    satisfied rubrics exceeds that of dissatisfied ones; a strength is the impact.
    """
    good, bad = rubrics.of("good"), rubrics.of("bad")
    if rubrics.method == "spur":
        return LabelFound(_sum(good, strengths), _sum(bad, strengths))
    struck = (r.name for r in bad if r.make_or_break and 0 < weighing.veto <= strengths.get(r.name, 0))
    return LabelFound(
        weighted_sum(good, strengths, weighing) / len(good),
        weighted_sum(bad, strengths, weighing) / len(bad),
        tuple(struck),
    )


def _sum(side: tuple[Rubric, ...], strengths: Mapping[str, int]) -> int:
    return sum(strengths.get(rubric.name, 0) for rubric in side)
