"""Whether the spans of played sessions arrived, asked of the collector's API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.client_requests import UnknownNameError

from .player import PlayedSession

PATIENCE: Final = 10.0
"""Seconds; exporters wait for 5 s by default."""
PAUSE: Final = 0.5
MOST_TRACES: Final = 100
"""Traces of a session that are looked at: one an exchange, and those of agents that do not continue it."""
NOT_ARRIVED: Final = "no span of the session arrived at the collector"
WITHOUT_AGENT: Final = (
    "no span of the agent arrived below the session's own: a callable must be instrumented in this process, "
    "an agent behind a URL must continue `traceparent`"
)


def with_arrival(
    client: ApiClient,
    played: Sequence[PlayedSession],
    *,
    patience: float = PATIENCE,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[PlayedSession]:
    """The sessions, those that were answered and whose spans do not arrive within about `patience` seconds as failed.

    Each is looked at once, however long that takes. `clock`: seconds.

    Raises:
        UnreachableError: no collector answers.
    """
    exchanges = {one.session.session_id: one.answered for one in played if not one.failure}
    missing = dict.fromkeys(exchanges, "")
    ends = clock() + patience
    while missing:
        for session_id, known in list(missing.items()):
            if known and clock() >= ends:
                break
            try:
                rows, _ = client.traces({"session": session_id}, MOST_TRACES)
            except UnknownNameError:  # lists name a session a moment after its first spans came
                rows = []
            spans = sum(row.spans for row in rows)
            missing[session_id] = WITHOUT_AGENT if spans >= exchanges[session_id] else NOT_ARRIVED
            if spans > exchanges[session_id]:
                del missing[session_id]
        if not missing or clock() >= ends:
            break
        wait(PAUSE)
    return [replace(one, failure=missing.get(one.session.session_id, one.failure)) for one in played]
