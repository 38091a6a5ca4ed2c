"""The overview's figures over memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracejury.schemas.queries.pipeline_stats import Timeliness, VerifierSeen, VersionSeen
from tracejury.schemas.verdicts import Outcome


@dataclass
class MemoryPipelineStats:
    """Answers with what was put in."""

    late: Timeliness = field(default_factory=lambda: Timeliness(0, None, None))
    new: list[str] = field(default_factory=list)
    seen: list[VersionSeen] = field(default_factory=list)
    words: dict[str, dict[Outcome, int]] = field(default_factory=dict)
    looked: list[VerifierSeen] = field(default_factory=list)

    def timeliness(self, since: int, until: int, service: str = "") -> Timeliness:  # noqa: ARG002  the protocol's signature
        """What was put in."""
        return self.late

    def new_services(self, since: int, limit: int) -> Sequence[str]:  # noqa: ARG002  likewise
        """What was put in."""
        return self.new[:limit]

    def outcomes(
        self,
        since: int,  # noqa: ARG002  likewise
        until: int,  # noqa: ARG002  likewise
        service: str = "",  # noqa: ARG002  likewise
    ) -> Mapping[str, Mapping[Outcome, int]]:
        """What was put in."""
        return self.words

    def verifiers(
        self,
        since: int,  # noqa: ARG002  likewise
        until: int,  # noqa: ARG002  likewise
        service: str = "",  # noqa: ARG002  likewise
    ) -> Sequence[VerifierSeen]:
        """What was put in."""
        return self.looked

    def versions(
        self,
        judge: str,  # noqa: ARG002  likewise
        since: int,  # noqa: ARG002  likewise
        until: int,  # noqa: ARG002  likewise
        service: str = "",  # noqa: ARG002  likewise
    ) -> Sequence[VersionSeen]:
        """What was put in."""
        return self.seen
