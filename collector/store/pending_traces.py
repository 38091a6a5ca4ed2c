"""Traces that have stored spans and were never judged: lists show them, too.

Each gets a row in `traces` that says as much as its spans do, with 0 as the time of its judging: any judging replaces
it. The rows are written of traces that have waited for `AFTER`: most are judged before, and an insert takes eight
milliseconds of CPU time, whatever it holds.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from tracejury.processors.assemble import TraceKey

from .scope import TENANT

AFTER: Final = 500_000_000
"""Nanoseconds after its first commit for which a trace may wait without a row."""

MOST: Final = 1000
"""Traces that are named in one statement; more are looked for by their arrival."""

JUDGED: Final = "JudgedAt > 0"
"""The condition on rows of `traces` that a judging wrote."""

DERIVED: Final = (
    f"({JUDGED} AND (JudgedAt >= (SELECT max(Since) FROM underived FINAL WHERE {TENANT}) "
    f"OR TraceId <= (SELECT min(After) FROM underived FINAL WHERE {TENANT})))"
)
"""The condition on rows of `traces` whose errors are derived; see `derived/rederiving.py`."""

LOOKED_AT: Final = f"({DERIVED} AND NotJudged = '')"
"""The condition on rows of `traces` that judges have looked at."""


@dataclass(frozen=True, slots=True)
class UnlistedTraces:
    """Traces that lists may lack: those of `keys`, and where `since` is given all that arrived since (unix nanos)."""

    keys: Collection[TraceKey]
    since: int | None


class PendingTraces:
    """Traces whose spans this process stored and that lists may lack; safe from any thread.

    Those of an earlier process, and any beyond `MOST`, are looked for in the store.
    """

    def __init__(self) -> None:
        self.listing = threading.Lock()
        """Held while rows are written."""
        self._keys: dict[TraceKey, int] = {}
        self._since: int | None = 0
        self._lock = threading.Lock()

    def arrived(self, keys: Iterable[TraceKey], at: int) -> None:
        """Spans of these were committed, with that time of arrival (unix nanos)."""
        with self._lock:
            for key in keys:
                self._keys.setdefault(key, at)
            if len(self._keys) > MOST:
                self._look_since(min(self._keys.values()))
                self._keys.clear()

    def judged(self, keys: Iterable[TraceKey]) -> None:
        """These have the row of a judging."""
        with self._lock:
            for key in keys:
                self._keys.pop(key, None)

    def look_since(self, since: int) -> None:
        """There may be others that arrived since then (unix nanos)."""
        with self._lock:
            self._look_since(since)

    def take(self, before: int) -> UnlistedTraces:
        """Traces that lists may lack, of this process those that arrived before then (unix nanos).

        They are then no longer remembered.
        """
        with self._lock:
            taken = UnlistedTraces([key for key, at in self._keys.items() if at < before], self._since)
            for key in taken.keys:
                del self._keys[key]
            self._since = None
            return taken

    def _look_since(self, since: int) -> None:
        self._since = since if self._since is None else min(since, self._since)
