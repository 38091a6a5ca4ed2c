"""Errors worked out the plain way from the stored findings of a trace."""

from __future__ import annotations

from typing import Any

from tracejury.collector.store.client import Store
from tracejury.judges.grouping import group
from tracejury.schemas.judged_rows import FINDING_SELECT, finding_from_row

Row = dict[str, Any]


def table(store: Store, name: str, columns: str) -> list[Row]:
    """All rows that hold."""
    names = [c.strip().split(" AS ")[-1] for c in columns.split(",")]
    return [dict(zip(names, row, strict=True)) for row in store.rows(f"SELECT {columns} FROM {name} FINAL")]


def expected_errors(store: Store) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """By trace and id of each error of a judged trace: the trace it shows under, its findings."""
    traces = table(store, "traces", "TraceId, JoinedTo, Runs.Id")
    states = "('current', 'provisional')"
    findings = [
        finding_from_row(row)
        for row in store.rows(f"SELECT {FINDING_SELECT} FROM findings FINAL WHERE State IN {states}")
    ]
    found = {}
    for trace in traces:
        if not trace["JoinedTo"]:
            own = {t["TraceId"] for t in traces if trace["TraceId"] in (t["TraceId"], t["JoinedTo"])}
            for error in group([f for f in findings if f.trace_id in own], trace["Runs.Id"]):
                ids = tuple(f.id for f in error.findings)
                found[error.lead.trace_id, error.id] = (trace["TraceId"], ids)
    return found


def stored_errors(store: Store) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """The same, as the table `errors` has it."""
    rows = table(store, "errors", "TraceId, Id, Whole, FindingIds")
    return {(row["TraceId"], row["Id"]): (row["Whole"], tuple(row["FindingIds"])) for row in rows}
