"""The health of a store in use: which of its data parts are lost, and which traces lost spans with them."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from tracejury.schemas.errors import TracejuryError

from .client import UNREADABLE, Store
from .damage import LostSpans, detached_parts, lost_spans
from .opening import RETAINED
from .parts import (
    ActivePart,
    PartRecord,
    Rows,
    active_parts,
    by_table,
    missing,
    partition_of,
    record_file,
    with_rows_left,
)
from .repair import is_readable
from .retention import Retention

log = logging.getLogger(__name__)

NAMED: Final = 5
"""Parts and traces that a message names."""

RECHECK_PAUSE: Final = 10
"""How many times as long as a check of a part took is waited for before the next: a check reads all of it."""

_WEEK: Final = re.compile(r"\d{8}\Z")


class StoreHealth:
    """Looks for lost data parts. One thread looks; any thread asks for `problems`."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds."""
        self._store, self._clock = store, clock
        self._recheck_at, self._writing = clock(), threading.Lock()
        file = record_file(store)
        self._record = PartRecord.read(file) if file else None
        self._recorded = self._record.parts if self._record else {}
        self._parts: tuple[str, ...] = ()
        self._traces = ""

    def problems(self) -> Sequence[str]:
        """Losses, a line each; none where nothing is known to be."""
        unreadable = (UNREADABLE.format(part) for part in sorted(self._store.unreadable)[:NAMED])
        return tuple(filter(None, (*self._parts, self._traces, *unreadable)))

    def look(self) -> Sequence[str]:
        """Compare the parts in use with those set aside and those recorded; returns the problems that are new.

        Blocks. Raises RetryableError, StoreError.
        """
        parts = active_parts(self._store, least_rows=0)
        found = tuple(_few([*self._set_aside_or_gone(parts), *self._without_folder(parts)], "parts"))
        new = [problem for problem in found if problem not in self._parts]
        self._parts, self._store.is_incomplete = found, bool(found)
        self._recheck(parts)
        if not found:
            self._traces = ""
        return new

    def record(self) -> None:
        """Record the parts with rows after a deletion: the engine drops those that it emptied. Any thread; blocks."""
        try:
            self._write(active_parts(self._store))
        except TracejuryError as error:  # the next look records them
            log.warning("the record of data parts cannot be written: %s", error)

    def count_lost(self) -> str:
        """Which traces lost spans, as `lost_text` puts it; reads the ids of all spans.

        Blocks. Raises RetryableError, StoreError.
        """
        self._traces = lost_text(lost_spans(self._store))
        return self._traces

    def known_rows(self) -> Rows:
        """Rows of the lost parts that were recorded, by table and part."""
        return self._record.missing if self._record else {}

    def damaged_tables(self) -> frozenset[str]:
        """Tables that lost parts."""
        return frozenset(self.known_rows()) | {part.table for part in detached_parts(self._store)}

    def note(self, table: str, part: str, lost: int | None) -> None:
        """So many rows of a part are still lost; None: an unknown number."""
        if self._record:
            others = {name: rows for name, rows in self.known_rows().get(table, {}).items() if name != part}
            rest = others if lost == 0 else {**others, part: lost or 0}
            self._record.missing = {**self._record.missing, table: rest}

    def forget(self) -> None:
        """Lost parts were given up: nothing is missing from now on."""
        if self._record:
            self._record.missing = {}

    def _set_aside_or_gone(self, parts: Sequence[ActivePart]) -> Iterator[str]:
        present, detached = by_table(parts), detached_parts(self._store)
        gone: dict[str, dict[str, int]] = {}
        if (record := self._record) is not None:
            # Those of the last process are compared once: later on parts leave for good reasons, too.
            for known in (record.missing, self._recorded):
                for table, lost in missing(known, present).items():
                    gone.setdefault(table, {}).update({n: r for n, r in lost.items() if not self._expired(table, n)})
            self._recorded, record.missing = {}, gone
            self._write(parts)
        aside = {(part.table, part.part): part for part in detached}
        for (table, name), part in aside.items():
            rows = gone.get(table, {}).get(name)
            counted = "" if rows is None else f" ({rows} rows)"
            yield f"{table}: the data part {name}{counted} was damaged and set aside as {part.name}"
        for table, lost in gone.items():
            for name, rows in lost.items():
                if (table, name) not in aside:
                    yield f"{table}: the data part {name} ({rows} rows) is gone"

    def _write(self, parts: Sequence[ActivePart]) -> None:
        if (record := self._record) is None:
            return
        left = by_table(with_rows_left(self._store, parts))
        with self._writing:
            record.parts = left
            try:
                record.write()
            except OSError as error:
                log.warning("the record of data parts %s cannot be written: %s", record.path, error.strerror)

    def _without_folder(self, parts: Sequence[ActivePart]) -> Iterator[str]:
        for part in parts if self._store.embedded else ():
            if part.rows and not Path(part.path).is_dir():
                yield f"{part.table}: the folder of the data part {part.name} ({part.rows} rows) is gone"

    def _recheck(self, parts: Sequence[ActivePart]) -> None:
        """Forget the parts that a query could not read and that are no longer there, or can be read again."""
        for name in sorted(self._store.unreadable):
            tables = [part.table for part in parts if part.name == name]
            if tables and (began := self._clock()) < self._recheck_at:
                continue
            if all(is_readable(self._store, table, name) for table in tables):
                self._store.unreadable.discard(name)
            if tables:
                self._recheck_at = self._clock() + RECHECK_PAUSE * (self._clock() - began)

    def _expired(self, table: str, name: str) -> bool:
        kept, week = Retention(self._store.config).shortest(), partition_of(name)
        if table not in RETAINED or kept is None or not _WEEK.match(week):
            return False
        return datetime.strptime(week, "%Y%m%d").replace(tzinfo=UTC) + timedelta(seconds=kept) < datetime.now(UTC)


def lost_text(lost: Sequence[LostSpans]) -> str:
    """How many traces lost spans, and the first of them; "" where none did."""
    if not lost:
        return ""
    spans = sum(one.judged - one.stored for one in lost)
    whole = sum(one.stored == 0 for one in lost)
    return f"{len(lost)} traces lost {spans} spans ({whole} of them all): {', '.join(_few([t.trace_id for t in lost]))}"


def _few(texts: Sequence[str], what: str = "") -> list[str]:
    more = len(texts) - NAMED
    return [*islice(texts, NAMED), *([f"and {more} more {what}".rstrip()] if more > 0 else [])]
