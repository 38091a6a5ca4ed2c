"""Which traces are to be deleted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeleteQuery:
    """One trace, or a session, or what arrived of a service before then (unix nanos). `labels`: people's work, too."""

    trace_id: str = ""
    session: str = ""
    service: str = ""
    before: int = 0
    labels: bool = False
