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
from tracejury.schemas.queries.points import checked_time, shown_groups
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
        ((_, _, total, _),) = self._read(query) or ((0, "", NOTHING, 1),)
        keys, count = [""], 1
        rows = [PerformanceRow("", since, total)] if total != NOTHING else []
        if query.by is not None:
            most = shown_groups(query.limit, since, until, query.step)
            groups = self._read(query, grouped=True, most=most)
            rows = [PerformanceRow(key, since, figures) for _, key, figures, _ in groups]
            keys, count = [row.key for row in rows], groups[0][3] if groups else 0
        if query.step:
            found = self._read(query, grouped=query.by is not None, stepped=True, keys=keys)
            order = {key: number for number, key in enumerate(keys)}
            found.sort(key=lambda one: (order[one[1]], one[0]))
            rows = [PerformanceRow(key, at, figures) for at, key, figures, _ in found]
        return PerformanceAnswer(total, rows, count - len(keys), self._unmeasured(query))

    def _read(
        self,
        query: PerformanceQuery,
        *,
        grouped: bool = False,
        stepped: bool = False,
        keys: Sequence[str] = (),
        most: int = 0,
    ) -> list[tuple[int, str, Performance, int]]:
        """Point in time, group, figures and how many groups there are, of what has any; `most` 0: no limit."""
        key = _key(query) if grouped else "''"
        at = "intDiv(At, {step:UInt64}) * {step:UInt64}" if stepped else "toUInt64(0)"
        names = ", ".join(f"Operations.{name} AS {name}" for name in _COLUMNS)
        own = ["Kind IN {kinds:Array(String)}"]
        own += [f"{column} = {{{by}:String}}" for by, column in _OF_OPERATIONS.items() if getattr(query, by)]
        text = (
            f"SELECT {at} AS Point, toString({key}) AS Key, {_FIGURES}, count() OVER () FROM ("
            f"SELECT {ARRIVED} AS At, ServiceName, Version, {', '.join(_COLUMNS)} FROM traces FINAL "
            f"ARRAY JOIN {names} WHERE {_standing(query)} AND {' AND '.join(own)}) "
            f"{'WHERE Key IN {keys:Array(String)} ' if grouped and stepped else ''}"
            f"GROUP BY Point, Key ORDER BY units DESC, Key {'LIMIT {most:UInt64} ' if most else ''}{_MERGED}"
        )
        found = self._scope.select(text, **_values(query), keys=keys, most=most)
        return [(row[0], row[1], _performance(row[2:-1]), row[-1]) for row in found]

    def _unmeasured(self, query: PerformanceQuery) -> int:
        """Traces without figures."""
        of_service = f" AND {_of_trace('ServiceName')} = {{service:String}}" if query.service else ""
        of_version = f" AND {_of_trace('Version')} = {{version:String}}" if query.version else ""
        rows = self._scope.select(
            f"SELECT count() FROM traces FINAL WHERE {EVERY} AND {ARRIVED} >= {{since:Int64}} AND {ARRIVED} < "
            f"{{until:Int64}} AND NOT Measured AND Simulated = {{simulated:Bool}}{of_service}{of_version}",
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


def _standing(query: PerformanceQuery) -> str:
    """The condition on rows of `traces`: those that stand."""
    facts = [TENANT, "Unit = {facts:String}", "Hour >= {first:UInt32}", "Hour <= {last:UInt32}"]
    facts += ["At >= {since:UInt64}", "At < {until:UInt64}"]
    facts += ["Service = {service:String}"] * bool(query.service) + ["Version = {version:String}"] * bool(query.version)
    return (
        f"{TENANT} AND ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}}) "
        "AND ReceivedAt < fromUnixTimestamp64Nano({until:Int64}) "
        f"AND (TraceId, toUInt64({ARRIVED})) IN (SELECT TraceId, At FROM run_facts FINAL WHERE {' AND '.join(facts)})"
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
