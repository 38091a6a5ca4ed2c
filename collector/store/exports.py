"""Forwarding state by backend: the traces that are due, and what each backend already has. All of it blocks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.collector.worker.listeners import TAKE_UP
from tracejury.processors.assemble import SECOND
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.export_rows import EXPORT_COLUMNS, ExportProgress, export_row
from tracejury.schemas.judged_rows import FINDING_SELECT, STANDS, VERDICT_SELECT, verdict_from_row
from tracejury.schemas.queries.export_record import JudgedOpinion, TraceRecord
from tracejury.schemas.rows import LOG_SELECT, SPAN_SELECT
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.verdicts import Outcome, SubjectKind, Verdict

from . import ledger
from .client import Store
from .errors import StoredErrors
from .findings import read_finding
from .inserting import store_rows
from .install import install_once
from .joins import StoredJoins
from .scope import TENANT, Scope
from .stored_rows import select_logs, select_spans

PAGE_ROWS: Final = 1000
"""Spans that are read at once."""

_THESE: Final = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"

# A trace is due once it has a judgement that the backend lacks; those of sessions have no trace id. Traces forwarded
# shortly before the last stop are due once more: a judgement made before may have been stored after.
_DUE: Final = f"""
SELECT said.TraceId FROM
(
    SELECT TraceId, max(JudgedAt) AS at, argMaxIf(TraceState, JudgedAt, SubjectKind = 'trace') AS state
    FROM judgements WHERE {TENANT} AND JudgedAt >= {{since:UInt64}} AND {{which}} GROUP BY TraceId
) AS said
LEFT JOIN
(
    SELECT TraceId, argMax(Seen, At) AS seen, max(At) AS passed
    FROM exports WHERE {TENANT} AND Backend = {{backend:String}} GROUP BY TraceId
) AS had ON said.TraceId = had.TraceId
WHERE said.state != 'open' AND said.at <= {{until:UInt64}} AND (said.at > had.seen OR had.passed >= {{again:UInt64}})
ORDER BY said.at, said.TraceId LIMIT {{limit:UInt64}}
"""

_ALL: Final = _DUE.replace("{which}", "TraceId != ''")
_NAMED: Final = _DUE.replace("{which}", "TraceId IN {trace_ids:Array(String)}")
_NEVER: Final = 2**64 - 1

_TRACES: Final = (
    "SELECT TraceId, State, JudgedAt, toUnixTimestamp64Nano(ReceivedAt) AS Received, Conventions, Runs.Id, "
    f"Runs.SpanId, JoinedTo FROM traces FINAL WHERE {_THESE}"
)

_FACTS: Final = f"""
SELECT
    TraceId, count(), argMin(TraceState, (StartNanos, SpanId)), max(Status = 2),
    argMin(SpanId, (ParentSpanId != '', StartNanos, SpanId))
FROM spans FINAL WHERE {_THESE} GROUP BY TraceId
"""

_ENDS: Final = (
    f"SELECT TraceId, SpanId, EndNanos FROM spans FINAL WHERE {_THESE} AND SpanId IN {{span_ids:Array(String)}}"
)
_FINDINGS: Final = (
    f"SELECT {FINDING_SELECT}, JudgedBy, JudgedAt FROM findings FINAL WHERE {_THESE} ORDER BY FirstSeen, Id"
)
_VERDICTS: Final = (
    f"SELECT {VERDICT_SELECT}, JudgedAt FROM verdicts FINAL WHERE {_THESE} AND {STANDS} "
    "ORDER BY SubjectKind, SubjectId, Judge"
)
_HAD: Final = (
    f"SELECT TraceId, Seen, Items.Id, Items.Digest FROM exports FINAL WHERE {_THESE} AND Backend = {{backend:String}}"
)
_SPANS: Final = (
    f"SELECT {SPAN_SELECT} FROM spans FINAL WHERE {_THESE} AND (TraceId, SpanId) > ({{after:String}}, {{last:String}}) "
    "ORDER BY TraceId, SpanId LIMIT {limit:UInt64}"
)
_LOGS: Final = f"SELECT {LOG_SELECT} FROM logs FINAL WHERE {_THESE} ORDER BY TraceId, Nanos, ObservedNanos, SpanId"

_LAST: Final = f"SELECT max(At) FROM exports WHERE {TENANT} AND Backend = {{backend:String}}"

_WAITED_FOR: Final = frozenset({SubjectKind.AGENT_RUN, SubjectKind.TRACE})
"""What a trace waits for before it goes out: its runs, and then which error decided it."""


class StoredExports:
    """The store as one backend's forwarder sees it. Methods raise RetryableError for what may pass, else StoreError."""

    def __init__(
        self, store: Store, backend: str, tenant: str = "", *, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._store, self._backend, self._tenant, self._clock = store, backend, tenant, clock
        self._scope, self._joins = Scope(store, tenant), StoredJoins(store, tenant)

    def since(self) -> int:
        """When the backend was first set up (unix nanos): what was judged before is not passed on to it."""
        return install_once(self._scope, f"export {self._backend}", "", self._clock())[1]

    def last_passed(self) -> int:
        """When anything was last passed on (unix nanos), 0 for never."""
        return int(self._scope.select(_LAST, backend=self._backend)[0][0])

    def due(self, since: int, again: int, limit: int) -> list[str]:
        """Up to `limit` trace ids, the longest waiting first, in which something is said that the backend lacks.

        Judged from `since` on; those passed on from `again` on are due in any case (all in unix nanos). On a server
        those that others may be about to send are left to them.
        """
        until = _NEVER if self._store.embedded else max(self._clock() - round(TAKE_UP.longest * SECOND), 0)
        values = {"backend": self._backend, "since": since, "again": again, "until": until, "limit": limit}
        return [row[0] for row in self._scope.select(_ALL, **values)]

    def left(self, trace_ids: Sequence[str]) -> list[str]:
        """Those of these traces that have something judged since the backend was set up, and that it lacks."""
        values = {"backend": self._backend, "since": self.since(), "again": _NEVER, "until": _NEVER}
        return [row[0] for row in self._scope.select(_NAMED, trace_ids=trace_ids, limit=len(trace_ids), **values)]

    def records(self, trace_ids: Sequence[str]) -> dict[str, TraceRecord]:
        """The records of these traces, and of those judged as one with them that have something left to forward.

        Absent: never judged, or not stored any more.
        """
        joined = self._joins.partners(trace_ids) if self._joins.any() else {}
        ids = sorted({*trace_ids, *(t for group in joined.values() for t in group)})
        single = self._singles(ids)
        groups: dict[str, list[TraceRecord]] = defaultdict(list)
        for record in single.values():
            groups[record.leader].append(record)
        asked, found = set(trace_ids), {}
        for leader, group in groups.items():
            for record in group:
                kin = tuple(r for r in group if r is not record)
                seen = max(r.seen for r in group)
                if record.trace_id in asked or seen > record.sent_seen:
                    found[record.trace_id] = replace(record, kin=kin, leader=leader if kin else "", seen=seen)
        return found

    def _singles(self, trace_ids: Sequence[str]) -> dict[str, TraceRecord]:
        """The traces, each by itself; `leader`: the id of the one that it shows at."""
        traces = {row[0]: row for row in self._scope.select(_TRACES, trace_ids=list(trace_ids))}
        facts = {row[0]: row for row in self._scope.select(_FACTS, trace_ids=list(traces))} if traces else {}
        if not facts:
            return {}
        ids = sorted(facts)
        words = ledger.outcomes(self._store, ids, self._tenant)
        opinions = self._opinions(ids)
        errors: dict[str, list[ErrorSummary]] = defaultdict(list)
        for error in StoredErrors(self._store, self._tenant).led_in(ids):
            errors[error.trace_id].append(error)
        ends = self._ends(ids, (s for t in ids for s in _spans_meant(traces[t], facts[t], opinions[t])))
        had = {row[0]: row for row in self._scope.select(_HAD, trace_ids=ids, backend=self._backend)}
        found = {}
        for trace_id in ids:
            said = words.get(trace_id, {}).values()
            row, fact = traces[trace_id], facts[trace_id]
            _, seen, item_ids, digests = had.get(trace_id, ("", 0, (), ()))
            found[trace_id] = TraceRecord(
                trace_id=trace_id,
                state=row[1],
                judged_at=row[2],
                seen=max((w.judged_at for w in said), default=row[2]),
                received_at=row[3],
                rows=fact[1],
                conventions=tuple(row[4]),
                pending=any(w.outcome is Outcome.PENDING and w.kind in _WAITED_FOR for w in said),
                failed=any(w.outcome is Outcome.FAILED for w in said),
                run_spans=dict(zip(row[5], row[6], strict=True)),
                top=fact[4],
                trace_state=fact[2],
                errors=bool(fact[3]),
                opinions=tuple(opinions[trace_id]),
                found=tuple(errors[trace_id]),
                leader=row[7] or trace_id,
                ends=ends,
                sent=dict(zip(item_ids, digests, strict=True)),
                sent_seen=seen,
            )
        return found

    def pages(self, trace_ids: Sequence[str]) -> Iterator[list[Span]]:
        """All spans of these traces, trace by trace in the order of their ids, `PAGE_ROWS` at a time."""
        after = last = ""
        while True:
            values = {"trace_ids": list(trace_ids), "after": after, "last": last, "limit": PAGE_ROWS}
            spans = select_spans(self._scope, _SPANS, **values)
            if spans:
                yield spans
            if len(spans) < PAGE_ROWS:
                return
            after, last = spans[-1].trace_id, spans[-1].span_id

    def logs(self, trace_ids: Sequence[str]) -> dict[str, list[LogRecord]]:
        """All log records of each trace, in order of time; absent: none."""
        found: dict[str, list[LogRecord]] = defaultdict(list)
        for record in select_logs(self._scope, _LOGS, trace_ids=list(trace_ids)):
            found[record.trace_id].append(record)
        return found

    def save(self, progress: Sequence[ExportProgress]) -> None:
        """Keep what the backend has by now; keeping the same again changes nothing."""
        rows = (export_row(p, self._tenant, self._backend) for p in progress)
        store_rows(self._store, "what was passed on", "exports", EXPORT_COLUMNS, rows)

    def _opinions(self, trace_ids: Sequence[str]) -> Mapping[str, list[JudgedOpinion]]:
        found: dict[str, list[JudgedOpinion]] = defaultdict(list)
        for row in self._scope.select(_FINDINGS, trace_ids=list(trace_ids)):
            finding = read_finding(row)
            found[finding.trace_id].append(JudgedOpinion(finding, *row[-2:]))
        for row in self._scope.select(_VERDICTS, trace_ids=list(trace_ids)):
            verdict = verdict_from_row(row)
            found[verdict.subject.trace_id].append(JudgedOpinion(verdict, verdict.judge, row[-1]))
        return found

    def _ends(self, trace_ids: Sequence[str], span_ids: Iterable[str]) -> dict[tuple[str, str], int]:
        wanted = sorted(set(span_ids))
        rows = self._scope.select(_ENDS, trace_ids=list(trace_ids), span_ids=wanted) if wanted else ()
        return {(trace_id, span_id): end for trace_id, span_id, end in rows}


def _spans_meant(trace: Sequence[Any], fact: Sequence[Any], opinions: Iterable[JudgedOpinion]) -> Iterator[str]:
    """Ids of the spans that opinions in a trace are about."""
    yield fact[4]
    for opinion in opinions:
        if isinstance(opinion.said, Verdict):
            yield from trace[6]
        else:
            yield opinion.said.span_id
