"""Measures of a session from the answers to its checks' items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracejury.schemas.checks import ItemAnswer

Formula = Callable[[Sequence[Sequence[ItemAnswer]]], "Ratio"]
"""A measure of a session: from the answers of its exchanges, in order, or of the session itself as the only member."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A measure as a quotient; a denominator of 0: not applicable."""

    numerator: float
    denominator: float

    @property
    def value(self) -> float | None:
        """The quotient, in [0, 1]; None where the measure is not applicable."""
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure without the items that nothing verified, and (`raw`) with them as failed."""

    verified: Ratio
    raw: Ratio
    ungrounded: int


def measured(formula: Formula, exchanges: Sequence[Sequence[ItemAnswer]]) -> Measured:
    """Both ways to count a measure over the answers of these exchanges."""
    verified = [[answer for answer in answers if answer.grounded] for answers in exchanges]
    left_out = sum(map(len, exchanges)) - sum(map(len, verified))
    return Measured(formula(verified), formula(exchanges), left_out)
