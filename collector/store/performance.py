"""Latency, tokens, cost and failures of one tenant, counted from the operations of its traces. All of it blocks.

Which traces of a time stand, the facts of rates say; their rows hold the operations. So an answer equals a scan of what
is stored now, whatever was re-sent, deleted or judged again. Percentiles are exact: of n sorted durations the one at
position floor(p n). They are of all stored traces that were judged: no sample is weighted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.operations import USAGE
from tracejury.schemas.queries.performance import (
    Performance,
    PerformanceAnswer,
    PerformanceBy,
    PerformanceQuery,
    PerformanceRow,
    PerformanceUnit,
)
from tracejury.schemas.queries.points import MAX_POINTS, checked_time, shown_groups
from tracejury.schemas.rates import Unit

from .derived.facts import HOUR, NAME, fact_unit, short
from .derived.rederiving import require_derived
from .lists.conditions import ARRIVED, EVERY
from .scope import TENANT, TenantRows

NOTHING: Final = Performance(0, 0, None, None, None, 0, 0, 0, 0.0, 0)

_OF_TRACES: Final = {PerformanceBy.SERVICE: "ServiceName", PerformanceBy.VERSION: "Version"}
_OF_OPERATIONS: Final = {
    PerformanceBy.AGENT: "Agent",
    PerformanceBy.MODEL: "Model",
    PerformanceBy.TOOL: "Tool",
    PerformanceBy.PROMPT: "Prompt",
}
_LACKING: Final = {
    PerformanceUnit.RUN: {PerformanceBy.TOOL, PerformanceBy.PROMPT},
    PerformanceUnit.LLM_CALL: {PerformanceBy.TOOL},
    PerformanceUnit.TOOL_CALL: set[PerformanceBy](),
}
"""What its operations do not name."""

_COLUMNS: Final = (
    "Kind", "Agent", "Model", "Tool", "Prompt", "Nanos", "Failed", "InputTokens", "OutputTokens", "CachedTokens", "Usd",
    "Unpriced",
)  # fmt: skip
_FIGURES: Final = (
    "countIf(Kind = {unit:String}) AS units, countIf(Failed), countIf(Nanos >= 0), "
    "quantilesExactIf(0.5, 0.95, 0.99)(Nanos, Nanos >= 0), sum(InputTokens), sum(OutputTokens), sum(CachedTokens), "
    "sum(Usd), sum(Unpriced)"
)
_POINT: Final = "intDiv(At, {step:UInt64}) * {step:UInt64}"
_ARRIVED_THEN: Final = (
    "ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}) AND ReceivedAt < fromUnixTimestamp64Nano({until:Int64})"
)
"""So written that the engine leaves out partitions."""
_MERGED: Final = "SETTINGS do_not_merge_across_partitions_select_final = 1"
"""A fact's rows lie in one partition; and of a trace's rows in several only one arrived when its fact says."""


class StoredPerformance(TenantRows):
    """Answers about one tenant."""

    def ask(self, query: PerformanceQuery) -> PerformanceAnswer:
        """What ran, as it is stored now; the groups with the most units first.

        Raises:
            ConfigError: the query means nothing.
            RetryableError: facts are still being made of what an earlier version stored, or the store cannot just now.
            StoreError: the store failed.
        """
        require_derived(self._store, self._scope.tenant)
        since, until = checked_time(query.since, query.until, query.step)
        query = replace(query, since=since, until=until)
        _require_meaning(query)
        unmeasured = self._unmeasured(query)
        if query.by is None:
            total, found, _ = self._whole(query, _POINT if query.step else "''")
            rows = [PerformanceRow("", int(point or since), figures) for point, figures in found]
            return PerformanceAnswer(total, sorted(rows, key=lambda row: row.at), 0, unmeasured)
        total, found, count = self._whole(query, _key(query), shown_groups(query.limit, since, until, query.step))
        keys = [key for key, _ in found]
        rows = [PerformanceRow(key, since, figures) for key, figures in found]
        if query.step:
            rows = self._stepped(query, keys)
        return PerformanceAnswer(total, rows, count - len(keys), unmeasured)

    def _whole(
        self, query: PerformanceQuery, key: str, most: int = MAX_POINTS
    ) -> tuple[Performance, list[tuple[str, Performance]], int]:
        """All figures together, those of at most so many groups, the largest first, and how many groups there are."""
        rows = self._scope.select(
            f"SELECT grouping(Key) AS Whole, Key, {_FIGURES}, count() OVER () FROM "
            f"(SELECT toString({key}) AS Key, * FROM ({_operations(query)})) GROUP BY GROUPING SETS ((), (Key)) "
            f"ORDER BY Whole DESC, units DESC, Key LIMIT {{most:UInt64}} {_MERGED}",
            **_values(query),
            most=most + 1,
        )
        groups = [(row[1], _performance(row[2:-1])) for row in rows if not row[0]]
        total = next((_performance(row[2:-1]) for row in rows if row[0]), NOTHING)
        return total, groups, rows[0][-1] - 1 if rows else 0

    def _stepped(self, query: PerformanceQuery, keys: Sequence[str]) -> list[PerformanceRow]:
        """The figures of these groups at each point in time, group by group."""
        rows = self._scope.select(
            f"SELECT {_POINT} AS Point, toString({_key(query)}) AS Key, {_FIGURES} FROM ({_operations(query)}) "
            f"WHERE Key IN {{keys:Array(String)}} GROUP BY Point, Key {_MERGED}",
            **_values(query),
            keys=keys,
        )
        order = {key: number for number, key in enumerate(keys)}
        found = [PerformanceRow(key, at, _performance(figures)) for at, key, *figures in rows]
        return sorted(found, key=lambda row: (order[row.key], row.at))

    def _unmeasured(self, query: PerformanceQuery) -> int:
        """Traces without figures; the inner look, at rows that may be outdated, spares reading all others."""
        of_service = f" AND {_of_trace('ServiceName')} = {{service:String}}" if query.service else ""
        of_version = f" AND {_of_trace('Version')} = {{version:String}}" if query.version else ""
        few = f"SELECT TraceId FROM traces WHERE {TENANT} AND {_ARRIVED_THEN} AND NOT Measured"
        rows = self._scope.select(
            f"SELECT count() FROM traces FINAL WHERE {EVERY} AND TraceId IN ({few}) AND {ARRIVED} >= {{since:Int64}} "
            f"AND {ARRIVED} < {{until:Int64}} AND NOT Measured AND Simulated = {{simulated:Bool}}"
            f"{of_service}{of_version}",
            **_values(query),
            simulated=query.simulated,
        )
        return int(rows[0][0])


def _require_meaning(query: PerformanceQuery) -> None:
    """Raises ConfigError where the query asks for what its unit does not name."""
    asked = {by for by in _OF_OPERATIONS if getattr(query, by)} | ({query.by} if query.by else set())
    for by in sorted(_LACKING[query.unit] & asked):
        units = " or ".join(unit for unit in PerformanceUnit if by not in _LACKING[unit])
        raise ConfigError(f"a {query.unit} has no {by}: ask for the unit {units}")


def _operations(query: PerformanceQuery) -> str:
    """The operations that a query is about, each with what its trace says."""
    facts = [TENANT, "Unit = {facts:String}", "Hour >= {first:UInt32}", "Hour <= {last:UInt32}"]
    facts += ["At >= {since:UInt64}", "At < {until:UInt64}"]
    facts += ["Service = {service:String}"] * bool(query.service) + ["Version = {version:String}"] * bool(query.version)
    own = ["Kind IN {kinds:Array(String)}"]
    own += [f"{column} = {{{by}:String}}" for by, column in _OF_OPERATIONS.items() if getattr(query, by)]
    names = ", ".join(f"Operations.{name} AS {name}" for name in _COLUMNS)
    return (
        f"SELECT toUInt64({ARRIVED}) AS At, ServiceName, Version, {', '.join(_COLUMNS)} FROM traces FINAL "
        f"ARRAY JOIN {names} WHERE {TENANT} AND {_ARRIVED_THEN} AND {' AND '.join(own)} "
        f"AND (TraceId, At) IN (SELECT TraceId, At FROM run_facts FINAL WHERE {' AND '.join(facts)})"
    )


def _key(query: PerformanceQuery) -> str:
    by = query.by or PerformanceBy.SERVICE
    return _OF_OPERATIONS[by] if by in _OF_OPERATIONS else _of_trace(_OF_TRACES[by])


def _of_trace(column: str) -> str:
    """As facts have it."""
    return f"substringUTF8({column}, 1, {NAME})"


def _values(query: PerformanceQuery) -> dict[str, Any]:
    values: dict[str, Any] = {by.value: short(getattr(query, by)) for by in PerformanceBy}
    kinds = [query.unit.value, USAGE] if query.unit is PerformanceUnit.LLM_CALL else [query.unit.value]
    values |= {"since": query.since, "until": query.until, "step": query.step, "unit": query.unit, "kinds": kinds}
    values |= {"first": query.since // HOUR, "last": (query.until - 1) // HOUR}
    return values | {"facts": fact_unit(Unit.TRACE, simulated=query.simulated)}


def _performance(row: Sequence[Any]) -> Performance:
    units, failed, timed, percentiles, *rest = row
    known = [float(nanos) for nanos in percentiles] if timed else [None, None, None]
    return Performance(**dict(zip((f.name for f in fields(Performance)), (units, failed, *known, *rest), strict=True)))
