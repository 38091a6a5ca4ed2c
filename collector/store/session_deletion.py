"""Judgements that quote deleted traces and stand at others: of their sessions, and of later exchanges. All blocks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ...schemas.llm_rows import ANSWER_COLUMNS
from ...schemas.verdicts import Subject, SubjectKind, session_of, session_subject_id
from .client import Store
from .scope import TENANT, Scope

_THESE: Final = "TraceId IN {trace_ids:Array(String)}"
_SESSIONS: Final = f"SELECT DISTINCT ServiceName, SessionId FROM traces WHERE {TENANT} AND {_THESE} AND SessionId != ''"
_OTHERS: Final = (
    f"TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND (ServiceName, SessionId) IN ({_SESSIONS})) "
    f"AND NOT {_THESE}"
)
_QUOTES: Final = "hasAny(`Items.TraceId`, {trace_ids:Array(String)})"

_OF_SESSIONS: Final = f"TraceId = '' AND SubjectKind = '{SubjectKind.SESSION}'"
_CLOSED: Final = (
    f"SELECT DISTINCT SubjectId FROM judgements WHERE {TENANT} AND {_OF_SESSIONS} "
    "AND SubjectId IN {subjects:Array(String)}"
)
_QUOTED: Final = f"SELECT DISTINCT SubjectId FROM verdicts WHERE {TENANT} AND {_OF_SESSIONS} AND {_QUOTES}"
_EXCHANGES: Final = (
    f"SELECT DISTINCT TraceId, SubjectId FROM verdicts WHERE {TENANT} AND SubjectKind = '{SubjectKind.EXCHANGE}' "
    f"AND {_OTHERS} AND {_QUOTES}"
)

# The answers go; that judges were asked, and what that cost, stays for the budget.
_EMPTIED: Final = {"Key": "''", "Text": "''"}
_KEPT: Final = ", ".join(_EMPTIED.get(name, name) for name in ANSWER_COLUMNS)


@dataclass(frozen=True, slots=True)
class QuotedAt:
    """Where judgements quoted deleted traces: `sessions` (service, id) that were closed, other traces' exchanges."""

    sessions: tuple[tuple[str, str], ...] = ()
    trace_ids: tuple[str, ...] = ()


def empty_answers(store: Store, where: str, values: dict[str, object]) -> None:
    """Delete the texts of these answers; `where`: a condition of fixed text, in the tenant of `values`."""
    these = f"{TENANT} AND {where} AND (Key != '' OR Text != '')"
    kept = f"SELECT {_KEPT} FROM answers FINAL WHERE {these}"
    store.command(f"INSERT INTO answers ({', '.join(ANSWER_COLUMNS)}) {kept}", values)
    store.command(f"DELETE FROM answers WHERE {these}", values)


def delete_quotes(store: Store, tenant: str, trace_ids: Collection[str]) -> QuotedAt:
    """Delete what is said of the sessions of these traces, and of exchanges elsewhere that quotes them.

    The traces themselves are still stored; safe to repeat after a failure. Raises RetryableError, StoreError.
    """
    scope, ids = Scope(store, tenant), sorted(trace_ids)
    sessions = scope.select(_SESSIONS, trace_ids=ids)
    subjects = {session_subject_id(service, session) for service, session in sessions}
    found = [*scope.select(_CLOSED, subjects=sorted(subjects)), *scope.select(_QUOTED, trace_ids=ids)]
    exchanges = scope.select(_EXCHANGES, trace_ids=ids) if sessions else []
    closed, traces = sorted({row[0] for row in found}), sorted({row[0] for row in exchanges})
    values: dict[str, object] = {"tenant": tenant, "trace_ids": ids, "subjects": sorted({*subjects, *closed})}
    values |= {"others": traces, "exchanges": sorted({row[1] for row in exchanges})}
    of_exchanges = (
        f"SubjectKind = '{SubjectKind.EXCHANGE}' AND TraceId IN {{others:Array(String)}} "
        "AND SubjectId IN {exchanges:Array(String)}"
    )
    for table in ("judgements", "verdicts"):  # without its verdict a judgement would stand for good
        if closed:
            of_sessions = f"{_OF_SESSIONS} AND SubjectId IN {{subjects:Array(String)}}"
            store.command(f"DELETE FROM {table} WHERE {TENANT} AND {of_sessions}", values)
        if traces:
            store.command(f"DELETE FROM {table} WHERE {TENANT} AND {of_exchanges}", values)
    if sessions:
        empty_answers(store, "TraceId = '' AND RunId IN {subjects:Array(String)}", values)
        empty_answers(store, f"Purpose = '{SubjectKind.EXCHANGE}' AND {_OTHERS}", values)
    told = (session_of(Subject(SubjectKind.SESSION, subject_id, "")) for subject_id in closed)
    return QuotedAt(tuple(one for one in told if one is not None), tuple(traces))
