"""A confusion matrix of two classes and what is read off it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

RECALL_WEIGHT: Final = 2.0
"""The beta of F2: recall weighs twice (van Rijsbergen, Information Retrieval, 1979)."""

FIGURES: Final = ("precision", "recall", "f1", "f2", "accuracy")


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts; every figure is None where its denominator is 0: nothing was there to be right or wrong about."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """Counted from (it is so, it was said)."""
        counts = Counter(pairs)
        return cls(counts[True, True], counts[False, True], counts[True, False], counts[False, False])

    def __add__(self, other: Confusion) -> Confusion:
        """Pooled."""
        return Confusion(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    @property
    def total(self) -> int:
        """All that was counted."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def precision(self) -> float | None:
        """Share of what was said that is so: tp / (tp + fp)."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Share of what is so that was said: tp / (tp + fn)."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """2 tp / (2 tp + fp + fn)."""
        return self._f(1.0)

    @property
    def f2(self) -> float | None:
        """5 tp / (5 tp + fp + 4 fn)."""
        return self._f(RECALL_WEIGHT)

    @property
    def accuracy(self) -> float | None:
        """(tp + tn) / total."""
        return _ratio(self.tp + self.tn, self.total)

    def figures(self) -> dict[str, float]:
        """The defined figures, by name."""
        named = ((name, getattr(self, name)) for name in FIGURES)
        return {name: value for name, value in named if value is not None}

    def _f(self, beta: float) -> float | None:
        weight = beta * beta
        return _ratio((1 + weight) * self.tp, (1 + weight) * self.tp + self.fp + weight * self.fn)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
