"""The graph of a service's agents and tools: what is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallGraphQuery:
    """Calls in traces that arrived in [`since`, `until`) (unix nanos). `service` "": of all; `limit`: edges."""

    since: int
    until: int
    service: str = ""
    simulated: bool = False
    limit: int = 200
