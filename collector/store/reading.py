"""Reads for the API and the command line: lists of traces and findings, and known ids. All of it blocks.

Conditions are fixed texts; whatever a user typed is a bound parameter. Only findings that hold now show, and only
those at or above the asked confidence, which is another one for traces of an unrecognised convention.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.filters import ERROR_FILTERS, SPAN_FILTER, conditions
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import FINDING_SELECT, STANDS, VERDICT_SELECT, verdict_from_row
from tracejury.schemas.queries.reader import ErrorQuery, LocatedFinding, TraceQuery, TraceRow
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Verdict

from .client import Store
from .findings import findings_by_trace, read_finding
from .lists.findings import HOLDS, sure, thresholds
from .lists.latest import FINDINGS, TRACES, Asked, latest, narrowed
from .lists.names import is_whole, short
from .lists.stated import stated
from .lists.traces import TraceLists
from .scope import TENANT, Scope, TenantRows

# A follower asks twice a second, mostly for nothing: the raw look by time spares it the de-duplication of all rows.
_AFTER: Final = "FirstSeen >= {time:UInt64} AND (FirstSeen, Id) > ({time:UInt64}, {id:String})"


class StoredReading(TenantRows):
    """One tenant's rows as people ask for them.

    Methods raise RetryableError for what may pass, StoreError for the rest.
    """

    def find_traces(self, query: TraceQuery) -> list[TraceRow]:
        """Up to `query.limit` traces in the asked order, with their findings counted by severity."""
        return TraceLists(self._scope.store, self._scope.tenant).find(query)

    def find_services(self, since: int, limit: int) -> list[str]:
        """Up to `limit` services with judged traces that arrived from `since` (unix nanos) on, the latest first.

        None of those whose names lists cut.
        """
        rows = self._scope.select(
            # Without FINAL: a row of a trace that was replaced names its service, too.
            f"SELECT ServiceName FROM traces WHERE {TENANT} "
            f"AND ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}}) AND {is_whole('ServiceName')} "
            "GROUP BY ServiceName ORDER BY max(ReceivedAt) DESC, ServiceName LIMIT {limit:UInt64}",
            since=since,
            limit=limit,
        )
        return [row[0] for row in rows]

    def find_findings(self, query: ErrorQuery) -> list[LocatedFinding]:
        """Up to `query.limit` findings: latest first sight first, or, with `query.after`, earliest first."""
        asked = _asked(query, self._store)
        if query.after or query.is_narrow:
            order = "FirstSeen, Id" if query.after else "FirstSeen DESC, Id DESC"
            rows = self._scope.select(
                f"SELECT {FINDING_SELECT} FROM findings FINAL WHERE {_where(query, asked)} ORDER BY {order} "
                "LIMIT {limit:UInt64}",
                limit=query.limit,
                **asked.values,
            )
        else:
            rows = latest(self._scope, FINDINGS, asked)
        findings = [read_finding(row) for row in rows]
        names = places(self._scope, {f.trace_id for f in findings})
        return [
            LocatedFinding(
                f,
                names.get((f.trace_id, ""), ""),
                names.get((f.trace_id, f.agent_run_id), "") if f.agent_run_id else "",
            )
            for f in findings
        ]

    def count_findings(self, query: ErrorQuery) -> int:
        """How many findings there are, whatever limit the query names."""
        asked = _asked(query, self._store)
        sql = f"SELECT count() FROM findings FINAL WHERE {_where(query, asked)}"
        rows = self._scope.select(sql, **asked.values)
        return int(rows[0][0])

    def load_findings(self, trace_ids: Sequence[str]) -> dict[str, list[Finding]]:
        """The findings of detectors and judges in each trace, of any state."""
        return findings_by_trace(self._scope, trace_ids, read=read_finding)

    def load_verdicts(self, trace_ids: Sequence[str]) -> dict[str, list[Verdict]]:
        """The latest verdict of each judge on each subject, by trace id."""
        found: dict[str, list[Verdict]] = {}
        sql = (
            f"SELECT {VERDICT_SELECT} FROM verdicts FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} "
            f"AND {STANDS}"
        )
        for row in self._scope.select(sql, trace_ids=trace_ids):
            verdict = verdict_from_row(row)
            found.setdefault(verdict.subject.trace_id, []).append(verdict)
        return found

    def load_session_verdicts(self, subject_ids: Sequence[str]) -> list[Verdict]:
        """The latest verdict of each judge on each of these sessions (`session_subject_id`)."""
        sql = (
            f"SELECT {VERDICT_SELECT} FROM verdicts FINAL WHERE {TENANT} AND TraceId = '' AND SubjectKind = 'session' "
            f"AND SubjectId IN {{subject_ids:Array(String)}} AND {STANDS} ORDER BY SubjectId, Judge"
        )
        rows = self._scope.select(sql, subject_ids=subject_ids) if subject_ids else ()
        return [verdict_from_row(row) for row in rows]

    def knows(self, trace_id: str, span_id: str) -> bool:
        """Whether such a trace, such a span, or (both given) such a span of that trace is stored."""
        if not trace_id and not span_id:
            return False
        named = {"TraceId = {trace_id:String}": trace_id, "SpanId = {span_id:String}": span_id}
        where = " AND ".join([TENANT, *(text for text, value in named.items() if value)])
        sql = f"SELECT 1 FROM spans WHERE {where} LIMIT 1"
        return bool(self._scope.select(sql, trace_id=trace_id, span_id=span_id))

    def span_trace_ids(self, span_id: str) -> list[str]:
        """The traces that have a span of that id."""
        sql = f"SELECT DISTINCT TraceId FROM spans WHERE {TENANT} AND SpanId = {{span_id:String}} ORDER BY TraceId"
        return [row[0] for row in self._scope.select(sql, span_id=span_id)]


def places(scope: Scope, trace_ids: Collection[str]) -> dict[tuple[str, str], str]:
    """Names as lists show them, by (trace id, agent run id); the service's under run id ""."""
    found: dict[tuple[str, str], str] = {}
    if trace_ids:
        sql = (
            f"SELECT TraceId, {short('ServiceName')}, Runs.Id, arrayMap(n -> {short('n')}, Runs.Name) "
            f"FROM {TRACES.newest('TraceId IN {trace_ids:Array(String)}')}"
        )
        for trace_id, service, ids, names in scope.select(sql, trace_ids=sorted(trace_ids)):
            found[trace_id, ""] = service
            found.update(((trace_id, run_id), name) for run_id, name in zip(ids, names, strict=True))
    return found


def _where(query: ErrorQuery, asked: Asked) -> str:
    return " AND ".join([TENANT, *asked.own, *asked.of_traces(_place(query))])


def _asked(query: ErrorQuery, store: Store) -> Asked:
    sure_of = query.confidence
    asked, values = conditions((*ERROR_FILTERS, SPAN_FILTER), query)
    of_traces = [text for text in asked if TENANT in text]
    found = [HOLDS, "Confidence >= {surest:Float64}", *(text for text in asked if TENANT not in text)]
    values |= {**thresholds(sure_of), "surest": min(sure_of.recognised, sure_of.unrecognised)}
    if query.since:
        found.append("FirstSeen >= {since:UInt64}")
        values["since"] = query.since
    if query.severity.rank:
        found.append("Severity IN {severities:Array(String)}")
        values["severities"] = [s.value for s in Severity if s.rank >= query.severity.rank]
    if query.decisive:
        found.append("Judge = {decisive:String}")
        values["decisive"] = DECISIVE
    if query.before:
        # The plain comparison beside the exact one is what the index on FirstSeen understands.
        found.append("FirstSeen <= {until:UInt64} AND (FirstSeen, Id) < ({until:UInt64}, {until_id:String})")
        values |= {"until": query.before.time, "until_id": query.before.id}
    if query.after:
        found.append(f"{_AFTER} AND TraceId IN (SELECT TraceId FROM findings WHERE {TENANT} AND {_AFTER})")
        values |= {"time": query.after.time, "id": query.after.id}
    by_spans, values_of_spans = stated(query, store)
    values |= values_of_spans
    return Asked(
        lambda _: FINDING_SELECT,
        found,
        lambda place: [sure(sure_of, place), *narrowed(of_traces, place), *by_spans],
        values,
        query.limit,
    )


def _place(query: ErrorQuery) -> str:
    if query.trace_id:
        return "TraceId = {trace_id:String}"
    if query.span_id:
        return f"TraceId IN (SELECT TraceId FROM findings WHERE {TENANT} AND SpanId = {{span_id:String}})"
    return "1"
