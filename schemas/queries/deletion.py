"""Which traces are to be deleted."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury.schemas.receipts import DeletionKind


@dataclass(frozen=True, slots=True)
class DeleteQuery:
    """One trace, or a session, or a user's, or what arrived of a service before then (unix nanos).

    `labels`: people's work, too; of a user it always is.
    """

    trace_id: str = ""
    session: str = ""
    service: str = ""
    before: int = 0
    labels: bool = False
    user: str = ""

    @property
    def kind(self) -> DeletionKind:
        """What is asked for."""
        if self.trace_id:
            return DeletionKind.TRACE
        if self.user:
            return DeletionKind.USER
        return DeletionKind.SESSION if self.session else DeletionKind.SERVICE
