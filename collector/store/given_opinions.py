"""Opinions of judges on detectors' findings that this process has written, for the judging thread.

That thread holds traces in memory as it last stored them. What it writes next is to have the opinions given since, and
is to be later than they are. After a restart everything is read from the store. Those of other processes on a server
are read by `read_opinions`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.judges.verification import decided, verified
from tracejury.schemas.findings import Finding

from .deletions import Deletions

MOST: Final = 200_000
"""Findings that are remembered: far more than there are on traces that are held in memory."""

FindingKey = tuple[str, str, str]
"""Tenant, trace id, finding id."""


@dataclass(frozen=True, slots=True)
class ReviewedFinding:
    """A detectors' finding with an opinion, the version of the detectors that made it, and the stamps of its row."""

    finding: Finding
    version: str
    judged_at: int
    received: int


class GivenOpinions:
    """Any thread. Whoever writes detectors' findings holds `writing`."""

    def __init__(self, deletions: Deletions) -> None:
        self.writing = threading.RLock()
        self._deletions = deletions
        self._given: dict[FindingKey, ReviewedFinding] = {}

    def remember(self, reviewed: Iterable[ReviewedFinding]) -> None:
        """These are stored, or may be."""
        with self.writing:
            self._given.update({key_of(one.finding): one for one in reviewed})
            for key in list(self._given)[: max(len(self._given) - MOST, 0)]:
                del self._given[key]

    def on(self, stored: Mapping[str, Finding]) -> Mapping[str, Finding]:
        """The findings of a trace, by id, as the judging thread last stored them, with the opinions given since."""
        if not self._given:
            return stored
        return {i: _reviewed(finding, self._of(finding)) for i, finding in stored.items()}

    def stamped(self, finding: Finding, judged_at: int) -> tuple[Finding, int]:
        """A finding that was judged at a time, with the opinion on it and a time that is later than it was given."""
        one = self._of(finding) if self._given else None
        return (_reviewed(finding, one), max(judged_at, one.judged_at + 1)) if one else (finding, judged_at)

    def _of(self, finding: Finding) -> ReviewedFinding | None:
        """The finding as an opinion left it, unless its trace was deleted since."""
        one = self._given.get(key_of(finding))
        stays = one is not None and self._deletions.stays((finding.tenant, finding.trace_id), one.received)
        return one if stays else None


def key_of(finding: Finding) -> FindingKey:
    """The key of a finding."""
    return finding.tenant, finding.trace_id, finding.id


def _reviewed(finding: Finding, given: ReviewedFinding | None) -> Finding:
    if given is None or decided(finding):
        return finding
    said = given.finding
    return verified(finding, said.verification, said.verified_by, said.verification_reason)
