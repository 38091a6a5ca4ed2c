"""Queries of scores that others give, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracejury.schemas.given_scores import GivenScore

from .reader import Position


@dataclass(frozen=True, slots=True)
class ScoreQuery:
    """Scores, latest arrival first; empty fields do not filter.

    `since`: unix nanos, of arrival. `waiting`: only those whose trace, span or session is not there yet. `score`: as
    `score_filter.given_score` reads it.
    """

    limit: int
    trace_id: str = ""
    span_id: str = ""
    session_id: str = ""
    name: str = ""
    source: str = ""
    score: Sequence[str] = ()
    since: int = 0
    waiting: bool = False
    before: Position | None = None


@dataclass(frozen=True, slots=True)
class ScoresOf:
    """The latest scores of one trace or session, and how many there are; where these are very many, a lower bound."""

    shown: Sequence[GivenScore] = ()
    count: int = 0

    @property
    def left(self) -> int:
        """How many are not shown."""
        return self.count - len(self.shown)
