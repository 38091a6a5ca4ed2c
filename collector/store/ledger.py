"""Reading the ledger: the last word of each judge on each subject. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.schemas.filters import LEDGER_FILTERS, conditions
from tracejury.schemas.llm_rows import LATEST, LEDGER_SELECT, LedgerRow, Spend, ledger_from_row
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.ledger import JudgedState, LedgerEntry, LedgerQuery
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import DETECTORS, Outcome, Subject, SubjectKind, session_of

from .answers import StoredAnswers
from .client import Store
from .pending_traces import DERIVED
from .reading import StoredReading, places
from .scope import TENANT, Scope, TenantRows

LedgerKey = tuple[SubjectKind, str, str]
"""Subject kind, subject id, judge: of one trace."""

# Rows of one subject, which were written together, are not cut apart. A row that saw less than another one of its
# subject and judge waits for nothing any more.
_PENDING: Final = f"""
SELECT {LEDGER_SELECT} FROM
(
    SELECT *, max(ReceivedAt) OVER (PARTITION BY tenant, TraceId, SubjectKind, SubjectId, Judge) AS Newest
    FROM judgements FINAL WHERE TraceId IN (SELECT DISTINCT TraceId FROM judgements WHERE Outcome = 'pending')
)
WHERE Outcome = 'pending' AND ReceivedAt = Newest {{left}}
ORDER BY JudgedAt, tenant, TraceId, SubjectKind, SubjectId
LIMIT {{limit:UInt64}} WITH TIES
"""

_OUTCOMES: Final = f"""
SELECT {LEDGER_SELECT} FROM judgements FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} {LATEST}
"""


def pending(store: Store, limit: int, waited: int = 0) -> list[LedgerRow]:
    """The pending entries of all tenants, the oldest first; about `limit` rows, all judges of a subject together.

    `waited`: only those that a server has had for so many nanos.
    """
    left = "AND toUnixTimestamp64Nano(now64(9)) - toUnixTimestamp64Nano(StoredAt) >= {waited:Int64}" if waited else ""
    found = store.rows(_PENDING.replace("{left}", left), {"limit": limit, "waited": waited})
    rows = [ledger_from_row(row) for row in found]
    return sorted(rows, key=lambda r: (r.judged_at, r.tenant, r.trace_id, r.kind, r.subject_id, r.judge))


def outcomes(store: Store, trace_ids: Sequence[str], tenant: str = "") -> dict[str, dict[LedgerKey, LedgerRow]]:
    """By trace id: what each judge last said of each subject; absent: nothing was said."""
    found: dict[str, dict[LedgerKey, LedgerRow]] = {}
    for row in Scope(store, tenant).select(_OUTCOMES, trace_ids=list(trace_ids)):
        word = ledger_from_row(row)
        found.setdefault(word.trace_id, {})[word.kind, word.subject_id, word.judge] = word
    return found


# A place among words of one time; of a fixed length, whatever the ids are.
_ID: Final = "hex(sipHash128(TraceId, SubjectKind, SubjectId, Judge)) AS Id"

_JUDGED: Final = (
    f"SELECT State, length(Runs.Id), NotJudged FROM traces FINAL WHERE {TENANT} AND {DERIVED} "
    "AND TraceId = {trace_id:String}"
)

_PENDING_SUBJECTS: Final = f"""
SELECT TraceId, uniqExact(SubjectKind, SubjectId) FROM (SELECT * FROM judgements FINAL WHERE {TENANT}
AND TraceId IN {{trace_ids:Array(String)}} AND SubjectKind IN ('agent-run', 'exchange', 'session') {LATEST})
WHERE Outcome = 'pending' GROUP BY TraceId
"""


class StoredLedger(TenantRows):
    """One tenant's ledger as people ask it. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def entries(self, query: LedgerQuery) -> list[LedgerEntry]:
        """Up to `query.limit` words, latest first."""
        latest, values = _latest(query)
        shown = _shown(query)
        if query.outcome is not None:
            shown += " AND Outcome = {outcome:String}"
            values["outcome"] = query.outcome.value
        if query.before is not None:
            shown += " AND (JudgedAt, Id) < ({time:UInt64}, {id:String})"
            values |= {"time": query.before.time, "id": query.before.id}
        sql = f"SELECT * FROM ({latest}) WHERE {shown} ORDER BY JudgedAt DESC, Id DESC LIMIT {{limit:UInt64}}"
        rows = self._scope.select(sql, limit=query.limit, **values)
        return self._placed([(ledger_from_row(row), row[-1]) for row in rows])

    def summary(self, query: LedgerQuery) -> dict[Outcome, int]:
        """How many words of each outcome there are, whatever outcome and place in the list the query names."""
        latest, values = _latest(query)
        sql = f"SELECT Outcome, count() FROM ({latest}) WHERE {_shown(replace(query, outcome=None))} GROUP BY Outcome"
        counts = {Outcome(row[0]): row[1] for row in self._scope.select(sql, **values)}
        return {outcome: counts[outcome] for outcome in Outcome if outcome in counts}

    def judged_trace(self, trace_id: str) -> JudgedState | None:
        """The state of a trace when it was judged; None where it was not."""
        for state, runs, why in self._scope.select(_JUDGED, trace_id=trace_id):
            return JudgedState(TraceState(state), runs, NotJudged(why) if why else None)
        return None

    def pending_subjects(self, trace_ids: Sequence[str]) -> dict[str, int]:
        """How many agent runs and exchanges of each trace wait for LLM judges, or it as a session; absent: none."""
        rows = self._scope.select(_PENDING_SUBJECTS, trace_ids=list(trace_ids))
        return {row[0]: row[1] for row in rows}

    def spend(self, since: int, *, simulated: bool | None = None) -> list[Spend]:
        """The cost of calls from `since` (unix nanos) on, by hour and service; `simulated` as of `StoredAnswers`."""
        return StoredAnswers(self._store, self._scope.tenant).spend(since, simulated=simulated)

    def _placed(self, words: Sequence[tuple[LedgerRow, str]]) -> list[LedgerEntry]:
        ids = {word.trace_id for word, _ in words if word.trace_id}
        names = places(self._scope, ids)
        reading = StoredReading(self._store, self._scope.tenant)
        found = [v for verdicts in reading.load_verdicts(sorted(ids)).values() for v in verdicts] if ids else []
        found += reading.load_session_verdicts(sorted({w.subject_id for w, _ in words if not w.trace_id}))
        verdicts = {(v.subject.trace_id, v.subject.kind, v.subject.id, v.judge): v for v in found}
        entries = []
        for word, place in words:
            subject = Subject(word.kind, word.subject_id, word.trace_id)
            service, session_id = session_of(subject) or (names.get((word.trace_id, ""), ""), "")
            agent = names.get((word.trace_id, subject.run_id), "") if subject.run_id else ""
            verdict = verdicts.get((word.trace_id, word.kind, word.subject_id, word.judge))
            entries.append(LedgerEntry(word, place, service, agent, verdict, session_id))
        return entries


def _latest(query: LedgerQuery) -> tuple[str, dict[str, Any]]:
    """The last words, of the traces and judges in question; a condition on anything else must come after."""
    asked, values = conditions(LEDGER_FILTERS, query)
    if query.since:
        # What is older than this is the last word of none whose last word is not.
        asked.append("JudgedAt >= {since:UInt64}")
        values["since"] = query.since
    if not (query.trace_id or query.judge or query.everything):
        asked.append(f"Judge != '{DETECTORS}'")
    where = " AND ".join([TENANT, *asked])
    return f"SELECT {LEDGER_SELECT}, {_ID} FROM judgements FINAL WHERE {where} {LATEST}", values


def _shown(query: LedgerQuery) -> str:
    if query.everything:
        return "1"
    windows = "SubjectKind = 'turn-window' AND " if query.outcome is Outcome.SUPERSEDED else ""
    return f"NOT ({windows}Outcome = '{Outcome.SUPERSEDED}')"
