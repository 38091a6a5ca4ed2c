"""The formulas of PIPA's measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final

from tracejury.judges.checks.formula import Formula, Ratio
from tracejury.schemas.checks import ItemAnswer

Exchanges = Sequence[Sequence[ItemAnswer]]


def state_consistency(exchanges: Exchanges) -> Ratio:
    """S: consistent states of all states, pooled over exchanges."""
    return Ratio(_best(exchanges), sum(map(len, exchanges)))


def tool_efficiency(exchanges: Exchanges) -> Ratio:
    """A: (C_T - C_F) / (C_T + C_F) of C_T attempted calls, C_F of which failed."""
    attempted, succeeded = sum(map(len, exchanges)), _best(exchanges)
    return Ratio(succeeded, attempted + (attempted - succeeded))


def observation_alignment(exchanges: Exchanges) -> Ratio:
    """O: the mean of the share of aligned observations over the exchanges that have any."""
    observed = [answers for answers in exchanges if answers]
    return Ratio(fsum(_best([answers]) / len(answers) for answers in observed), len(observed))


def policy_adherence(exchanges: Exchanges) -> Ratio:
    """P: policies that were never violated; one violation anywhere is enough."""
    kept: dict[str, bool] = {}
    for answer in (answer for answers in exchanges for answer in answers):
        kept[answer.item] = kept.get(answer.item, True) and answer.best
    return Ratio(sum(kept.values()), len(kept))


def task_completion(exchanges: Exchanges) -> Ratio:
    """R: whether the task was completed, 0 or 1."""
    return Ratio(_best(exchanges), sum(map(len, exchanges)))


def _best(exchanges: Exchanges) -> int:
    return sum(answer.best for answers in exchanges for answer in answers)


FORMULAS: Final[Mapping[str, Formula]] = {
    "pipa-state": state_consistency,
    "pipa-tools": tool_efficiency,
    "pipa-observation": observation_alignment,
    "pipa-policy": policy_adherence,
    "pipa-completion": task_completion,
}
"""By check."""
