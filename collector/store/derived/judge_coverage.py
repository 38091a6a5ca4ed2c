"""LLM judges' coverage of a run, or of all runs of a trace: who scored it, who is missing, with which weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.verdicts import Outcome

from .base import BaseWord
from .facts import Standing

OPEN, BY_HAND, NOT_ASKED = "open", "by-hand", "not-asked"

_ORDER: Final = (
    Outcome.FAILED.value, Outcome.OVER_BUDGET.value, Outcome.PENDING.value, BY_HAND, Outcome.SAMPLED_OUT.value,
    NOT_ASKED, Outcome.FILTERED.value, Outcome.NOT_APPLICABLE.value,
)  # fmt: skip
"""Why there is no rate, the weightiest reason first."""

_HARMLESS: Final = frozenset({Outcome.FILTERED.value, Outcome.NOT_APPLICABLE.value})
"""The judge was not to look, or there was nothing to judge: what others say counts all the same."""


@dataclass(frozen=True, slots=True)
class JudgeCoverage:
    """All judges of a run or trace. `scored`: those that gave a score, by name; `missed`: that were to and did not.

    `asked`: whether there is a word at all; judges that look at other runs only have none.
    """

    standing: Standing
    scored: tuple[tuple[str, float], ...] = ()
    missed: tuple[str, ...] = ()
    asked: bool = True

    @property
    def left_out(self) -> bool:
        """Whether nobody was to look, or there was nothing to judge."""
        return self.standing.why in _HARMLESS


def run_coverage(words: Iterable[BaseWord], scored: frozenset[tuple[str, str]]) -> JudgeCoverage:
    """Coverage of one run, from the last word of each judge on it; `scored`: (run id, judge) with a score."""
    reasons: dict[str, str] = {}
    weights: dict[str, float] = {}
    spoken = sorted(words, key=lambda w: w.judge)
    for word in spoken:
        if word.outcome is Outcome.SUPERSEDED:
            continue
        if word.outcome not in (Outcome.DONE, Outcome.CACHED):
            reasons[word.judge] = word.outcome.value
        elif (word.subject_id, word.judge) not in scored:
            reasons[word.judge] = Outcome.FAILED.value
        elif word.probability <= 0:
            reasons[word.judge] = BY_HAND
        else:
            weights[word.judge] = 1 / word.probability
    missed = tuple(sorted(judge for judge, why in reasons.items() if why not in _HARMLESS))
    standing = Standing(max(weights.values()), "") if weights and not missed else Standing(0.0, _why(reasons.values()))
    return JudgeCoverage(standing, tuple(sorted(weights.items())), missed, bool(spoken))


def trace_coverage(runs: Sequence[JudgeCoverage]) -> JudgeCoverage:
    """Coverage of a trace: every run to be judged must have been, by all of its judges, and at least one was.

    Runs that no judge looks at, such as sub-agents where all judges are those of managers, keep no trace out: the
    ledger has a word on every run of a closed trace for each judge that applies to it, so no word is no task. One judge
    counts by itself where none of the runs that it was to score is left. The least likely run decides the weight:
    whether runs of one trace are in the sample is one decision.
    """
    runs = [said for said in runs if said.asked]
    missed = tuple(sorted({judge for said in runs for judge in said.missed}))
    weights: dict[str, float] = {}
    for said in runs:
        for judge, weight in said.scored:
            weights[judge] = max(weight, weights.get(judge, 0.0))
    scored = tuple(sorted((judge, weight) for judge, weight in weights.items() if judge not in missed))
    asked = [said.standing for said in runs if not said.left_out]
    if asked and all(standing.weight for standing in asked):
        return JudgeCoverage(Standing(max(s.weight for s in asked)), scored, missed)
    return JudgeCoverage(Standing(0.0, _why(said.standing.why for said in runs if said.standing.why)), scored, missed)


def _why(reasons: Iterable[str]) -> str:
    found = set(reasons)
    return next((reason for reason in _ORDER if reason in found), NOT_ASKED)
