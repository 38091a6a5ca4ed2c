"""Lists of sessions, and one session as a conversation. A session is the traces of one service that name one id.

The id alone is a client's to choose, and different programs count their conversations from 1. A trace that names no
session is one of its own under its own id, which no list has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.collector.store.pending_traces import LOOKED_AT
from tracejury.collector.store.scope import TENANT, TenantRows
from tracejury.schemas.judged_rows import STANDS, VERDICT_SELECT, verdict_from_row
from tracejury.schemas.queries.conversation import SessionExchange
from tracejury.schemas.queries.listing import SessionRow, Sort
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.text import naming
from tracejury.schemas.trace_status import status_sql
from tracejury.schemas.verdicts import Verdict

from .conditions import ARRIVED, EVERY, conditions
from .conversation import TraceExchanges, exchanges_of, pinned, session_row
from .errors import counts, worst
from .findings import JOINED, thresholds
from .names import is_whole, short, shorts
from .order import BY_ERRORS, after, missing, order, order_id

MOST_TRACES: Final = 200
"""Traces of a session that are shown as a conversation; the later ones are counted."""
MOST_TEXT: Final = 20_000
"""Characters of a goal and of an answer there; the trace has the whole."""
MOST_OF_IDS: Final = 40_000
"""Bytes of ids in one question: a server takes 128 KiB of a parameter, in which some are written as three."""
MOST_SESSIONS: Final = 50
"""Sessions in one question, likewise."""

_KEY: Final = "lower(hex(sipHash128(SessionId, CAST(ServiceName, 'String'))))"
_STATE: Final = (
    "multiIf(countIf(State = 'open') > 0, 'open', countIf(State = 'failed') > 0, 'failed', "
    "countIf(State = 'incomplete') > 0, 'incomplete', 'settled')"
)
_STATUS: Final = status_sql(_STATE, f"countIf(NOT {LOOKED_AT})", "count()")
_LENGTH: Final = "if(max(EndNanos) > min(StartNanos), max(EndNanos) - min(StartNanos), 0)"
_USED: Final = "(isNotNull(InputTokens) OR isNotNull(OutputTokens))"
# What one trace does not know the session does not know either: the rest would pass for the whole.
_COST: Final = f"if(countIf({_USED} AND isNull(Cost)) > 0, NULL, sum(Cost))"
_TOKENS: Final = f"if(countIf({_USED}) > 0, sum(ifNull(InputTokens, 0) + ifNull(OutputTokens, 0)), NULL)"
_KNOWN: Final = "ifNull(toUInt64({}) + 1, {{missing:UInt64}})"

_ERRORS: Final = "toUInt64(sum(High) + sum(Medium) + sum(Low))"

_VALUES: Final = {
    Sort.RECEIVED: f"toUInt64(max({ARRIVED}))",
    Sort.START: "min(StartNanos)",
    Sort.DURATION: f"toUInt64({_LENGTH})",
    Sort.COST: _KNOWN.format(f"reinterpretAsUInt64({_COST})"),
    Sort.TOKENS: _KNOWN.format(_TOKENS),
    Sort.SEVERITY: worst("sum(High)", "sum(Medium)", "sum(Low)"),
    Sort.ERRORS: _ERRORS,
    Sort.FINDINGS: _ERRORS,
}
_ROW: Final = (
    f"{_KEY} AS Key, {short('SessionId')}, {short('ServiceName')}, {_STATE}, count(), sum(arraySum(Runs.Turns)), "
    f"{shorts('arraySort(groupUniqArrayArray(Runs.Name))')}, min(StartNanos), max(EndNanos), min({ARRIVED}), "
    f"max({ARRIVED}), {_TOKENS}, {_COST}, countIf(isNotNull(Cost)), countIf(NOT {LOOKED_AT}), sum(CallsWithoutUsage), "
    "sum(High), sum(Medium), sum(Low), minIf(Worst, Worst.1 > 0)"
)
_TEXT: Final = "arrayMap(t -> substringUTF8(t, 1, {{text:UInt64}}), {})"
_SAID: Final = f"""SELECT TraceId, State, StartNanos, EndNanos, Cost, CallsWithoutUsage, Runs.Id,
    arrayMap(n -> {short("n")}, Runs.Name), Runs.ParentId, {_TEXT.format("Runs.Goal")},
    {_TEXT.format("Runs.Answer")}, Runs.Status, Runs.Turns, Runs.Beside, Conventions,
    {LOOKED_AT},
    Exchanges.Run, Exchanges.First, Exchanges.Last, {_TEXT.format("Exchanges.Asked")},
    {_TEXT.format("Exchanges.Answer")}, Exchanges.Runs, ServiceName, SessionId
FROM traces FINAL WHERE {EVERY} AND """
# Without FINAL too many traces may be looked at, never too few; the indexes of sessions and of traces find them.
_NAMED: Final = f"""TraceId IN (
    SELECT TraceId FROM traces WHERE {TENANT} AND SessionId = {{session_id:String}}
    UNION ALL SELECT TraceId FROM traces WHERE {TENANT} AND TraceId = {{session_id:String}}
) AND (SessionId = {{session_id:String}} OR SessionId = '' AND TraceId = {{session_id:String}})"""
_SEVERAL: Final = (
    "SessionId IN {ids:Array(String)} "
    "AND has(arrayZip({services:Array(String)}, {ids:Array(String)}), (toString(ServiceName), SessionId))"
)
_JUDGED: Final = f"""SELECT {VERDICT_SELECT} FROM verdicts FINAL WHERE {TENANT} AND SubjectKind = 'exchange'
AND Judge = {{judge:String}} AND {STANDS} AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND {_SEVERAL})"""
_IN_ORDER: Final = f"ORDER BY StartNanos, TraceId LIMIT {MOST_TRACES} BY ServiceName, SessionId"


class SessionLists(TenantRows):
    """Sessions of one tenant as people list and read them. Methods raise RetryableError, StoreError."""

    def find(self, query: TraceQuery) -> list[SessionRow]:
        """Up to `query.limit` sessions that hold a trace of the query, in the asked order."""
        where, values = conditions(query, self._scope.store, of_sessions=True)
        ours = f"{EVERY} AND SessionId != ''"
        holding = ours if where == EVERY else f"{ours} AND {_named_by(where)}"
        having, more = _having(query)
        follows, place = after(query.before, order_id("min(StartNanos)", "Key"), ascending=query.ascending)
        near = "1"
        if query.since:
            near = (
                f"(TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND (JoinedTo != '' OR {_named_by(where)})))"
            )
        source = _from(joined=query.sort in BY_ERRORS, confidence=query.confidence, values=values, place=near)
        values |= more | place | {"missing": missing(ascending=query.ascending), "limit": query.limit}
        found = self._scope.select(
            f"SELECT {_KEY} AS Key, {_VALUES[query.sort]} AS Value, "
            f"if({is_whole('any(SessionId)')}, any(SessionId), '') {source}"
            f"WHERE {holding} GROUP BY Key "
            f"HAVING {having} AND {follows} ORDER BY "
            f"{order('min(StartNanos)', 'Key', ascending=query.ascending)} LIMIT {{limit:UInt64}}",
            **values,
        )
        these, given = _these([row[0] for row in found], [row[2] for row in found])
        shown = {row.key: row for row in self._rows(these, query.confidence, **given)}
        return [replace(shown[row[0]], place=row[1]) for row in found if row[0] in shown]

    def rows_of(self, session_id: str, service: str, confidence: Confidence) -> list[SessionRow]:
        """The sessions of that id: of one service, or ("") one of each that has it."""
        these, values = _named(session_id, service)
        return self._rows(these, confidence, **values)

    def services_of(self, session_id: str) -> list[str]:
        """The services that have a session of that id, by name."""
        these, values = _named(session_id, "")
        sql = f"SELECT DISTINCT ServiceName FROM traces FINAL WHERE {EVERY} AND {these} ORDER BY ServiceName"
        return [row[0] for row in self._scope.select(sql, **values)]

    def exchanges(self, session_id: str, service: str) -> list[TraceExchanges]:
        """The exchanges of its traces, in order of time; at most `MOST_TRACES`."""
        these, values = _named(session_id, service)
        sql = f"{_SAID}{these} ORDER BY StartNanos, TraceId LIMIT {MOST_TRACES}"
        return [exchanges_of(row[:-2]) for row in self._scope.select(sql, text=MOST_TEXT, **values)]

    def exchanges_judged(
        self, sessions: Sequence[tuple[str, str]], judge: str
    ) -> dict[tuple[str, str], list[SessionExchange]]:
        """The exchanges of several sessions, by service and id, each with the verdict of one judge on it.

        Without what was said; none of those with names too long for a list.
        """
        found: dict[tuple[str, str], list[SessionExchange]] = {
            one: [] for one in sessions if all(map(naming.is_whole, one))
        }
        names = list(found)
        for first in range(0, len(names), MOST_SESSIONS):
            services, ids = (list(part) for part in zip(*names[first : first + MOST_SESSIONS], strict=True))
            values = {"services": services, "ids": ids, "judge": judge}
            said: defaultdict[str, list[Verdict]] = defaultdict(list)
            for row in self._scope.select(_JUDGED, **values):
                verdict = verdict_from_row(row)
                said[verdict.subject.trace_id].append(verdict)
            for row in self._scope.select(f"{_SAID}{_SEVERAL} {_IN_ORDER}", text=0, **values):
                trace = exchanges_of(row[:-2])
                found[row[-2], row[-1]] += pinned(trace, (), (), 0, said[trace.trace_id], {})
        return found

    def parts(self, trace_ids: Sequence[str]) -> dict[str, str]:
        """The traces that show as part of one of these, by their id: the one they are part of."""
        rows = self._scope.select(
            f"SELECT Part, Whole FROM ({JOINED}) WHERE Whole IN {{ids:Array(String)}}", ids=trace_ids
        )
        return {row[0]: row[1] for row in rows}

    def _rows(self, these: str, confidence: Confidence, **values: Any) -> list[SessionRow]:
        given: dict[str, Any] = dict(values)
        # Without FINAL: too many traces may be looked at, never too few, and the index of sessions finds them.
        own = f"SELECT TraceId FROM traces WHERE {TENANT} AND {these}"
        place = f"(TraceId IN ({own}) OR TraceId IN (SELECT Part FROM ({JOINED}) WHERE Whole IN ({own})))"
        source = _from(joined=True, confidence=confidence, values=given, place=place)
        which = f"WHERE {EVERY} AND {these} GROUP BY SessionId, ServiceName ORDER BY SessionId, ServiceName"
        sql = f"SELECT {_ROW} {source}{which}"
        return [session_row(row) for row in self._scope.select(sql, **given)]


def _these(keys: Sequence[str], ids: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The condition that a trace is of a session of these keys, and its values; an id too long to be told is ""."""
    these = f"SessionId != '' AND {_KEY} IN {{keys:Array(String)}}"
    # The index knows ids; where they cannot all be told to it, the keys alone find the sessions.
    if "" in ids or sum(len(one.encode()) for one in ids) > MOST_OF_IDS:
        return these, {"keys": keys}
    return f"{these} AND SessionId IN {{ids:Array(String)}}", {"keys": keys, "ids": ids}


def _named_by(where: str) -> str:
    """The condition that a trace is of a session that one of those traces names."""
    return f"(ServiceName, SessionId) IN (SELECT ServiceName, SessionId FROM traces FINAL WHERE {where})"


def _from(*, joined: bool, confidence: Confidence, values: dict[str, Any], place: str = "1") -> str:
    if not joined:
        return "FROM traces FINAL "
    values |= thresholds(confidence)
    return f"FROM traces FINAL LEFT JOIN ({counts(confidence, place)}) AS found ON TraceId = found.Id "


def _having(query: TraceQuery) -> tuple[str, dict[str, Any]]:
    parts: list[str] = ["1"]
    values: dict[str, Any] = {}
    if query.state is not None:
        parts.append(f"{_STATE} = {{state:String}}")
        values["state"] = query.state.value
    if query.status is not None:
        parts.append(f"{_STATUS} = {{status:String}}")
        values["status"] = query.status.value
    if query.min_duration:
        parts.append(f"{_LENGTH} >= {{min_duration:UInt64}}")
        values["min_duration"] = query.min_duration
    return " AND ".join(parts), values


def _named(session_id: str, service: str) -> tuple[str, dict[str, Any]]:
    if not service:
        return _NAMED, {"session_id": session_id}
    return f"{_NAMED} AND ServiceName = {{service:String}}", {"session_id": session_id, "service": service}
