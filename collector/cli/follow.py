"""New errors as they come, each once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.client_requests import Parameters
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.wire.errors import ErrorJson

PAUSE = 0.5
OVERLAP = timedelta(seconds=10)
"""Errors become readable in about the order of their times, not exactly: each look goes back this far."""


class Follower:
    """Looks again and again, from `since` on (ISO 8601; without it from now on).

    Remembers the errors of the last `OVERLAP` only: what it has shown before that, it never asks for again. An error
    that comes with a further finding, or under another id, is told by the findings that it had.
    """

    def __init__(self, client: ApiClient, filters: Parameters, since: str = "") -> None:
        self._client = client
        self._filters = dict(filters)
        self._after = since
        self._seen: dict[str, datetime] = {}
        self._earliest: datetime | None = None

    def look(self) -> Iterator[ErrorJson]:
        """The errors since the last call, earliest first. Raises what the client raises; call it again then."""
        if not self._after:
            rows, self._after = self._client.errors_after(self._filters, "now")
            yield from self._fresh(rows)
        rows, cursor = self._client.errors_after(self._filters, self._after)
        while rows:
            yield from self._fresh(rows)
            rows, cursor = self._client.errors_after(self._filters, cursor)
        self._advance()

    def _fresh(self, rows: list[ErrorJson]) -> Iterator[ErrorJson]:
        for row in rows:
            moment = datetime.fromisoformat(row.first_seen or "1970-01-01T00:00:00Z")
            new = self._seen.keys().isdisjoint(row.finding_ids)
            self._seen |= dict.fromkeys(row.finding_ids, moment)
            self._earliest = self._earliest or moment
            if new:
                yield row

    def _advance(self) -> None:
        if self._earliest is None:
            return
        start = max(self._seen.values()) - OVERLAP
        if start > self._earliest:
            self._after = start.isoformat()
            self._seen = {item: moment for item, moment in self._seen.items() if moment >= start}


def follow(
    follower: Follower, *, on_gap: Callable[[str], None], wait: Callable[[float], None] = time.sleep
) -> Iterator[ErrorJson]:
    """Errors without end. Once the collector has answered, its going away is told to `on_gap` and waited out.

    Raises:
        RetryableError: no collector answers at the first look.
    """
    answered = gap = False
    while True:
        try:
            yield from follower.look()
            answered, gap = True, False
        except RetryableError as error:
            if not answered:
                raise
            if not gap:
                on_gap(f"{error}; waiting for it")
            gap = True
        wait(PAUSE)
