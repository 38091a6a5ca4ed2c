"""Latency, tokens, cost and failures by a plain scan of the stored traces; shares no code with the collector's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tracejury.collector.store.client import Store
from tracejury.schemas.operations import USAGE, Operation
from tracejury.schemas.queries.performance import (
    Performance,
    PerformanceBy,
    PerformanceQuery,
    PerformanceUnit,
)

Found = tuple[int, dict[str, str], Operation]
"""When the trace of an operation arrived, what it is told apart by, and the operation."""


def percentile(durations: Sequence[int], level: float) -> float | None:
    """Of the sorted durations the one at that share of their number."""
    return float(sorted(durations)[int(level * len(durations))]) if durations else None


def figures(found: Sequence[Operation], unit: PerformanceUnit) -> Performance:
    """All figures of some operations."""
    known = [one.nanos for one in found if one.nanos >= 0]
    p50, p95, p99 = (percentile(known, level) for level in (0.5, 0.95, 0.99))
    return Performance(
        sum(one.kind == unit for one in found),
        sum(one.failed for one in found),
        p50,
        p95,
        p99,
        sum(one.input_tokens for one in found),
        sum(one.output_tokens for one in found),
        sum(one.cached_tokens for one in found),
        sum(one.usd for one in found),
        sum(one.unpriced for one in found),
    )


def traces(store: Store) -> Iterator[dict[str, Any]]:
    """The row of each trace that was judged last, of those that stand for themselves."""
    names = ", ".join(f"`Operations.{name.title().replace('_', '')}`" for name in Operation._fields)
    columns = (
        "TraceId, JudgedAt, toUnixTimestamp64Nano(ReceivedAt), ServiceName, Version, Simulated, Measured, JoinedTo"
    )
    latest: dict[str, Sequence[Any]] = {}
    for row in store.rows(f"SELECT {columns}, {names} FROM traces"):
        if row[0] not in latest or row[1] > latest[row[0]][1]:
            latest[row[0]] = row
    for _, _, at, service, version, simulated, measured, joined, *lists in latest.values():
        if not joined:
            operations = [Operation(*one) for one in zip(*lists, strict=True)]
            about = {"service": service, "version": version}
            yield {"at": at, "about": about, "simulated": simulated, "measured": measured, "operations": operations}


def asked_of(store: Store, query: PerformanceQuery) -> tuple[list[Found], int]:
    """The operations that a query is about, and how many of its traces nobody could measure."""
    found, unmeasured = list[Found](), 0
    kinds = (query.unit, USAGE) if query.unit is PerformanceUnit.LLM_CALL else (query.unit,)
    for trace in traces(store):
        is_asked = query.since <= trace["at"] < query.until and trace["simulated"] == query.simulated
        if not is_asked or any(getattr(query, by) not in ("", trace["about"][by]) for by in trace["about"]):
            continue
        unmeasured += not trace["measured"]
        for one in trace["operations"]:
            about = trace["about"] | {by: getattr(one, by) for by in ("agent", "model", "tool", "prompt")}
            if one.kind in kinds and all(getattr(query, by) in ("", about[by]) for by in PerformanceBy):
                found.append((trace["at"], about, one))
    return found, unmeasured


def expected(store: Store, query: PerformanceQuery) -> tuple[Performance, dict[tuple[str, int], Performance], int]:
    """The total, the figures by group and point in time, and how many traces nobody could measure."""
    found, unmeasured = asked_of(store, query)
    groups: defaultdict[tuple[str, int], list[Operation]] = defaultdict(list)
    for at, about, one in found:
        point = at // query.step * query.step if query.step else query.since
        groups[about[query.by] if query.by else "", point].append(one)
    total = figures([one for *_, one in found], query.unit)
    return total, {place: figures(own, query.unit) for place, own in groups.items()}, unmeasured
