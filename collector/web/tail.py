"""The tail of findings: each once, with a count of those skipped for a slow reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.queries.reader import ErrorQuery, LocatedFinding, Position

SHOWN: Final = 100
"""Findings that the page begins with, and the least that a poll returns where there are more."""

OVERLAP: Final = 10_000_000_000
"""Nanos by which a poll goes back: findings become readable in about the order of their times, not exactly."""

REMEMBERED: Final = 2_000
"""Findings remembered as sent; no poll goes back further."""

BACKLOG: Final = 500
"""Findings that may wait, about as many as the page keeps; of more, only the latest are sent."""

_PAGE: Final = 200
_START: Final = Position(0)
_END: Final = 2**63


@dataclass(frozen=True, slots=True)
class TailBatch:
    """The result of a poll, earliest first: `found`, then a count of `skipped` ones, then the `latest`.

    `more`: there is more already.
    """

    found: Sequence[LocatedFinding] = ()
    skipped: int = 0
    latest: Sequence[LocatedFinding] = ()
    more: bool = False


class Tail:
    """Findings of a query after a position. Blocks; for one thread at a time.

    It goes on by place (time and id), so nothing comes twice, however many there are of one moment. Once nothing is
    left, the next poll begins earlier, for what became readable late: what it has given it remembers, and never looks
    further back than it remembers.
    """

    def __init__(self, reader: StoredReader, query: ErrorQuery, place: Position) -> None:
        self._reader, self._query, self._place = reader, query, place
        self._given: dict[str, Position] = {}
        self._behind = False
        # The page that begins here shows as many before the place; older ones that it lacks are none that came late.
        before = reader.findings(replace(query, before=place, limit=SHOWN - 1))
        self._shown = frozenset(row.finding.id for row in before)
        self._floor = before[-1].position if len(before) == SHOWN - 1 else _START

    def knows(self, finding_id: str) -> bool:
        """Whether the page may show the finding."""
        return finding_id in self._given or finding_id in self._shown

    def leave(self, finding_ids: Iterable[str]) -> None:
        """These were not told: the next poll gives them again."""
        for finding_id in finding_ids:
            self._given.pop(finding_id, None)

    def poll(self) -> TailBatch:
        """New findings. Raises RetryableError: poll again then."""
        place = self._place if self._behind else self._earlier()
        found: list[LocatedFinding] = []
        while rows := self._reader.findings(replace(self._query, after=place, limit=_PAGE)):
            found += self._new(rows)
            place = rows[-1].position
            if len(rows) < _PAGE or len(found) >= SHOWN:
                break
        self._behind = len(rows) == _PAGE
        if not self._behind or self._waiting() <= BACKLOG:
            return TailBatch(found, more=self._behind)
        return self._skip(found)

    def _skip(self, found: Sequence[LocatedFinding]) -> TailBatch:
        since = self._place
        rows = self._reader.findings(replace(self._query, since=since.time, limit=SHOWN))
        latest = [row for row in reversed(rows) if row.position > since]
        if not latest:
            return TailBatch(found)
        self._floor, self._behind = latest[0].position, False
        skipped = self._waiting(self._floor)
        return TailBatch(found, skipped, self._new(latest), more=True)

    def _new(self, rows: Sequence[LocatedFinding]) -> list[LocatedFinding]:
        new = [row for row in rows if row.finding.id not in self._given]
        self._given.update((row.finding.id, row.position) for row in new)
        self._place = max(self._place, rows[-1].position)
        while len(self._given) > REMEMBERED:
            self._floor = max(self._floor, self._given.pop(next(iter(self._given))))
        return new

    def _earlier(self) -> Position:
        return max(Position(max(self._place.time - OVERLAP, 0)), self._floor)

    def _waiting(self, before: Position | None = None) -> int:
        return self._reader.count_findings(replace(self._query, after=self._place, before=before))


def write_place(place: Position) -> str:
    """A position as text, for URLs and event ids."""
    return f"{place.time}-{place.id}" if place.id else str(place.time)


def read_place(text: str) -> Position | None:
    """The position of a text by `write_place`, None for any other."""
    time, _, finding_id = text.partition("-")
    if not (time.isascii() and time.isdecimal()):
        return None
    return Position(min(int(time[:20]), _END), finding_id[:100])
