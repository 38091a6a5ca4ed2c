"""The store of the judging thread. All methods block."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from tracejury.judges.causes import led_by
from tracejury.processors.assemble import TraceKey
from tracejury.processors.call_edges import edges_of
from tracejury.processors.trace_outline import is_large, outline_of, to_json
from tracejury.schemas.columns import Row
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import (
    FINDING_COLUMNS,
    JUDGEMENT_COLUMNS,
    TRACE_COLUMNS,
    VERDICT_COLUMNS,
    finding_row,
    judgement_row,
    trace_row,
    verdict_row,
)
from tracejury.schemas.rows import LOG_SELECT, SPAN_SELECT
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import DETECTORS, JudgedTrace, LedgerEntries, Outcome

from . import ledger
from .deleted_elsewhere import delete_made
from .derived.deriving import derive, derive_until_stable
from .detector_opinions import read_opinions
from .findings import findings_by_trace
from .inserting import insert_rows, storing
from .joins import StoredJoins
from .known_traces import KnownTraces
from .outlines import StoredOutlines
from .pending_traces import JUDGED
from .scope import TENANT, Scope
from .session_traces import StoredSessionTraces
from .shared_store import SharedStore
from .stored_rows import select_logs, select_spans
from .unjudged import OthersTime, UnjudgedSweep

_IN_TRACES = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"
SPAN_IDS = 2_000
"""Ids of spans in one question: a server takes 128 KiB of a parameter."""

_SOME = (
    f"{_IN_TRACES} AND SpanId IN {{span_ids:Array(String)}} AND toUnixTimestamp64Nano(ReceivedAt) <= {{through:Int64}}"
)

_KNOWN_ROWS = f"""
SELECT TraceId, sum(known) FROM
(
    SELECT TraceId, uniqExact(SpanId) AS known FROM spans WHERE {_IN_TRACES} GROUP BY TraceId
    UNION ALL
    SELECT TraceId, count() FROM logs FINAL WHERE {_IN_TRACES} GROUP BY TraceId
    UNION ALL
    SELECT DISTINCT TraceId, 1 FROM traces WHERE {_IN_TRACES} AND {JUDGED}
)
GROUP BY TraceId
"""


_QUIET_FOR: Final = f"""
SELECT TraceId, toUnixTimestamp64Nano(now64(9)) - max(at) FROM
(
    SELECT TraceId, toUnixTimestamp64Nano(StoredAt) AS at FROM spans WHERE {_IN_TRACES}
    UNION ALL
    SELECT TraceId, toUnixTimestamp64Nano(StoredAt) AS at FROM logs WHERE {_IN_TRACES}
)
GROUP BY TraceId
"""


class StoredJudging:
    """The store as the judging thread sees it: reads of one tenant; `unjudged`, `save` and `stays` are of all."""

    def __init__(self, store: SharedStore, tenant: str = "") -> None:
        self._store = store
        self._scope = Scope(store, tenant)
        self.joins = StoredJoins(store, tenant)
        self.sessions = StoredSessionTraces(store, tenant)
        self._sweep = UnjudgedSweep(store)

    def of(self, tenant: str) -> StoredJudging:
        """The same of another tenant."""
        return StoredJudging(self._store, tenant)

    def known_rows(self, trace_ids: Sequence[str]) -> dict[str, int]:
        """Distinct spans and log records stored of each trace, one more where it was judged; absent: nothing is."""
        rows = self._scope.select(_KNOWN_ROWS, trace_ids=trace_ids)
        return {row[0]: row[1] for row in rows}

    def known_traces(self) -> KnownTraces | None:
        """The traces of all tenants that have rows; None where others may write to the store as well."""
        if not self._store.embedded:
            return None
        known = KnownTraces()
        known.load(self._store)
        return known

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        """All spans and log records of each trace, de-duplicated, in order of time; absent: no such trace."""
        found: dict[str, tuple[list[Span], list[LogRecord]]] = {}
        spans = f"SELECT {SPAN_SELECT} FROM spans FINAL WHERE {_IN_TRACES} ORDER BY StartNanos, SpanId"
        for span in select_spans(self._scope, spans, trace_ids=trace_ids):
            found.setdefault(span.trace_id, ([], []))[0].append(span)
        logs = f"SELECT {LOG_SELECT} FROM logs FINAL WHERE {_IN_TRACES} ORDER BY Nanos, ObservedNanos, SpanId"
        for record in select_logs(self._scope, logs, trace_ids=trace_ids):
            found.setdefault(record.trace_id, ([], []))[1].append(record)
        return found

    def last_arrivals(self, trace_ids: Sequence[str], now: int) -> dict[str, int]:
        """When a server got the newest row of each trace, by this process's clock: it is `now` (unix nanos).

        A row may say that it arrives later: its receiver was of an earlier version, and its clock ahead.

        Nothing for an embedded store, whose rows all say when they arrived by that clock.
        """
        if self._store.embedded or not trace_ids:
            return {}
        return {row[0]: now - max(row[1], 0) for row in self._scope.select(_QUIET_FOR, trace_ids=trace_ids)}

    def load_some(
        self, trace_ids: Sequence[str], span_ids: Sequence[str], through: int
    ) -> tuple[list[Span], list[LogRecord]]:
        """Those spans as they had arrived by `through` (unix nanos), all copies, and their log records."""
        values = {"trace_ids": trace_ids, "through": through}
        spans: list[Span] = []
        logs: list[LogRecord] = []
        for first in range(0, len(span_ids), SPAN_IDS):
            ids = span_ids[first : first + SPAN_IDS]
            sql = f"SELECT {SPAN_SELECT} FROM spans WHERE {_SOME} ORDER BY StartNanos, SpanId, ReceivedAt"
            spans += select_spans(self._scope, sql, span_ids=ids, **values)
            sql = f"SELECT {LOG_SELECT} FROM logs FINAL WHERE {_SOME} ORDER BY Nanos, ObservedNanos, SpanId"
            logs += select_logs(self._scope, sql, span_ids=ids, **values)
        return spans, logs

    def load_findings(self, trace_ids: Sequence[str]) -> dict[str, list[Finding]]:
        """The detectors' findings of each trace, of any state."""
        return findings_by_trace(self._scope, trace_ids, f"JudgedBy = '{DETECTORS}'")

    def load_ledger(self, trace_ids: Sequence[str]) -> dict[str, LedgerEntries]:
        """The latest entries of LLM judges on the subjects of each trace; absent: none."""
        found: dict[str, LedgerEntries] = {}
        for trace_id, words in ledger.outcomes(self._store, trace_ids, self._scope.tenant).items():
            said: LedgerEntries = {key: word for key, word in words.items() if word.judge != DETECTORS}
            if said:
                found[trace_id] = said
        return found

    def joined_to(self, trace_ids: Sequence[str]) -> dict[str, str]:
        """As part of which trace each was judged, "" for itself; absent: never judged."""
        sql = f"SELECT TraceId, JoinedTo FROM traces FINAL WHERE {_IN_TRACES} AND {JUDGED}"
        return {row[0]: row[1] for row in self._scope.select(sql, trace_ids=trace_ids)}

    def settled(self, trace_ids: Sequence[str]) -> dict[str, int]:
        """Those that were judged when they were complete, each with its newest arrival then (unix nanos)."""
        sql = (
            f"SELECT TraceId, toUnixTimestamp64Nano(ReceivedAt) FROM traces FINAL "
            f"WHERE {_IN_TRACES} AND {JUDGED} AND State != '{TraceState.OPEN}'"
        )
        return {row[0]: row[1] for row in self._scope.select(sql, trace_ids=trace_ids)}

    def unjudged(self, version: str, limit: int, others: OthersTime | None = None) -> list[TraceKey]:
        """Up to `limit` traces of all tenants that are not finished, the earliest arrival first.

        `others`: the time that other processes have for them.
        """
        return self._sweep.find(version, limit, others)

    def unjudged_among(self, keys: Collection[TraceKey], version: str) -> list[TraceKey]:
        """Those of these traces, of all tenants, that are not finished."""
        return self._sweep.among(keys, version)

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        """Store judged traces with their errors, each judgement last: until then the trace counts as not judged.

        Pending entries of a trace are stored before its own judgement, so that no agent run is forgotten.
        Storing the same again, or an older judging after a newer one, changes nothing.

        Raises:
            RetryableError: a passing failure; storing it again is safe.
            StoreError: something in it can never be stored.
        """
        store = self._store
        with storing("what was judged"), store.deletions.writing():
            outdone = store.judged_elsewhere.outdone(judged)
            judged = [j for j in judged if self.stays(j) and (j.trace.tenant, j.trace.trace_id) not in outdone]
            said = ((v, word) for j in judged for word in (j.judgement, *j.ledger) for v in word.verdicts)
            verdicts = (verdict_row(v, word) for v, word in said)
            traces = {(j.trace.tenant, j.trace.trace_id): (j, _trace_row(j)) for j in judged}
            words = (judgement_row(word, j.trace.state) for j in judged for word in j.ledger)
            last = [(j.judgement, j.trace.state) for j in judged]
            with ThreadPoolExecutor(1, "judged") as beside:  # an insert waits more than it works
                summed = beside.submit(insert_rows, store, "traces", TRACE_COLUMNS, [row for _, row in traces.values()])
                self._save_findings(judged)
                insert_rows(store, "verdicts", VERDICT_COLUMNS, verdicts)
                self._keep_outlines(judged)
            summed.result()
            store.pending.judged((j.trace.tenant, j.trace.trace_id) for j in judged)
            insert_rows(store, "judgements", JUDGEMENT_COLUMNS, words)
            with store.derivation:
                derive(store, traces, last, traces)
                insert_rows(store, "judgements", JUDGEMENT_COLUMNS, (judgement_row(*one) for one in last))
                derive_until_stable(store, traces)
        delete_made(store, {(j.trace.tenant, j.trace.trace_id): j.judgement.received_through for j in judged})

    def _save_findings(self, judged: Sequence[JudgedTrace]) -> None:
        """Store the changed findings; once more where another process has stored an opinion on one meanwhile."""
        store = self._store
        keys = [(j.trace.tenant, j.trace.trace_id) for j in judged if j.changed or j.retracted]
        with store.opinions.writing:
            known = read_opinions(store, keys)
            insert_rows(store, "findings", FINDING_COLUMNS, self._finding_rows(judged))
            if not read_opinions(store, keys) <= known:
                insert_rows(store, "findings", FINDING_COLUMNS, self._finding_rows(judged))

    def _finding_rows(self, judged: Sequence[JudgedTrace]) -> Iterator[Row]:
        """The changed findings with what judges said of them since they were last read."""
        for one in judged:
            for found in (*one.changed, *one.retracted):
                finding, at = self._store.opinions.stamped(found, one.judgement.judged_at)
                judgement = one.judgement if at == one.judgement.judged_at else replace(one.judgement, judged_at=at)
                yield finding_row(finding, judgement, led_by(finding))

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write to the store, too."""
        return not self._store.embedded

    def read_judgements(self, trace_ids: Sequence[str]) -> None:
        """See `JudgedElsewhere`."""
        self._store.judged_elsewhere.read(self._scope.tenant, trace_ids)

    def judged_at(self, keys: Collection[TraceKey], now: int) -> int:
        """See `JudgedElsewhere`."""
        return self._store.judged_elsewhere.judged_at(keys, now)

    def judged_meanwhile(self, saved: Sequence[JudgedTrace]) -> list[TraceKey]:
        """Those of these traces, just saved, that another process has judged since they were read: judge them again."""
        return self._store.judged_elsewhere.stored(saved)

    def reviewed(self, stored: Mapping[str, Finding]) -> Mapping[str, Finding]:
        """The detectors' findings of a trace, by id, as last stored, with what judges said of them since."""
        return self._store.opinions.on(stored)

    def stays(self, judged: JudgedTrace) -> bool:
        """Whether a trace was not deleted since it was as it was judged."""
        key = (judged.trace.tenant, judged.trace.trace_id)
        return self._store.deletions.stays(key, judged.judgement.received_through)

    def _keep_outlines(self, judged: Sequence[JudgedTrace]) -> None:
        for one in judged:
            trace = one.trace
            whole = one.judgement.outcome is Outcome.DONE and not trace.joined_to
            if whole and trace.state is not TraceState.OPEN and is_large(trace):
                outlines = StoredOutlines(self._store, trace.tenant)
                outlines.keep(trace.trace_id, to_json(outline_of(trace)).decode(), trace.received_through)


def _trace_row(judged: JudgedTrace) -> Row:
    return trace_row(judged.trace, judged.judgement, judged.spent, edges_of(judged.trace))
