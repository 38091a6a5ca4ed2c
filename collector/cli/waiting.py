"""Before a pipeline decides by what was found: wait until the traces in question are judged to their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..api.client import ApiClient

PATIENCE = 15.0
"""Seconds; a trace whose root has ended settles after 5 s of quiet by default."""
PAUSE = 0.25
LATEST = 1_000
_NARROWING = ("service", "agent", "since")


def wait_until_judged(
    client: ApiClient,
    filters: Mapping[str, str],
    *,
    patience: float = PATIENCE,
    wait: Callable[[float], None] = time.sleep,
) -> bool:
    """Whether no trace that `filters` concern is open any more, waiting up to about `patience` seconds for it.

    Of very many traces the latest `LATEST` are looked at. Raises NotFoundError for an unknown trace.
    """
    for _ in range(round(patience / PAUSE)):
        if not _open(client, filters):
            return True
        wait(PAUSE)
    return not _open(client, filters)


def _open(client: ApiClient, filters: Mapping[str, str]) -> bool:
    narrowing = {name: filters[name] for name in _NARROWING if name in filters}
    # The list has the state in which a trace was last judged, the trace itself the one that it has now.
    rows, _ = client.traces(narrowing, LATEST)
    wanted = filters.get("trace", "").strip().lower()
    if wanted:
        rows = [row for row in rows if row.trace_id == wanted]
        if not rows:
            return client.trace(wanted).state == "open"
    return any(row.state == "open" for row in rows)
