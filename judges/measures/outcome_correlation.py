"""Judges' scores beside the outcomes of traces: whether what a judge looks at goes with success.

"What is your agent's GPA?" holds logical consistency against the outcome of a task. With outcomes that are right or
wrong, Pearson's correlation is the point-biserial one (Tate, "Correlation between a discrete and a continuous
variable", 1954).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.judges.bootstrap import Interval, intervals

from .correlation import pearson, spearman

LEAST_TRACES: Final = 3
"""Fewer lie on a line by chance."""


@dataclass(frozen=True, slots=True)
class OutcomeCorrelation:
    """One judge's scores beside the outcomes of `n` traces. `reason`: why there are no figures, "" where there are.

    `intervals`: 95%, bootstrapped over traces, by "pearson" and "spearman".
    """

    judge: str
    n: int
    pearson: float | None
    spearman: float | None
    intervals: Mapping[str, Interval]
    reason: str = ""


def outcome_correlations(
    scores: Mapping[str, Mapping[str, float]], outcomes: Mapping[str, float]
) -> tuple[OutcomeCorrelation, ...]:
    """Each judge's, by name. `scores`: judge to trace to score; `outcomes`: trace to how well it came out."""
    return tuple(_correlation(judge, own, outcomes) for judge, own in sorted(scores.items()))


def _correlation(judge: str, scores: Mapping[str, float], outcomes: Mapping[str, float]) -> OutcomeCorrelation:
    pairs = [(scores[trace], outcomes[trace]) for trace in sorted(scores.keys() & outcomes.keys())]
    if reason := _undefined(pairs):
        return OutcomeCorrelation(judge, len(pairs), None, None, {}, reason)
    figures = _figures(pairs)
    return OutcomeCorrelation(
        judge, len(pairs), figures.get("pearson"), figures.get("spearman"), intervals(pairs, _figures)
    )


def _undefined(pairs: Sequence[tuple[float, float]]) -> str:
    if len(pairs) < LEAST_TRACES:
        return f"{len(pairs)} traces have a score and an outcome, at least {LEAST_TRACES} are needed"
    for side, named in enumerate(("score", "outcome")):
        if len({pair[side] for pair in pairs}) == 1:
            return f"every {named} is the same"
    return ""


def _figures(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    scores, outcomes = zip(*pairs, strict=True)
    both = {"pearson": pearson(scores, outcomes), "spearman": spearman(scores, outcomes)}
    return {name: value for name, value in both.items() if value is not None}
