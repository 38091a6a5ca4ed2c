"""Errors as lists show them, read from the table `errors`. All of it blocks.

Conditions are fixed texts; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.filters import ERROR_FILTERS, OF_ERRORS, SIMULATED_TRACES, conditions, named
from tracejury.schemas.findings import FindingState
from tracejury.schemas.judged_rows import ERROR_SELECT, error_from_row
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, LocatedError

from .client import Store
from .lists.errors import AT_LEAST, SHOWING
from .lists.findings import HOLDS, least, sure, thresholds
from .lists.latest import ERRORS, Asked, latest, narrowed
from .lists.stated import stated
from .reading import places
from .scope import TENANT, TenantRows

_OWN: Final = (*named(ERROR_FILTERS, "category"), *named(OF_ERRORS, "pattern"))
_OF_TRACES: Final = named(ERROR_FILTERS, "service", "agent", "score")
_TRACE: Final = "(TraceId = {trace_id:String} OR Whole = {trace_id:String})"
_SPAN: Final = "(SpanId = {at:String} OR ShownAt = {at:String} OR ReadAt = {at:String} OR has(RepeatedAt, {at:String}))"
_MEMBERS: Final = f"""
SELECT TraceId, [Id] FROM findings FINAL WHERE {TENANT} AND (ErrorId = {{id:String}} OR Id = {{id:String}})
ORDER BY NOT ({HOLDS}), Confidence DESC, Id
"""
# Without FINAL: a row that says that the error is gone tells what it was.
_LATEST: Final = (
    f"SELECT TraceId, FindingIds FROM errors WHERE {TENANT} AND Id = {{id:String}} ORDER BY FoldedAt DESC LIMIT 1"
)
_JUDGE: Final = "has(Judges, {seen_by:String})"
_PACK: Final = "arrayExists(judge -> startsWith(judge, concat({pack:String}, '-')), Judges)"


class StoredErrors(TenantRows):
    """The errors of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def find(self, query: ErrorQuery) -> list[LocatedError]:
        """Up to `query.limit` errors: latest first sight first, or, with `query.after`, earliest first."""
        asked = _asked(query, self._store)
        if query.after or query.is_narrow:
            where = " AND ".join([*asked.own, *asked.of_traces("1")])
            order = "FirstSeen, Id" if query.after else "FirstSeen DESC, Id DESC"
            rows = self._scope.select(
                f"SELECT {asked.columns('1')} FROM errors FINAL WHERE {TENANT} AND {where} "
                f"ORDER BY {order} LIMIT {{limit:UInt64}}",
                limit=query.limit,
                **asked.values,
            )
        else:
            rows = latest(self._scope, ERRORS, asked)
        return self._located([(error_from_row(row), *row[-2:]) for row in rows])

    def sample(self, query: ErrorQuery) -> tuple[list[ErrorSummary], int]:
        """Up to `query.limit` errors, those whose ids (hashes) come first; and how many there are."""
        asked = _asked(query, self._store)
        where = " AND ".join([*asked.own, *asked.of_traces("1")])
        rows = self._scope.select(
            f"SELECT {asked.columns('1')}, count() OVER () FROM errors FINAL WHERE {TENANT} AND {where} "
            "ORDER BY Id LIMIT {limit:UInt64}",
            limit=query.limit,
            **asked.values,
        )
        return [error_from_row(row) for row in rows], int(rows[0][-1]) if rows else 0

    def ids_from(self, prefix: str, limit: int) -> list[str]:
        """Up to `limit` ids that begin so, in order: of errors, earlier ones included, and of findings."""
        found = (("Id", "errors"), ("ErrorId", "findings"), ("Id", "findings"))
        each = (f"SELECT {i} AS One FROM {t} WHERE {TENANT} AND startsWith({i}, {{prefix:String}})" for i, t in found)
        rows = self._scope.select(
            f"SELECT DISTINCT One FROM ({' UNION ALL '.join(each)}) ORDER BY One LIMIT {{limit:UInt64}}",
            prefix=prefix,
            limit=limit,
        )
        return [row[0] for row in rows]

    def named(self, some_id: str) -> tuple[str, list[str]]:
        """A trace and those of its findings that an id of an error, also an earlier one, or of a finding names.

        Those that hold come first, the surest of them first. Nothing where it names none.
        """
        members = self._scope.select(_MEMBERS, id=some_id)
        members += self._scope.select(_LATEST, id=some_id)
        return (members[0][0] if members else "", list(dict.fromkeys(i for _, ids in members for i in ids)))

    def holding(self, trace_ids: Sequence[str], findings: Sequence[str], confidence: Confidence) -> list[LocatedError]:
        """The errors that hold in these traces and have any of these findings."""
        rows = self._scope.select(
            f"SELECT {ERROR_SELECT}, Whole, {least(confidence)} AS Least FROM errors FINAL WHERE {TENANT} AND {HOLDS} "
            "AND TraceId IN {trace_ids:Array(String)} AND hasAny(FindingIds, {findings:Array(String)})",
            trace_ids=list(trace_ids),
            findings=list(findings),
            **thresholds(confidence),
        )
        return self._located([(error_from_row(row), *row[-2:]) for row in rows])

    def under(self, trace_ids: Sequence[str]) -> dict[str, list[ErrorSummary]]:
        """The errors that hold, by the trace that they show under; absent: it has none."""
        rows = self._scope.select(
            f"SELECT {ERROR_SELECT}, Whole FROM {ERRORS.newest(SHOWING)} WHERE {ERRORS.holds} AND {HOLDS} "
            "AND Whole IN {trace_ids:Array(String)} ORDER BY TraceId, SpanId, Id",
            trace_ids=list(trace_ids),
        )
        found: dict[str, list[ErrorSummary]] = {}
        for *row, whole in rows:
            found.setdefault(whole, []).append(error_from_row(row))
        return found

    def led_in(self, trace_ids: Sequence[str]) -> list[ErrorSummary]:
        """The errors that hold and whose primary spans are in these traces."""
        these = f"{TENANT} AND {HOLDS} AND TraceId IN {{trace_ids:Array(String)}}"
        rows = self._scope.select(
            f"SELECT {ERROR_SELECT} FROM errors FINAL WHERE {these} ORDER BY TraceId, FirstSeen, Id",
            trace_ids=list(trace_ids),
        )
        return [error_from_row(row) for row in rows]

    def gone(self, trace_id: str, some_id: str) -> ErrorSummary | None:
        """The error that once had this id, as it was when it held; None where none did, or one does."""
        sql = (
            f"SELECT {ERROR_SELECT}, Removed FROM errors WHERE {TENANT} AND TraceId = {{trace_id:String}} "
            "AND Id = {id:String} ORDER BY FoldedAt DESC LIMIT 1"
        )
        rows = self._scope.select(sql, trace_id=trace_id, id=some_id)
        if not rows or not rows[0][-1]:
            return None
        return replace(error_from_row(rows[0][:-1]), state=FindingState.RETRACTED)

    def _located(self, found: Sequence[tuple[ErrorSummary, str, float]]) -> list[LocatedError]:
        names = places(self._scope, {error.trace_id for error, *_ in found})
        return [
            LocatedError(
                error,
                error.severity(min(bound, error.confidence)),
                whole,
                names.get((error.trace_id, ""), ""),
                names.get((error.trace_id, error.agent_run_id), "") if error.agent_run_id else "",
                least=bound,
            )
            for error, whole, bound in found
        ]


def _asked(query: ErrorQuery, store: Store) -> Asked:
    sure_of, column = query.confidence, AT_LEAST[query.severity]
    own, values = conditions(_OWN, query)
    of_traces, values_of_traces = conditions(_OF_TRACES, query)
    found = [HOLDS, f"{column} >= {{surest:Float64}}", *own]
    values |= {**values_of_traces, **thresholds(sure_of), "surest": min(sure_of.recognised, sure_of.unrecognised)}
    for text, name, value in (
        (_TRACE, "trace_id", query.trace_id),
        (_SPAN, "at", query.span_id),
        (_JUDGE, "seen_by", query.judge),
        (_PACK, "pack", query.pack),
        ("FirstSeen >= {since:UInt64}", "since", query.since),
    ):
        if value:
            found.append(text)
            values[name] = value
    if query.decisive:
        found.append("Decided != ''")
    if query.simulated is not None:
        found.append(f"Whole {'IN' if query.simulated else 'NOT IN'} ({SIMULATED_TRACES})")
    if query.before:
        found.append("FirstSeen <= {until:UInt64} AND (FirstSeen, Id) < ({until:UInt64}, {until_id:String})")
        values |= {"until": query.before.time, "until_id": query.before.id}
    if query.after:
        after = "FirstSeen >= {time:UInt64} AND (FirstSeen, Id) > ({time:UInt64}, {id:String})"
        found.append(f"{after} AND TraceId IN (SELECT TraceId FROM errors WHERE {TENANT} AND {after})")
        values |= {"time": query.after.time, "id": query.after.id}
    by_spans, values_of_spans = stated(query, store)
    values |= values_of_spans
    return Asked(
        lambda place: f"{ERROR_SELECT}, Whole, {least(sure_of, place)} AS Least",
        found,
        lambda place: [sure(sure_of, place, column), *narrowed(of_traces, place), *by_spans],
        values,
        query.limit,
    )
