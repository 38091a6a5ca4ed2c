"""Which traces a process judges of whose rows others stored. Pure: times are unix nanos, and passed in.

At once: those that are open here, and those of a process that judges nothing, as far as they are of this one's share.
Any other only after nobody seems to judge it: of its rows, or of its end, there is no judgement for a while. There is
neither membership nor lock: several that take up one trace judge it to the same result.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.changes import NewChanges
from tracejury.processors.assemble import AssemblerConfig, TraceKey

WITHOUT_JUDGING: Final = "receive-"
"""The beginning of `StoredBy` of a process that judges nothing of what it stores."""
MOST: Final = 200_000
"""Traces that are watched; beyond it the oldest are left to the sweep."""


@dataclass(frozen=True, slots=True)
class TraceShare:
    """The traces of which this process is the first to judge what nobody else judges: part `index` of `of`."""

    index: int = 0
    of: int = 1

    def has(self, key: TraceKey) -> bool:
        """Whether a trace is of it."""
        return zlib.crc32(key[1].encode("utf-8", "surrogatepass")) % self.of == self.index


@dataclass(slots=True)
class _WatchedTrace:
    """The newest row of a trace, whether a root has ended, and until when others have time for it."""

    at: int
    received: int
    has_ended: bool
    until: int


class Takeover:
    """Watches the traces of others. `after`: how long they have for one; `is_open`: whether it is open here."""

    def __init__(
        self, config: AssemblerConfig, after: int, share: TraceShare, is_open: Callable[[TraceKey], bool]
    ) -> None:
        self._config, self._after, self._share, self._is_open = config, after, share, is_open
        self._watched: dict[TraceKey, _WatchedTrace] = {}

    def __len__(self) -> int:
        return len(self._watched)

    def note(self, changes: NewChanges, now: int) -> list[TraceKey]:
        """Watch what is new; returns the traces to judge at once."""
        asked: dict[TraceKey, None] = {}
        ends = {said.key: said for said in changes.judged if said.received and said.is_final}
        for row in changes.arrived:
            end = ends.get(row.key)
            is_done = end is not None and end.at >= row.at and end.received >= row.received
            is_ours = row.by.startswith(WITHOUT_JUDGING) and self._share.has(row.key)
            if self._is_open(row.key) or (is_ours and not is_done):
                asked[row.key] = None
                continue
            one = self._watched.setdefault(row.key, _WatchedTrace(0, 0, has_ended=False, until=now + self._after))
            one.at, one.received = max(one.at, row.at), max(one.received, row.received)
            one.has_ended |= row.is_final
        for said in changes.judged:
            if said.received and (watched := self._watched.get(said.key)) is not None:
                has_seen_all = said.at >= watched.at and said.received >= watched.received
                if has_seen_all and said.is_final:
                    del self._watched[said.key]
                    continue
                # Whoever judged it lives, and does so again: when more comes, or when it settles.
                quiet = self._config.quiet if watched.has_ended else self._config.rootless
                watched.until = now + self._after + (quiet if has_seen_all else 0)
        self.forget(asked)
        while len(self._watched) > MOST:
            del self._watched[next(iter(self._watched))]
        return list(asked)

    def left(self, now: int) -> list[TraceKey]:
        """The traces that nobody seems to judge."""
        return [key for key, one in self._watched.items() if one.until <= now]

    def forget(self, keys: Iterable[TraceKey]) -> None:
        """Watch these no longer."""
        for key in keys:
            self._watched.pop(key, None)
