"""Measures of a session from the answers to its checks' items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tracejury.schemas.checks import ItemAnswer

Formula = Callable[[Sequence[Sequence[ItemAnswer]]], "Ratio"]
"""A measure of a session: from the answers of its exchanges, in order, or of the session itself as the only member."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A measure as a quotient; a denominator of 0: not applicable. `told`: what the verdict says of it."""

    numerator: float
    denominator: float
    told: str = ""

    @property
    def value(self) -> float | None:
        """The quotient, in [0, 1]; None where the measure is not applicable."""
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure without the items that nothing verified, or with the best answer to them, and (`raw`) as answered."""

    verified: Ratio
    raw: Ratio
    ungrounded: int


def measured(formula: Formula, exchanges: Sequence[Sequence[ItemAnswer]], *, best: bool = False) -> Measured:
    """Both ways to count a measure over the answers of these exchanges. `best`: what is not verified counts as that."""
    verified = [
        [answer if answer.grounded else replace(answer, best=True) for answer in answers if answer.grounded or best]
        for answers in exchanges
    ]
    ungrounded = sum(not answer.grounded for answers in exchanges for answer in answers)
    return Measured(formula(verified), formula(exchanges), ungrounded)
