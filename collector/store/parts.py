"""Data parts of the engine's tables, and a record of them that survives the process.

A part's name is `PARTITION_MIN_MAX_LEVEL[_MUTATION]`: the blocks of inserts that it holds, and how often they were
merged (ClickHouse, "MergeTree"). A part is superseded by one of its partition that holds all of its blocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from tracejury.schemas.errors import StoreError

from .client import Store

_NAME: Final = re.compile(r"(?P<partition>.+?)_(?P<first>\d+)_(?P<last>\d+)_\d+(?:_\d+)?\Z")
_ACTIVE: Final = """
SELECT table, name, rows, path, has_lightweight_delete FROM system.parts
WHERE database = currentDatabase() AND active AND rows >= {least:UInt64}
"""
_LEFT: Final = "SELECT DISTINCT _part FROM {table} WHERE _part IN {{parts:Array(String)}}"

Rows: TypeAlias = Mapping[str, Mapping[str, int]]
"""Rows by table and part."""


@dataclass(frozen=True, slots=True)
class ActivePart:
    """A part that queries read; `path` ends in a slash. `has_deleted`: some, or all, of its rows are deleted ones."""

    table: str
    name: str
    rows: int
    path: str
    has_deleted: bool


def active_parts(store: Store, *, least_rows: int = 1) -> list[ActivePart]:
    """All parts of the store's database with so many rows, deleted ones included. Raises RetryableError, StoreError."""
    return [ActivePart(*row) for row in store.rows(_ACTIVE, {"least": least_rows})]


def with_rows_left(store: Store, parts: Sequence[ActivePart]) -> list[ActivePart]:
    """The parts of which not every row is deleted: the engine drops the others when it merges them.

    Raises RetryableError.
    """
    asked: dict[str, list[str]] = {}
    for part in parts:
        if part.has_deleted:
            asked.setdefault(part.table, []).append(part.name)
    left = {(table, name) for table, names in asked.items() for name in _left(store, table, names)}
    return [part for part in parts if part.rows and (not part.has_deleted or (part.table, part.name) in left)]


def _left(store: Store, table: str, names: Sequence[str]) -> Collection[str]:
    try:
        return {row[0] for row in store.rows(_LEFT.format(table=table), {"parts": names})}
    except StoreError:  # a part that cannot be read is not known to be empty
        return names


def by_table(parts: Iterable[ActivePart]) -> dict[str, dict[str, int]]:
    """The rows of parts, by table and part."""
    found: dict[str, dict[str, int]] = {}
    for part in parts:
        found.setdefault(part.table, {})[part.name] = part.rows
    return found


def missing(recorded: Rows, present: Rows) -> dict[str, dict[str, int]]:
    """Recorded parts that no present part is or supersedes."""
    found: dict[str, dict[str, int]] = {}
    for table, parts in recorded.items():
        spans = [_blocks(name) for name in present.get(table, {})]
        for name, rows in parts.items():
            partition, first, last = _blocks(name)
            if not any(p == partition and a <= first and last <= b for p, a, b in spans):
                found.setdefault(table, {})[name] = rows
    return found


def partition_of(name: str) -> str:
    """The partition of a part, as its name says it."""
    return _blocks(name)[0]


def _blocks(name: str) -> tuple[str, int, int]:
    match = _NAME.match(name)
    return (match["partition"], int(match["first"]), int(match["last"])) if match else (name, 0, 0)


@dataclass(slots=True)
class PartRecord:
    """The parts that were there when it was last written, and those found missing since.

    A file beside the store's folder, since one in it would be damaged with it.
    """

    path: Path
    parts: Rows = field(default_factory=dict)
    missing: Rows = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> PartRecord:
        """The record of a file; empty where there is none, or none that can be read."""
        try:
            stored = json.loads(path.read_text())
            return cls(path, _checked(stored["parts"]), _checked(stored["missing"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls(path)

    def write(self) -> None:
        """Replace the file. Raises OSError."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps({"parts": self.parts, "missing": self.missing}))
        draft.replace(self.path)


def record_file(store: Store) -> Path | None:
    """Where the parts of a store are recorded; None for a server, which has replicas and backups of its own."""
    return record_of(store.folder, store.database) if store.folder else None


def record_of(folder: Path, database: str) -> Path:
    """The record of an embedded store in `folder`."""
    return folder.with_name(f"{folder.name}.{database}.parts.json")


def _checked(rows: Rows) -> Rows:
    return {str(table): {str(name): int(count) for name, count in parts.items()} for table, parts in rows.items()}
