"""The formulas of RUT's measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ....schemas.checks import ItemAnswer
from ...checks.formula import Formula, Ratio


def success(exchanges: Sequence[Sequence[ItemAnswer]]) -> Ratio:
    """SR: whether the task succeeded, 0 or 1."""
    answers = [answer for answers in exchanges for answer in answers]
    return Ratio(all(answer.best for answer in answers), 1) if answers else Ratio(0, 0)


FORMULAS: Final[Mapping[str, Formula]] = {"rut-oracle": success}
"""By check."""
