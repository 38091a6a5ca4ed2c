"""Stored findings, as judges and as people read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejury.judges.titles import titled
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import FINDING_SELECT, finding_from_row

from .scope import TENANT, Scope


def read_finding(row: Sequence[Any]) -> Finding:
    """The finding of a row of `FINDING_SELECT`, with its rule's title also where it was stored without one."""
    return titled(finding_from_row(row))


def findings_by_trace(
    scope: Scope,
    trace_ids: Sequence[str],
    where: str = "1",
    read: Callable[[Sequence[Any]], Finding] = finding_from_row,
) -> dict[str, list[Finding]]:
    """The findings of each trace, of any state; absent: none. `where`: a further condition of fixed text."""
    these = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"
    sql = f"SELECT {FINDING_SELECT} FROM findings FINAL PREWHERE {these} WHERE {where} ORDER BY FirstSeen, Id"
    found: dict[str, list[Finding]] = {}
    for finding in map(read, scope.select(sql, trace_ids=list(trace_ids))):
        found.setdefault(finding.trace_id, []).append(finding)
    return found
