"""The events that LLM judging counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracejury.judges.llm.case import Deliberation, Stage
from tracejury.judges.reviews.candidates import CandidatesReview
from tracejury.schemas.verdicts import JudgedSubject


class LlmJudgingObserver(Protocol):
    """Counts items, never logs one line an item. Any thread."""

    def judged(self, stage: Stage, said: Deliberation, seconds: float) -> None:
        """A case was judged, in so many seconds."""

    def detectors_checked(self, review: CandidatesReview) -> None:
        """Judges were asked about the detectors' errors in a run."""

    def saved(self, subjects: Sequence[JudgedSubject], now: int) -> None:
        """These are readable since `now` (unix nanos)."""

    def put_back(self, reason: str) -> None:
        """A run is to be tried again later."""
