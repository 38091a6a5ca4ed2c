"""The events that detecting counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracejury.schemas.verdicts import JudgedTrace


class DetectingObserver(Protocol):
    """Counts items, never logs one line an item. Called from the judging thread."""

    def judged(self, judged: JudgedTrace, cost: int) -> None:
        """A trace was judged, in `cost` nanoseconds."""

    def saved(self, judged: Sequence[JudgedTrace], now: int) -> None:
        """These are readable since `now` (unix nanos)."""

    def failed_trace(self) -> None:
        """A trace could not be judged or its outcome not be stored."""
