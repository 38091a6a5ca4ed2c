"""Judgements of sessions that quote deleted traces. All of it blocks.

An exchange's judgements quote its own trace alone, and go with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from tracejury.schemas.annotations import SESSION_LABELS
from tracejury.schemas.columns import columns_of
from tracejury.schemas.llm_rows import ANSWER_COLUMNS
from tracejury.schemas.verdicts import Subject, SubjectKind, session_of, session_subject_id

from .client import Store
from .scope import TENANT, Scope

SessionName = tuple[str, str]
"""Service and session id."""

_THESE: Final = "TraceId IN {trace_ids:Array(String)}"
_SESSIONS: Final = f"""
SELECT DISTINCT ServiceName, if(SessionId = '', TraceId, SessionId) FROM traces WHERE {TENANT} AND {_THESE}
"""
_OF_SESSIONS: Final = f"TraceId = '' AND SubjectKind = '{SubjectKind.SESSION}'"
_IN_SUBJECTS: Final = "SubjectId IN {subjects:Array(String)}"
SCORED: Final = (
    f"{TENANT} AND TraceId = '' AND has(arrayMap(subject -> JSONExtractString(subject, 2), "
    "{subjects:Array(String)}), SessionId)"
)
"""The condition that a score of others is of one of the sessions `subjects`, whichever service has it."""
_CLOSED: Final = f"SELECT DISTINCT SubjectId FROM judgements WHERE {TENANT} AND {_OF_SESSIONS} AND {_IN_SUBJECTS}"
# A trace that names another session than before is still quoted in the former one.
_QUOTING: Final = (
    f"SELECT DISTINCT SubjectId FROM verdicts WHERE {TENANT} AND {_OF_SESSIONS} "
    "AND hasAny(`Items.TraceId`, {trace_ids:Array(String)})"
)

# Without a subquery, which no deletion on replicas may have.
_NAMES: Final = """arrayMap(
    subject -> (JSONExtractString(subject, 1), JSONExtractString(subject, 2)), {subjects:Array(String)})"""

# The answers go; that judges were asked, and what that cost, stays for the budget.
_EMPTIED: Final = {"Key": "''", "Text": "''"}
_KEPT: Final = ", ".join(_EMPTIED.get(name, name) for name in ANSWER_COLUMNS)


def empty_answers(store: Store, where: str, values: Mapping[str, Any]) -> None:
    """Delete the texts of these answers; `where`: a condition of fixed text, in the tenant of `values`."""
    these = f"{TENANT} AND {where} AND (Key != '' OR Text != '')"
    kept = f"SELECT {_KEPT} FROM answers FINAL WHERE {these}"
    store.command(f"INSERT INTO answers ({', '.join(ANSWER_COLUMNS)}) {kept}", values)
    store.command(f"DELETE FROM answers WHERE {these}", values, mutated="answers")


def subjects_of(scope: Scope, trace_ids: Collection[str]) -> tuple[list[str], list[str]]:
    """The sessions of these traces, and those whose verdicts quote them; and which of them are closed."""
    ids = sorted(trace_ids)
    named = {session_subject_id(service, name) for service, name in scope.select(_SESSIONS, trace_ids=ids)}
    found = [*scope.select(_CLOSED, subjects=sorted(named)), *scope.select(_QUOTING, trace_ids=ids)]
    closed = sorted({row[0] for row in found})
    return sorted({*named, *closed}), closed


def label_conditions() -> Iterator[tuple[str, str]]:
    """Each table of labels of sessions, and the condition that a label is of one of the sessions `subjects`."""
    for kind in SESSION_LABELS:
        columns = map(columns_of(kind).column_of, kind.sessions)
        these = " OR ".join(f"has({_NAMES}, (CAST(Service, 'String'), {column}))" for column in columns)
        yield kind.table, f"{TENANT} AND ({these})"


def delete_sessions(
    store: Store, tenant: str, trace_ids: Collection[str], *, labels: bool = False
) -> tuple[SessionName, ...]:
    """Delete what is said of the sessions of these traces, which are still stored; returns those that were closed.

    `labels`: what people say of them, too. Safe to repeat after a failure. Raises RetryableError, StoreError.
    """
    subjects, closed = subjects_of(Scope(store, tenant), trace_ids)
    values: dict[str, Any] = {"tenant": tenant, "subjects": subjects}
    for table, condition in label_conditions() if labels and subjects else ():
        store.command(f"DELETE FROM {table} WHERE {condition}", values, mutated=table)
    if subjects:
        store.command(f"DELETE FROM scores WHERE {SCORED}", values, mutated="scores")
    for table in ("judgements", "verdicts") if closed else ():  # a judgement without its verdict would stand for good
        these = f"{TENANT} AND {_OF_SESSIONS} AND {_IN_SUBJECTS}"
        store.command(f"DELETE FROM {table} WHERE {these}", values, mutated=table)
    if values["subjects"]:
        empty_answers(store, "TraceId = '' AND RunId IN {subjects:Array(String)}", values)
    told = (session_of(Subject(SubjectKind.SESSION, subject_id, "")) for subject_id in closed)
    return tuple(one for one in told if one is not None)
