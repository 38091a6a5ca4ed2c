"""Rejected items of a request: their number and the reasons, for the partial success."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

_REASONS: Final = 5


@dataclass(frozen=True, slots=True)
class PartialSuccess:
    """The number of rejected items of an accepted request, and why; 0 and "" for a full success."""

    rejected: int = 0
    message: str = ""


class Rejections:
    """Counts the rejected items of one request by reason; `noun` names them in the plural."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._reasons: Counter[str] = Counter()

    def add(self, reason: str, count: int = 1) -> None:
        """Count `count` items rejected for `reason`."""
        self._reasons[reason] += count

    @property
    def count(self) -> int:
        """All rejected items."""
        return self._reasons.total()

    def message(self) -> str:
        """One line with the commonest reasons; empty where nothing was rejected."""
        if not self._reasons:
            return ""
        reasons = [f"{reason} ({count})" for reason, count in self._reasons.most_common(_REASONS)]
        if len(self._reasons) > _REASONS:
            reasons.append("…")
        return f"{self.count} {self._noun} rejected: {', '.join(reasons)}"
