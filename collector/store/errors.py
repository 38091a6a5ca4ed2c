"""Errors as lists show them, read from the table `errors`. All of it blocks.

Conditions are fixed texts; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...schemas.agent_errors import ErrorSummary
from ...schemas.filters import ERROR_FILTERS, conditions, named
from ...schemas.judged_rows import ERROR_SELECT, error_from_row
from ...schemas.queries.reader import ErrorQuery, LocatedError
from .client import Store
from .lists.errors import AT_LEAST
from .lists.findings import HOLDS, least, sure, thresholds
from .reading import places
from .scope import TENANT, Scope

_FILTERS: Final = named(ERROR_FILTERS, "service", "agent", "category")
_TRACE: Final = "(TraceId = {trace_id:String} OR Whole = {trace_id:String})"
_SPAN: Final = "(SpanId = {at:String} OR ShownAt = {at:String} OR ReadAt = {at:String} OR has(RepeatedAt, {at:String}))"
_JUDGE: Final = "has(Judges, {seen_by:String})"


class StoredErrors:
    """The errors of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def __init__(self, store: Store, tenant: str = "") -> None:
        self._store, self._tenant = store, tenant
        self._scope = Scope(store, tenant)

    def find(self, query: ErrorQuery) -> list[LocatedError]:
        """Up to `query.limit` errors: latest first sight first, or, with `query.after`, earliest first."""
        where, values = _conditions(query)
        order = "FirstSeen, Id" if query.after else "FirstSeen DESC, Id DESC"
        rows = self._scope.select(
            f"SELECT {ERROR_SELECT}, Whole, {least(query.confidence)} AS Least FROM errors FINAL WHERE {where} "
            f"ORDER BY {order} LIMIT {{limit:UInt64}}",
            limit=query.limit,
            **values,
        )
        return self._located([(error_from_row(row), *row[-2:]) for row in rows])

    def count(self, query: ErrorQuery) -> int:
        """How many errors there are, whatever limit the query names."""
        where, values = _conditions(query)
        return int(self._scope.select(f"SELECT count() FROM errors FINAL WHERE {where}", **values)[0][0])

    def _located(self, found: Sequence[tuple[ErrorSummary, str, float]]) -> list[LocatedError]:
        names = places(self._store, {error.trace_id for error, *_ in found}, self._tenant)
        return [
            LocatedError(
                error,
                error.severity(bound),
                whole,
                names.get((error.trace_id, ""), ""),
                names.get((error.trace_id, error.agent_run_id), "") if error.agent_run_id else "",
            )
            for error, whole, bound in found
        ]


def _conditions(query: ErrorQuery) -> tuple[str, dict[str, Any]]:
    asked, values = conditions(_FILTERS, query)
    found = [TENANT, HOLDS, sure(query.confidence, column=AT_LEAST[query.severity]), *asked]
    values |= thresholds(query.confidence)
    for text, name, value in (
        (_TRACE, "trace_id", query.trace_id),
        (_SPAN, "at", query.span_id),
        (_JUDGE, "seen_by", query.judge),
        ("FirstSeen >= {since:UInt64}", "since", query.since),
    ):
        if value:
            found.append(text)
            values[name] = value
    if query.before:
        found.append("FirstSeen <= {until:UInt64} AND (FirstSeen, Id) < ({until:UInt64}, {until_id:String})")
        values |= {"until": query.before.time, "until_id": query.before.id}
    if query.after:
        found.append("FirstSeen >= {time:UInt64} AND (FirstSeen, Id) > ({time:UInt64}, {id:String})")
        values |= {"time": query.after.time, "id": query.after.id}
    return " AND ".join(found), values
