"""What runs of an agent usually use: read from the traces that were judged before, and kept for an hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, Final

from tracejury.judges.runaways import LEAST, MEASURES, Bounds, RunUsage, UsualRuns, may_be_beyond
from tracejury.schemas.trajectory import Trace

from .client import Store
from .scope import TENANT, Scope

HOUR: Final = 3_600_000_000_000
"""Nanoseconds."""
DAYS: Final = 7
"""How far back runs are looked at."""
LATEST: Final = 1_000
"""Traces that are looked at: the latest ones."""
SHARE: Final = 0.9
"""The share of runs that use no more than is usual, so that a runaway in ten does not move it."""
AGENTS: Final = 20
"""Agents of a trace that are looked up; the others have the fixed bounds."""
KEPT: Final = 2_000
"""Answers that are kept."""

_USED: Final = f"""
SELECT {", ".join(f"quantileExactIf({SHARE})({name}, {name} > 0), countIf({name} > 0)" for name in MEASURES)}
FROM (
    SELECT arrayMax((turns, name) -> if(name = {{agent:String}}, turns, 0), Runs.Turns, Runs.Name) AS turns,
        arrayExists((name, parent) -> name = {{agent:String}} AND parent = '', Runs.Name, Runs.ParentId) AS manages,
        if(manages, ifNull(InputTokens, 0) + ifNull(OutputTokens, 0), 0) AS tokens,
        if(manages, (EndNanos - least(StartNanos, EndNanos)) / 1e9, 0) AS seconds,
        if(manages, ifNull(Cost, 0), 0) AS usd
    FROM traces
    WHERE {TENANT} AND ServiceName = {{service:String}} AND has(Runs.Name, {{agent:String}}) AND State != 'open'
        AND StartNanos < {{until:UInt64}} AND StartNanos >= {{since:UInt64}}
        AND ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}}, 'UTC')
    ORDER BY ReceivedAt DESC LIMIT 1 BY TraceId LIMIT {{latest:UInt64}}
)
"""


class StoredUsualRuns:
    """Says what is usual on a trace's service; callable from any thread, blocks where it has to look it up.

    `base`: what holds where less is known; its `price` is handed on. `least_runs`: earlier runs that must be known.

    The answer follows from the runs that began before the hour in which the trace did: it stays the same while the
    trace grows, and after a restart.
    """

    def __init__(self, store: Store, base: UsualRuns, factor: float, least_runs: int) -> None:
        self._store, self._base, self._factor, self._least = store, base, factor, least_runs
        self._known: dict[tuple[str, str, str, int], Bounds] = {}
        self._lock = Lock()

    def __call__(self, trace: Trace) -> UsualRuns:
        """What is usual for the agents of a trace. Raises RetryableError, StoreError: the store failed."""
        if not may_be_beyond(trace):
            return self._base
        names = list(dict.fromkeys(run.name for run in trace.runs if run.name))[:AGENTS]
        return replace(self._base, of={name: self._bounds(trace, name) for name in names})

    def _bounds(self, trace: Trace, agent: str) -> Bounds:
        key = trace.tenant, trace.service, agent, trace.start // HOUR
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = self._read(*key)
            with self._lock:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[key] = known
        return known

    def _read(self, tenant: str, service: str, agent: str, hour: int) -> Bounds:
        until = hour * HOUR
        since = max(until - DAYS * 24 * HOUR, 0)
        rows: Sequence[Sequence[Any]] = Scope(self._store, tenant).select(
            _USED, service=service, agent=agent, until=until, since=since, latest=LATEST
        )
        read = {name: (float(rows[0][2 * at]), int(rows[0][2 * at + 1])) for at, name in enumerate(MEASURES)}
        most, runs = dict[str, float](), dict[str, float]()
        for name, (usual, count) in read.items():
            known = count >= self._least
            most[name] = (
                max(self._factor * usual, getattr(LEAST, name)) if known else getattr(self._base.fixed.most, name)
            )
            runs[name] = count if known else 0
        return Bounds(RunUsage(**most), RunUsage(**runs))
