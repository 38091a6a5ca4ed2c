"""What the API and the command line read: lists of traces and findings, and whether an id is known. All of it blocks.

Conditions are fixed texts; whatever a user typed is a bound parameter. Only findings that hold now show, and only
those at or above the asked confidence, which is another one for traces of an unrecognised convention.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final

from ...schemas.findings import Finding
from ...schemas.judged_rows import FINDING_SELECT, VERDICT_SELECT, finding_from_row, verdict_from_row
from ...schemas.taxonomy import Severity
from ...schemas.trajectory import TraceState
from ...schemas.verdicts import Verdict
from ..reader import Confidence, ErrorQuery, Position, Sighting, TraceQuery, TraceRow
from .client import Store
from .scope import TENANT, Scope

_HOLDS: Final = "State IN ('current', 'provisional')"

OF_SERVICE: Final = f"TraceId IN (SELECT TraceId FROM traces FINAL WHERE {TENANT} AND ServiceName = {{service:String}})"

_OF_AGENT: Final = f"""(TraceId, AgentRunId) IN (
    SELECT TraceId, run.1 FROM traces FINAL ARRAY JOIN arrayZip(Runs.Id, Runs.Name) AS run
    WHERE {TENANT} AND run.2 = {{agent:String}})"""

# A follower asks twice a second, mostly for nothing: the raw look by time spares it the de-duplication of all rows.
_AFTER: Final = "FirstSeen >= {time:UInt64} AND (FirstSeen, Id) > ({time:UInt64}, {id:String})"

_TRACE_SELECT: Final = (
    "TraceId, SessionId, ServiceName, State, Spans, Runs.Name, StartNanos, EndNanos, "
    "toUnixTimestamp64Nano(ReceivedAt) AS Received"
)


class StoredReading:
    """The store as people ask it. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find_traces(self, query: TraceQuery) -> list[TraceRow]:
        """Up to `query.limit` judged traces, latest arrival first, with their findings counted by severity."""
        where, values = _trace_conditions(query)
        rows = Scope(self._store, query.tenant).select(
            f"SELECT {_TRACE_SELECT} FROM traces FINAL WHERE {where} "
            "ORDER BY Received DESC, TraceId DESC LIMIT {limit:UInt64}",
            limit=query.limit,
            **values,
        )
        counts = self._counts([row[0] for row in rows], query.confidence, query.tenant)
        return [_trace_row(row, counts[row[0]]) for row in rows]

    def find_services(self, since: int, limit: int, tenant: str = "") -> list[str]:
        """Up to `limit` services with judged traces that arrived from `since` (unix nanos) on, the latest first."""
        rows = Scope(self._store, tenant).select(
            f"SELECT ServiceName FROM traces FINAL WHERE {TENANT} "
            "AND toUnixTimestamp64Nano(ReceivedAt) >= {since:Int64} "
            "GROUP BY ServiceName ORDER BY max(ReceivedAt) DESC, ServiceName LIMIT {limit:UInt64}",
            since=since,
            limit=limit,
        )
        return [row[0] for row in rows]

    def find_findings(self, query: ErrorQuery) -> list[Sighting]:
        """Up to `query.limit` findings: latest first sight first, or, with `query.after`, earliest first."""
        where, values = _finding_conditions(query)
        order = "FirstSeen, Id" if query.after else "FirstSeen DESC, Id DESC"
        rows = Scope(self._store, query.tenant).select(
            f"SELECT {FINDING_SELECT} FROM findings FINAL WHERE {where} ORDER BY {order} LIMIT {{limit:UInt64}}",
            limit=query.limit,
            **values,
        )
        findings = [finding_from_row(row) for row in rows]
        names = places(self._store, {f.trace_id for f in findings}, query.tenant)
        return [
            Sighting(
                f,
                names.get((f.trace_id, ""), ""),
                names.get((f.trace_id, f.agent_run_id), "") if f.agent_run_id else "",
            )
            for f in findings
        ]

    def load_findings(self, trace_ids: Sequence[str], tenant: str = "") -> dict[str, list[Finding]]:
        """What detectors and judges found in each trace, of any state."""
        found: dict[str, list[Finding]] = {}
        sql = (
            f"SELECT {FINDING_SELECT} FROM findings FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} "
            "ORDER BY FirstSeen, Id"
        )
        for row in Scope(self._store, tenant).select(sql, trace_ids=trace_ids):
            finding = finding_from_row(row)
            found.setdefault(finding.trace_id, []).append(finding)
        return found

    def load_verdicts(self, trace_ids: Sequence[str], tenant: str = "") -> dict[str, list[Verdict]]:
        """The latest verdict of each judge on each subject, by trace id."""
        found: dict[str, list[Verdict]] = {}
        sql = f"SELECT {VERDICT_SELECT} FROM verdicts FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}}"
        for row in Scope(self._store, tenant).select(sql, trace_ids=trace_ids):
            verdict = verdict_from_row(row)
            found.setdefault(verdict.subject.trace_id, []).append(verdict)
        return found

    def knows(self, trace_id: str, span_id: str, tenant: str = "") -> bool:
        """Whether such a trace, such a span, or (both given) such a span of that trace is stored."""
        if not trace_id and not span_id:
            return False
        conditions, values = [TENANT], {}
        if trace_id:
            conditions.append("TraceId = {trace_id:String}")
            values["trace_id"] = trace_id
        if span_id:
            conditions.append("SpanId = {span_id:String}")
            values["span_id"] = span_id
        return bool(
            Scope(self._store, tenant).select(f"SELECT 1 FROM spans WHERE {' AND '.join(conditions)} LIMIT 1", **values)
        )

    def span_trace_ids(self, span_id: str, tenant: str = "") -> list[str]:
        """The traces that have a span of that id."""
        sql = f"SELECT DISTINCT TraceId FROM spans WHERE {TENANT} AND SpanId = {{span_id:String}} ORDER BY TraceId"
        return [row[0] for row in Scope(self._store, tenant).select(sql, span_id=span_id)]

    def _counts(self, trace_ids: Sequence[str], sure: Confidence, tenant: str) -> dict[str, dict[Severity, int]]:
        """Findings that hold, by trace and severity."""
        counts: dict[str, dict[Severity, int]] = defaultdict(lambda: dict.fromkeys(Severity, 0))
        if trace_ids:
            of_these = "TraceId IN {trace_ids:Array(String)}"
            sql = (
                f"SELECT TraceId, Severity, count() FROM findings FINAL WHERE {TENANT} AND {of_these} AND {_HOLDS} "
                f"AND {_sure(sure, of_these)} GROUP BY TraceId, Severity"
            )
            for trace_id, severity, count in Scope(self._store, tenant).select(
                sql, trace_ids=trace_ids, **_thresholds(sure)
            ):
                counts[trace_id][Severity(severity)] = count
        return counts


def places(store: Store, trace_ids: Collection[str], tenant: str) -> dict[tuple[str, str], str]:
    """Names by (trace id, agent run id); the service's under run id ""."""
    found: dict[tuple[str, str], str] = {}
    if trace_ids:
        sql = (
            f"SELECT TraceId, ServiceName, Runs.Id, Runs.Name FROM traces FINAL WHERE {TENANT} "
            "AND TraceId IN {trace_ids:Array(String)}"
        )
        for trace_id, service, ids, names in Scope(store, tenant).select(sql, trace_ids=sorted(trace_ids)):
            found[trace_id, ""] = service
            found.update(((trace_id, run_id), name) for run_id, name in zip(ids, names, strict=True))
    return found


def _trace_conditions(query: TraceQuery) -> tuple[str, dict[str, Any]]:
    conditions, values = [TENANT, "JoinedTo = ''"], {}
    for text, name, value in (
        ("ServiceName = {service:String}", "service", query.service),
        ("SessionId = {session_id:String}", "session_id", query.session_id),
        ("has(Runs.Name, {agent:String})", "agent", query.agent),
        ("toUnixTimestamp64Nano(ReceivedAt) >= {since:Int64}", "since", query.since),
    ):
        if value:
            conditions.append(text)
            values[name] = value
    if query.before:
        conditions.append("(toUnixTimestamp64Nano(ReceivedAt), TraceId) < ({time:Int64}, {id:String})")
        values |= _position(query.before)
    return " AND ".join(conditions), values


def _finding_conditions(query: ErrorQuery) -> tuple[str, dict[str, Any]]:
    conditions, values = [TENANT, _HOLDS, _sure(query.confidence, _place(query))], _thresholds(query.confidence)
    for text, name, value in (
        ("TraceId = {trace_id:String}", "trace_id", query.trace_id),
        ("SpanId = {span_id:String}", "span_id", query.span_id),
        (OF_SERVICE, "service", query.service),
        (_OF_AGENT, "agent", query.agent),
        ("Judge = {judge:String}", "judge", query.judge),
        ("Category = {category:String}", "category", query.category),
        ("FirstSeen >= {since:UInt64}", "since", query.since),
    ):
        if value:
            conditions.append(text)
            values[name] = value
    if query.severity.rank:
        conditions.append("Severity IN {severities:Array(String)}")
        values["severities"] = [s.value for s in Severity if s.rank >= query.severity.rank]
    if query.before:
        # The plain comparison beside the exact one is what the index on FirstSeen understands.
        conditions.append("FirstSeen <= {time:UInt64} AND (FirstSeen, Id) < ({time:UInt64}, {id:String})")
        values |= _position(query.before)
    elif query.after:
        conditions.append(f"{_AFTER} AND TraceId IN (SELECT TraceId FROM findings WHERE {TENANT} AND {_AFTER})")
        values |= _position(query.after)
    return " AND ".join(conditions), values


def _sure(sure: Confidence, place: str) -> str:
    """The condition that a finding is as sure as asked. `place`: the traces in question, to keep the look-up small."""
    if sure.recognised == sure.unrecognised:
        return "Confidence >= {recognised:Float64}"
    unknown = f"SELECT TraceId FROM traces FINAL WHERE {TENANT} AND {place} AND empty(Conventions)"
    return f"Confidence >= if(TraceId IN ({unknown}), {{unrecognised:Float64}}, {{recognised:Float64}})"


def _place(query: ErrorQuery) -> str:
    if query.trace_id:
        return "TraceId = {trace_id:String}"
    if query.span_id:
        return f"TraceId IN (SELECT TraceId FROM findings WHERE {TENANT} AND SpanId = {{span_id:String}})"
    return "1"


def _thresholds(sure: Confidence) -> dict[str, Any]:
    return {"recognised": sure.recognised, "unrecognised": sure.unrecognised}


def _position(position: Position) -> dict[str, Any]:
    return {"time": position.time, "id": position.id}


def _trace_row(row: Sequence[Any], findings: dict[Severity, int]) -> TraceRow:
    return TraceRow(
        trace_id=row[0],
        session_id=row[1],
        service=row[2],
        state=TraceState(row[3]),
        spans=row[4],
        agents=tuple(row[5]),
        start=row[6],
        end=row[7],
        received=row[8],
        findings=findings,
    )
