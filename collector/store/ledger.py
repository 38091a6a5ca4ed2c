"""Reading the ledger: the last word of each judge on each subject. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...schemas.llm_rows import LATEST, LEDGER_SELECT, LedgerRow, ledger_from_row
from ...schemas.verdicts import SubjectKind
from .client import Store
from .scope import TENANT, Scope

LedgerKey = tuple[SubjectKind, str, str]
"""Subject kind, subject id, judge: of one trace."""

# Rows of one subject, which were written together, are not cut apart. A row that saw less than another one of its
# subject and judge waits for nothing any more.
_PENDING: Final = f"""
WITH
    candidates AS (SELECT DISTINCT TraceId FROM judgements WHERE Outcome = 'pending'),
    rows AS (SELECT * FROM judgements FINAL WHERE TraceId IN candidates)
SELECT {LEDGER_SELECT} FROM rows
WHERE Outcome = 'pending' AND (tenant, TraceId, SubjectKind, SubjectId, Judge, ReceivedAt) IN
(
    SELECT tenant, TraceId, SubjectKind, SubjectId, Judge, max(ReceivedAt) FROM rows
    GROUP BY tenant, TraceId, SubjectKind, SubjectId, Judge
)
ORDER BY JudgedAt, tenant, TraceId, SubjectKind, SubjectId
LIMIT {{limit:UInt64}} WITH TIES
"""

_OUTCOMES: Final = f"""
SELECT {LEDGER_SELECT} FROM judgements FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} {LATEST}
"""


def pending(store: Store, limit: int) -> list[LedgerRow]:
    """What was left pending, of all tenants, the oldest first; about `limit` rows, all judges of a subject together."""
    rows = [ledger_from_row(row) for row in store.rows(_PENDING, {"limit": limit})]
    return sorted(rows, key=lambda r: (r.judged_at, r.tenant, r.trace_id, r.kind, r.subject_id, r.judge))


def outcomes(store: Store, trace_ids: Sequence[str], tenant: str = "") -> dict[str, dict[LedgerKey, LedgerRow]]:
    """By trace id: what each judge last said of each subject; absent: nothing was said."""
    found: dict[str, dict[LedgerKey, LedgerRow]] = {}
    for row in Scope(store, tenant).select(_OUTCOMES, trace_ids=list(trace_ids)):
        word = ledger_from_row(row)
        found.setdefault(word.trace_id, {})[word.kind, word.subject_id, word.judge] = word
    return found
