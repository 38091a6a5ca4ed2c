"""Entries of the ledger that a cap on spend kept from being judged. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.findings import LIVE
from tracejury.schemas.llm_rows import LATEST, LEDGER_SELECT, LedgerRow, ledger_from_row
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import DETECTORS, Outcome, Subject, SubjectKind, session_of

from .client import Store
from .pending_traces import JUDGED

_SINCE: Final = f"Outcome = '{Outcome.OVER_BUDGET}' AND ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}}, 'UTC')"
_WORDS: Final = f"""
SELECT {{what}} FROM
(
    SELECT * FROM judgements FINAL
    WHERE Judge != '{DETECTORS}' AND TraceId IN (SELECT DISTINCT TraceId FROM judgements WHERE {_SINCE})
    {LATEST}
)
WHERE {_SINCE}"""

_COUNT: Final = _WORDS.replace("{what}", "uniqExact(tenant, TraceId, SubjectKind, SubjectId)")

# Rows of one subject, which were written together, are not cut apart.
_NEWEST: Final = f"""{_WORDS.replace("{what}", LEDGER_SELECT)}
ORDER BY ReceivedAt DESC, tenant, TraceId, SubjectKind, SubjectId LIMIT {{limit:UInt64}} WITH TIES
"""

_TRACES: Final = f"""
SELECT tenant, TraceId, ServiceName, arrayFilter((id, status) -> status = 'error', Runs.Id, Runs.Status)
FROM traces FINAL WHERE {JUDGED} AND TraceId IN {{trace_ids:Array(String)}}
"""

_GRAVE: Final = f"""
SELECT DISTINCT tenant, TraceId, AgentRunId FROM findings FINAL
WHERE TraceId IN {{trace_ids:Array(String)}} AND JudgedBy = '{DETECTORS}' AND Severity = '{Severity.HIGH}'
AND State IN {{live:Array(String)}}
"""


@dataclass(frozen=True, slots=True)
class OverBudgetSubject:
    """A subject and its entries, one a judge.

    `risky`: its run failed, or a detector found an error of severity HIGH.
    """

    rows: tuple[LedgerRow, ...]
    service: str
    risky: bool


def over_budget_count(store: Store, since: int) -> int:
    """The number of subjects of all tenants whose last word is over-budget, of what arrived since (unix nanos)."""
    return int(store.rows(_COUNT, {"since": since})[0][0])


def over_budget(store: Store, since: int, limit: int) -> list[OverBudgetSubject]:
    """These subjects, the newest first, of about `limit` rows; those of deleted traces are left out."""
    rows = [ledger_from_row(row) for row in store.rows(_NEWEST, {"since": since, "limit": limit})]
    subjects: dict[tuple[str, str, SubjectKind, str], list[LedgerRow]] = {}
    for row in rows:
        subjects.setdefault((row.tenant, row.trace_id, row.kind, row.subject_id), []).append(row)
    services, risky = _risks(store, sorted({row.trace_id for row in rows if row.trace_id}))
    found = []
    for (tenant, trace_id, kind, subject_id), own in subjects.items():
        subject = Subject(kind, subject_id, trace_id)
        session = session_of(subject)
        service = session[0] if session else services.get((tenant, trace_id))
        if service is not None:
            found.append(OverBudgetSubject(tuple(own), service, (tenant, trace_id, subject.run_id) in risky))
    return found


def _risks(store: Store, trace_ids: Sequence[str]) -> tuple[dict[tuple[str, str], str], set[tuple[str, str, str]]]:
    """The services of these traces, and their runs that failed or have a grave finding."""
    if not trace_ids:
        return {}, set()
    traces = store.rows(_TRACES, {"trace_ids": list(trace_ids)})
    grave = store.rows(_GRAVE, {"trace_ids": list(trace_ids), "live": sorted(state.value for state in LIVE)})
    risky = {(row[0], row[1], run) for row in traces for run in row[3]} | {(row[0], row[1], row[2]) for row in grave}
    return {(row[0], row[1]): row[2] for row in traces}, risky
