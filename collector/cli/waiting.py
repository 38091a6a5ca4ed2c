"""Before a pipeline decides by what was found: wait until the traces in question are judged to their end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.client_requests import Parameters
from tracejury.schemas.not_judged import NotJudged

PATIENCE = 15.0
"""Seconds; a trace whose root has ended settles after 5 s of quiet by default."""
PAUSE = 0.25
LATEST = 1_000
_NARROWING = ("service", "since", "attribute", "tag", "user")


@dataclass(frozen=True, slots=True)
class Waited:
    """How many traces are in question, how many of them are open still, and how many were never judged."""

    traces: int
    open: int
    unjudged: int = 0


def wait_until_judged(
    client: ApiClient,
    filters: Parameters,
    *,
    patience: float = PATIENCE,
    wait: Callable[[float], None] = time.sleep,
) -> Waited:
    """Wait up to about `patience` seconds until each trace that `filters` concern is judged, and none is open any more.

    A trace that is named is looked at alone; of very many the latest `LATEST` are. Raises NotFoundError for an unknown
    trace, ConfigError for another unknown name.
    """
    for _ in range(round(patience / PAUSE)):
        found = _look(client, filters)
        if not found.open and not found.unjudged:
            return found
        wait(PAUSE)
    return _look(client, filters)


def _look(client: ApiClient, filters: Parameters) -> Waited:
    if wanted := str(filters.get("trace", "")).strip():
        trace = client.first_part(wanted)
        return Waited(1, trace.state == "open", int(not trace.part.judged))
    narrowing = {name: filters[name] for name in _NARROWING if name in filters}
    # The list has the state in which a trace was last judged.
    rows, _ = client.traces(narrowing, LATEST)
    unjudged = sum(row.not_judged == NotJudged.WAITING for row in rows)
    if "agent" in filters and not unjudged:  # of what was never judged no agent is known
        rows, _ = client.traces({**narrowing, "agent": filters["agent"]}, LATEST)
    return Waited(len(rows), sum(row.state == "open" for row in rows), unjudged)
