"""Which sessions were good by scores of others, as far as people have said that these tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.scores import StoredScores
from tracejury.schemas.annotations import ScoreOutcome, SessionLabel
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.score_filter import meets

from .patterns import MOST_LABELS
from .reader import Labels

SCORED: Final = "scores"
"""The annotator of labels that repeat what scores say."""


@dataclass(frozen=True, slots=True)
class ScoreOutcomes:
    """Outcomes of one tenant's sessions. Blocks, and raises RetryableError, StoreError."""

    scores: StoredScores
    labels: Labels

    def of_sessions(self, service: str) -> Mapping[tuple[str, str], bool | None]:
        """Whether sessions were good, by service ("": of all) and session, a trace without one as its own.

        None: its scores contradict each other; nobody is outvoted. Without a choice of a person it is empty.
        """
        chosen: dict[str, str] = {}
        for label in self.labels.find(ScoreOutcome, LabelQuery(MOST_LABELS)):  # the latest first
            chosen.setdefault(label.name, label.good)
        found: dict[tuple[str, str], bool | None] = {}
        for owner, session, name, value, label_said in self.scores.of_sessions(sorted(chosen), service):
            good = meets(chosen[name], value, label_said)
            found[owner, session] = good if found.get((owner, session), good) is good else None
        return found

    def as_labels(self, asked: LabelQuery, now: int) -> Sequence[SessionLabel]:
        """Labels of the sessions of the question that nobody has labelled, changed `now` (unix nanos)."""
        if asked.trace_id or asked.annotator not in ("", SCORED):
            return ()
        people = self.labels.find(SessionLabel, LabelQuery(MOST_LABELS, service=asked.service))
        labelled = {(label.service, label.session_id) for label in people}
        return [
            SessionLabel(annotator=SCORED, service=service, session_id=session, good=good, changed_at=now).identified()
            for (service, session), good in sorted(self.of_sessions(asked.service).items())
            if good is not None and asked.session_id in ("", session) and (service, session) not in labelled
        ]
