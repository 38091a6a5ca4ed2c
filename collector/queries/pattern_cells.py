"""The cells that patterns are counted from, and examples of them, kept while the facts behind them stand."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from cachetools import LRUCache

from tracejury.collector.store.patterns import PatternCell, StoredPatterns
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.queries.patterns import PatternQuery

MOST_KEPT: Final = 4
"""Times and filters of which cells are kept."""

MOST_CELLS: Final = 100_000
"""Cells that are kept of one; where there are more, each question reads them."""


@dataclass(slots=True)
class _Kept:
    """By period: its mark and cells; and examples by pattern."""

    marks: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    cells: dict[int, list[PatternCell]] = field(default_factory=dict)
    examples: dict[str, Sequence[ErrorSummary]] = field(default_factory=dict)


class PatternCells:
    """Cells and examples of one tenant. Any thread; methods block, and raise RetryableError, StoreError.

    Each question asks for the marks of all periods and reads those anew whose mark has changed, so that what it gets is
    what a scan of the facts gives.
    """

    def __init__(self, stored: StoredPatterns) -> None:
        self._stored = stored
        self._kept: LRUCache[PatternQuery, _Kept] = LRUCache(MOST_KEPT)
        self._lock = threading.Lock()

    def read(self, query: PatternQuery) -> list[PatternCell]:
        """The cells of all periods."""
        key = _key(query)
        with self._lock:
            kept = self._kept.get(key) or _Kept()
            marks = self._stored.marks(key)  # before the cells: what is written meanwhile changes them the next time
            changed = {period for period in marks | kept.marks if marks.get(period) != kept.marks.get(period)}
            before = [cell for period in changed for cell in kept.cells.pop(period, ())]
            for cell in self._stored.cells(key, changed):
                kept.cells.setdefault(cell.period, []).append(cell)
            now = [cell for period in changed for cell in kept.cells.get(period, ())]
            for pattern in _changed(before, now):
                kept.examples.pop(pattern, None)
            kept.marks = marks
            cells = list(chain.from_iterable(kept.cells.values()))
            if len(cells) <= MOST_CELLS:
                self._kept[key] = kept
        return cells

    def examples(self, query: PatternQuery, patterns: Collection[str]) -> Mapping[str, Sequence[ErrorSummary]]:
        """The latest errors of these patterns, by pattern."""
        key = _key(query)
        with self._lock:
            kept = self._kept.get(key) or _Kept()
            kept.examples |= self._stored.errors(key, [one for one in patterns if one not in kept.examples])
            return {pattern: kept.examples[pattern] for pattern in patterns}


def _key(query: PatternQuery) -> PatternQuery:
    """What the cells depend on."""
    return replace(query, pattern="", state="", limit=0)


def _changed(before: Sequence[PatternCell], now: Sequence[PatternCell]) -> set[str]:
    """Patterns with other facts than before."""
    was, holds = ({(cell.pattern, cell.service, cell.period): cell.mark for cell in cells} for cells in (before, now))
    return {place[0] for place, _ in was.items() ^ holds.items()}
