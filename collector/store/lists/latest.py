"""The latest rows of a table, without a look at all of them.

A raw look at the times alone says since when there are enough; then only the traces of these rows are read, without
what newer rows have replaced. Where filters leave too few of them it begins earlier, and at last reads all that may be
meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.collector.store.scope import TENANT, Scope

_LOOKS: Final = 3
"""Looks at some rows, before one at all of them."""

# Most of the latest have arrived lately, and parts without such rows are not read; else all of them are.
_ARRIVED: Final = ("ReceivedAt >= now() - INTERVAL 1 DAY", "1")

FINAL_BY_TRACE: Final = "SETTINGS ignore_data_skipping_indices = 'first_seen'"
"""With FINAL the index by time makes the engine look for copies everywhere; for a query that names the traces."""


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table whose rows have a time (`seen`, a UInt64), and of those of one time an order by `ids`.

    `version`: of two rows of one `key` the greater holds; `holds`: of whatever is left.
    """

    name: str
    version: str
    holds: str
    seen: str = "FirstSeen"
    key: str = "TraceId, SpanId, Id"
    ids: tuple[str, ...] = ("Id",)

    @property
    def order(self) -> str:
        """The latest first."""
        return f"ORDER BY {', '.join(f'{name} DESC' for name in (self.seen, *self.ids))}"

    def newest(self, these: str) -> str:
        """The rows of a few traces (a condition on `TraceId`) without those that newer ones replace, to select from.

        With FINAL the engine would merge all parts in which such traces may lie: of a million traces a hundred take
        four times as long then.
        """
        rows = (
            f"SELECT * FROM {self.name} WHERE {TENANT} AND {these} ORDER BY {self.version} DESC LIMIT 1 BY {self.key}"
        )
        return f"({rows}) AS {self.name}"


FINDINGS: Final = SeenTable("findings", "JudgedAt", "1")
ERRORS: Final = SeenTable("errors", "FoldedAt", "NOT Removed")
TRACES: Final = SeenTable(
    "traces",
    "(JudgedAt, ReceivedAt)",
    "1",
    "toUInt64(toUnixTimestamp64Nano(ReceivedAt))",
    "TraceId",
    ("StartNanos", "TraceId"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of rows: `columns`, conditions on their own columns, and (`of_traces`) such as look at traces.

    Two of these are made of a condition that spares reading other traces.
    """

    columns: Callable[[str], str]
    own: Sequence[str]
    of_traces: Callable[[str], Sequence[str]]
    values: dict[str, Any]
    limit: int


def latest(scope: Scope, table: SeenTable, asked: Asked) -> list[Sequence[Any]]:
    """Up to `asked.limit` rows of `findings` or `errors`, the latest first sight first.

    Raises RetryableError, StoreError.
    """
    few = latest_of_few(scope, table, asked)
    if few is not None:
        return few
    return scope.select(
        f"SELECT {asked.columns('1')} FROM {table.name} FINAL WHERE {TENANT} AND {_all(asked, '1')} "
        f"AND TraceId IN (SELECT TraceId FROM {table.name} WHERE {TENANT} AND {_own(asked)}) "
        f"{table.order} LIMIT {{limit:UInt64}} {FINAL_BY_TRACE}",
        limit=asked.limit,
        **asked.values,
    )


def latest_of_few(scope: Scope, table: SeenTable, asked: Asked) -> list[Sequence[Any]] | None:
    """`asked.limit` rows, the latest first; None where a look at some of the rows does not find as many.

    Raises RetryableError, StoreError.
    """
    count = 2 * asked.limit
    for _ in range(_LOOKS):
        if (since := _since(scope, table, asked, count)) is None:
            break
        found = scope.select(_of_few(table, asked), from_=since, limit=asked.limit, **asked.values)
        enough = sum(row[-1] >= since for row in found)
        if enough == asked.limit:
            return [row[:-1] for row in found]
        count = count * min(2 * asked.limit // max(enough, 1), 16)
    return None


def _since(scope: Scope, table: SeenTable, asked: Asked, count: int) -> int | None:
    """When the latest `count` rows begin; None where there are fewer."""
    for arrived in _ARRIVED:
        rows = scope.select(
            f"SELECT {table.seen} AS Seen FROM {table.name} WHERE {TENANT} AND {_own(asked)} AND {arrived} "
            "ORDER BY Seen DESC LIMIT 1 OFFSET {count:UInt64}",
            count=count,
            **asked.values,
        )
        if rows:
            return int(rows[0][0])
    return None


def _of_few(table: SeenTable, asked: Asked) -> str:
    these = (
        f"TraceId IN (SELECT TraceId FROM {table.name} WHERE {TENANT} AND {_own(asked)} "
        f"AND {table.seen} >= {{from_:UInt64}})"
    )
    return (
        f"SELECT {asked.columns(these)}, {table.seen} FROM {table.newest(these)} "
        f"WHERE {table.holds} AND {_all(asked, these)} "
        f"{table.order} LIMIT {{limit:UInt64}}"
    )


def narrowed(conditions: Sequence[str], place: str) -> list[str]:
    """Conditions that look at traces, each at those of a place alone ("1": all of them)."""
    if place == "1":
        return list(conditions)
    few = TRACES.newest(place)
    return [text.replace(f"WHERE {TENANT} AND ", "WHERE ").replace("traces FINAL", few) for text in conditions]


def _own(asked: Asked) -> str:
    return " AND ".join(asked.own)


def _all(asked: Asked, place: str) -> str:
    return " AND ".join([*asked.own, *asked.of_traces(place)])
