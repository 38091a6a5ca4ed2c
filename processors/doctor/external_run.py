"""An agent's run that stands in another trace, perhaps of another service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExternalRun:
    """A trace that `agent` leads; `start` and `end` in unix nanos by the clock of its own machine."""

    trace_id: str
    service: str
    agent: str
    start: int
    end: int
