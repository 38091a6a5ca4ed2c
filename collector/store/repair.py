"""Repair of a store that no collector uses: damaged parts are read as far as they can be, the rest is given up.

Attaching a part without its checksums makes the engine compute them from the files; a part whose files cannot be
decompressed is read in ranges of rows, halved down to the engine's granules.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracejury.schemas.errors import StoreError, TracejuryError

from .client import Store
from .damage import DetachedPart, detached_parts
from .parts import active_parts
from .unjudged import forget_sweeps

log = logging.getLogger(__name__)

GRANULE: Final = 1024
"""Rows that are read, or given up, together: `index_granularity` of the large tables."""

_READ: Final = """
SELECT * FROM {table} WHERE _part = {{part:String}} {range}
SETTINGS asterisk_include_materialized_columns = 1 FORMAT Null
"""
_COPY: Final = "INSERT INTO {table} SELECT * FROM {table} WHERE _part = {{part:String}} {range}"
_RANGE: Final = "AND _part_offset >= {first:UInt64} AND _part_offset < {last:UInt64}"


@dataclass(frozen=True, slots=True)
class Repaired:
    """A damaged part: the rows that were saved of it, and those that cannot be read (None: nobody knows how many)."""

    table: str
    part: str
    saved: int
    lost: int | None


def damaged_parts(store: Store) -> list[tuple[str, str, int]]:
    """Table, name and rows of the parts in use that cannot be read; reads everything. Raises RetryableError."""
    return [(p.table, p.name, p.rows) for p in active_parts(store) if not is_readable(store, p.table, p.name)]


def repair(store: Store, rows: Mapping[str, Mapping[str, int]]) -> Iterator[Repaired]:
    """Save what can be read of every damaged part. `rows`: how many a part is known to have had.

    The part that rows were saved from is detached: it stays on disk. Raises RetryableError, StoreError.
    """
    forget_sweeps(store)
    for part in detached_parts(store):
        yield _reattached(store, part, rows.get(part.table, {}).get(part.part))
    for table, name, count in damaged_parts(store):
        saved = _salvage(store, table, name, 0, count)
        store.command(f"ALTER TABLE {table} DETACH PART '{name}'")
        yield Repaired(table, name, saved, count - saved)


def drop_detached(store: Store) -> int:
    """Delete all parts that are set aside or were detached; returns their number. Raises RetryableError, StoreError."""
    detached = store.rows("SELECT table, name FROM system.detached_parts WHERE database = currentDatabase()")
    for table, name in detached:
        store.command(f"ALTER TABLE {table} DROP DETACHED PART '{name}' SETTINGS allow_drop_detached = 1")
    return len(detached)


def _reattached(store: Store, part: DetachedPart, rows: int | None) -> Repaired:
    folder = Path(part.path)
    draft = folder.with_name(part.part)
    before = {active.name for active in active_parts(store) if active.table == part.table}
    shutil.rmtree(draft, ignore_errors=True)  # of a repair that was interrupted
    shutil.copytree(folder, draft)  # what was set aside stays as it is until it is given up
    try:
        (draft / "checksums.txt").unlink(missing_ok=True)
        if rows is not None:
            (draft / "count.txt").write_text(str(rows))
        store.command(f"ALTER TABLE {part.table} ATTACH PART '{part.part}'")
    except TracejuryError as error:  # whatever it is, the part stays set aside
        log.info("%s cannot be attached: %s", part.name, error)
        shutil.rmtree(draft, ignore_errors=True)
        return Repaired(part.table, part.part, 0, rows)
    (attached,) = [a for a in active_parts(store) if a.table == part.table and a.name not in before]
    if is_readable(store, part.table, attached.name):
        saved = attached.rows
    else:
        saved = _salvage(store, part.table, attached.name, 0, attached.rows)
        store.command(f"ALTER TABLE {part.table} DROP PART '{attached.name}'")
    if saved == attached.rows:
        store.command(f"ALTER TABLE {part.table} DROP DETACHED PART '{part.name}' SETTINGS allow_drop_detached = 1")
    return Repaired(part.table, part.part, saved, attached.rows - saved)


def is_readable(store: Store, table: str, name: str) -> bool:
    """Whether the checksums of a part in use are right and all of it can be read. Raises RetryableError."""
    checked = store.rows(f"CHECK TABLE {table} PART '{name}' SETTINGS check_query_single_value_result = 1")
    return str(checked[0][0]) == "1" and _runs(store, _READ.format(table=table, range=""), {"part": name})


def _salvage(store: Store, table: str, name: str, first: int, last: int) -> int:
    """Insert the readable rows of a part anew; returns their number."""
    if first >= last:
        return 0
    values = {"part": name, "first": first, "last": last}
    # Read before: an insert that fails in the middle would leave a part of the range.
    if _runs(store, _READ.format(table=table, range=_RANGE), values):
        store.command(_COPY.format(table=table, range=_RANGE), values)
        return last - first
    if last - first <= GRANULE:
        return 0
    middle = first + (last - first + 1) // 2
    return _salvage(store, table, name, first, middle) + _salvage(store, table, name, middle, last)


def _runs(store: Store, sql: str, values: Mapping[str, object]) -> bool:
    try:
        store.command(sql, values)
    except StoreError as error:
        log.info("%s", error)
        return False
    return True
