"""Errors worked out the plain way from the stored findings of a trace, for rates and for the table of errors."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tracejury.collector.store.client import Store
from tracejury.judges.grouping import group
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import FINDING_SELECT, finding_from_row
from tracejury.schemas.rates import Population

Row = dict[str, Any]


def table(store: Store, name: str, columns: str) -> list[Row]:
    """All rows that hold."""
    names = [c.strip().split(" AS ")[-1] for c in columns.split(",")]
    return [dict(zip(names, row, strict=True)) for row in store.rows(f"SELECT {columns} FROM {name} FINAL")]


def errors_by_scope(findings: list[tuple[Finding, bool]], trace: Row) -> dict[Any, list[Row]]:
    """The errors that the findings of each population, each judge and each pack make by themselves."""
    scopes: dict[Any, list[Finding]] = defaultdict(list)
    for finding, llm in findings:
        population = Population.JUDGES if llm else Population.DETECTORS
        if finding.judge == "decisive-error":
            scopes[finding.judge, llm].append(finding)
            continue
        pack = pack_of(finding)
        for scope in (f"pack {pack}",) if pack else (Population.BOTH, population):
            scopes[scope].append(finding)
        scopes[finding.judge, llm].append(finding)
    return {
        scope: [with_tool(row_of(error), error, trace) for error in group(own, trace["Runs.Id"])]
        for scope, own in scopes.items()
    }


def pack_of(finding: Finding) -> str:
    """The pack whose check made it, "" for none."""
    return finding.taxonomy if finding.judge.split("-")[0] == finding.taxonomy != finding.judge else ""


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


def row_of(error: AgentError) -> Row:
    """What a question may ask of an error."""
    lead = error.lead
    return {
        "AgentRunId": lead.agent_run_id, "Turn": -1 if lead.turn is None else lead.turn, "Judge": lead.judge,
        "Dimensions": [d.value for d in lead.dimensions], "Taxonomy": lead.taxonomy, "Category": lead.category,
        "said": [(f.severity, f.confidence) for f in error.findings],
    }  # fmt: skip


def with_tool(finding: Row, error: AgentError, trace: Row) -> Row:
    """The error with the tool that it is about."""
    calls = list(zip(trace["Calls.SpanId"], trace["Calls.Tool"], trace["Calls.Asked"], strict=True))
    for span in (error.lead.tool_span_id, error.shown_at, error.lead.span_id):
        if not span:
            continue
        ran = [tool for at, tool, asked in calls if at == span and not asked]
        wanted = [
            tool for at, tool, asked in calls if at == span and asked and {"TS", "TC"} & set(finding["Dimensions"])
        ]
        if ran + wanted:
            return finding | {"tool": (ran + wanted)[0]}
    return finding | {"tool": ""}
