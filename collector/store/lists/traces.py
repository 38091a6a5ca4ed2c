"""Lists of traces. A first query finds the ids in order, over narrow columns; a second one reads what is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.collector.store.pending_traces import DERIVED
from tracejury.collector.store.scope import TENANT, TenantRows
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.listing import Facets, Sort, WorstError
from tracejury.schemas.queries.reader import Confidence, TraceQuery, TraceRow
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState

from .conditions import ARRIVED, EVERY, beyond_row, conditions, of_row
from .errors import SEVERITIES, SHOWING, counts, worst_error
from .findings import HOLDS, near, thresholds
from .latest import TRACES, Asked, latest_of_few
from .names import is_whole, short, shorts
from .order import BY_ERRORS, OF_TRACES, after, missing, order, order_id

GOAL: Final = 300
"""Characters of a goal that a list shows."""
FACETS: Final = 200
"""Names of a kind that are suggested."""

_NAMES: Final = """arrayConcat([('services', CAST(ServiceName, 'String')), ('versions', CAST(Version, 'String'))],
    arrayMap(n -> ('agents', n), arrayDistinct(Runs.Name)), arrayMap(n -> ('tools', n), arrayDistinct(Calls.Tool)),
    arrayMap(n -> ('models', n), arrayDistinct(Runs.Model)))"""
_MARKS: Final = "arrayConcat([('categories', CAST(Category, 'String'))], arrayMap(j -> ('judges', j), Judges))"

_OF_THESE: Final = "TraceId IN {trace_ids:Array(String)}"
_MODELS: Final = "arrayDistinct(arrayFilter(m -> m != '', Runs.Model))"
_SHOWN: Final = (
    f"TraceId, {short('SessionId')}, {short('ServiceName')}, State, Spans, {shorts('Runs.Name')}, StartNanos, "
    f"EndNanos, {ARRIVED} AS Received, {short('Name')}, {short('Version')}, substringUTF8(arrayFirst((goal, parent, "
    f"beside) -> parent = '' AND NOT beside, Runs.Goal, Runs.ParentId, Runs.Beside), 1, {GOAL}), "
    f"{shorts(_MODELS)}, arraySum(Runs.Turns), InputTokens, OutputTokens, CallsWithoutUsage, Cost, "
    f"if({DERIVED}, NotJudged, '{NotJudged.WAITING}')"
)

_FIELDS: Final = (
    "trace_id", "session_id", "service", "state", "spans", "agents", "start", "end", "received", "name", "version",
    "goal", "models", "turns", "input_tokens", "output_tokens", "calls_without_usage", "usd", "not_judged",
)  # fmt: skip
"""The fields of a `TraceRow` that the columns of `_SHOWN` are."""

_ORDER_ID: Final = order_id("StartNanos", "TraceId")

FoundErrors = tuple[Mapping[Severity, int], WorstError | None]


class TraceLists(TenantRows):
    """Traces of one tenant as people list them. Methods raise RetryableError, StoreError."""

    def find(self, query: TraceQuery) -> list[TraceRow]:
        """Up to `query.limit` traces in the asked order, with their errors counted by severity."""
        if (latest := self._latest(query)) is not None:
            return self._shown(latest, query.confidence)
        where, values = conditions(query, self._scope.store)
        follows, place = after(query.before, _ORDER_ID, ascending=query.ascending)
        found = ""
        if query.sort in BY_ERRORS:
            found = f"LEFT JOIN ({counts(query.confidence, near(query))}) AS found ON TraceId = found.Id "
            values |= thresholds(query.confidence)
        rows = self._scope.select(
            f"SELECT TraceId, {OF_TRACES[query.sort]} AS Value FROM traces FINAL {found}WHERE {where} AND {follows} "
            f"ORDER BY {order('StartNanos', 'TraceId', ascending=query.ascending)} LIMIT {{limit:UInt64}}",
            limit=query.limit,
            missing=missing(ascending=query.ascending),
            **values,
            **place,
        )
        return self._shown(rows, query.confidence)

    def _latest(self, query: TraceQuery) -> list[Sequence[Any]] | None:
        """The latest arrivals, with their time; None where they cannot be told, or others may be meant."""
        is_by_row = not beyond_row(query, self._scope.store)
        if query.sort is not Sort.RECEIVED or query.ascending or not is_by_row:
            return None
        own, values = of_row(query)
        follows, place = after(query.before, _ORDER_ID, TRACES.seen, ascending=False)
        asked = Asked(
            lambda _these: f"TraceId, {TRACES.seen} AS Value",
            [*own, follows],
            lambda _these: (),
            values | place,
            query.limit,
        )
        return latest_of_few(self._scope, TRACES, asked)

    def count_unjudged(self, since: int, service: str, trace_id: str) -> int:
        """Traces of which spans arrived that no judging has seen; of a never judged one nothing but spans is known.

        Narrowed to one trace, to a service and to arrivals from `since` (unix nanos) on, where they are not empty.
        """
        own = f"{TENANT} AND TraceId = {{trace_id:String}}" if trace_id else TENANT
        of_service = "AND if(known.TraceId = '', Named, known.ServiceName) = {service:String}" if service else ""
        # FINAL: a copy of a span that lost to another one of it is no news.
        stored = (
            f"SELECT TraceId, max({ARRIVED}) AS Arrived, argMin(ServiceName, (StartNanos, SpanId)) AS Named "
            f"FROM spans FINAL WHERE {own} GROUP BY TraceId"
        )
        known = f"SELECT TraceId, ServiceName, {ARRIVED} AS Seen, {DERIVED} AS Judged FROM traces FINAL WHERE {own}"
        rows = self._scope.select(
            f"SELECT count() FROM ({stored}) AS stored LEFT JOIN ({known}) AS known ON known.TraceId = stored.TraceId "
            f"WHERE (NOT Judged OR Arrived > Seen) AND Arrived >= {{since:Int64}} {of_service}",
            since=since,
            service=service,
            trace_id=trace_id,
        )
        return int(rows[0][0])

    def waiting(self) -> tuple[int, int]:
        """How many traces wait to be judged, and when the oldest of them arrived (unix nanos; 0: none waits)."""
        sql = f"SELECT count(), min({ARRIVED}) FROM traces FINAL WHERE {EVERY} AND NotJudged = '{NotJudged.WAITING}'"
        count, oldest = self._scope.select(sql)[0]
        return int(count), int(oldest) if count else 0

    def count_by_judging(self, since: int, until: int, service: str, *, simulated: bool) -> dict[NotJudged | None, int]:
        """Traces of a service, or ("") of all, that arrived in [`since`, `until`) (unix nanos), by why not judged.

        None: judged. `simulated`: those of simulated sessions instead of real ones.
        """
        of_service = " AND ServiceName = {service:String}" if service else ""
        rows = self._scope.select(
            f"SELECT NotJudged, count() FROM traces FINAL WHERE {EVERY} AND {ARRIVED} >= {{since:Int64}} "
            f"AND {ARRIVED} < {{until:Int64}}{of_service} AND Simulated = {{simulated:Bool}} GROUP BY NotJudged",
            since=since,
            until=until,
            service=service,
            simulated=simulated,
        )
        return {NotJudged(why) if why else None: int(count) for why, count in rows}

    def errors(self, trace_ids: Sequence[str], confidence: Confidence) -> dict[str, FoundErrors]:
        """Errors that hold and are sure enough, by trace: by severity, and the worst; a joined run's at its trace."""
        rows = self._scope.select(
            counts(confidence, SHOWING, few=True), trace_ids=list(trace_ids), **thresholds(confidence)
        )
        return {row[0]: _errors(row[1:]) for row in rows}

    def facets(self, since: int, until: int, service: str) -> Facets:
        """Names that traces of that time have, by how many of them; of those that lists cut, none."""
        query = TraceQuery(Confidence(0.0, 0.0), 0, service=service, since=since, until=until)
        where, values = conditions(query, self._scope.store)
        traces = f"traces FINAL WHERE {where}"
        found = self._named(f"arrayJoin({_NAMES})", traces, values)
        marked = f"errors FINAL WHERE {TENANT} AND {HOLDS} AND TraceId IN (SELECT TraceId FROM {traces})"
        found |= self._named(f"arrayJoin({_MARKS})", marked, values)
        return Facets(**found)

    def _named(self, names: str, place: str, values: dict[str, Any]) -> dict[str, list[tuple[str, int]]]:
        rows = self._scope.select(
            f"SELECT named.1 AS Kind, named.2 AS Name, uniqExact(TraceId) AS Traces FROM "
            f"(SELECT TraceId, {names} AS named FROM {place}) WHERE Name != '' AND {is_whole('Name')} "
            f"GROUP BY Kind, Name ORDER BY Kind, Traces DESC, Name LIMIT {FACETS} BY Kind",
            **values,
        )
        found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for kind, name, count in rows:
            found[kind].append((name, count))
        return dict(found)

    def _shown(self, found: Sequence[Sequence[Any]], confidence: Confidence) -> list[TraceRow]:
        ids = [row[0] for row in found]
        if not ids:
            return []
        rows = self._scope.select(
            f"SELECT shown.*, found.High, found.Medium, found.Low, found.Worst FROM (SELECT {_SHOWN} "
            f"FROM {TRACES.newest(_OF_THESE)}) AS shown LEFT JOIN ({counts(confidence, SHOWING, few=True)}) AS found "
            "ON shown.TraceId = found.Id",
            trace_ids=ids,
            **thresholds(confidence),
        )
        shown = {row[0]: row for row in rows}
        return [_row(shown[i], _errors(shown[i][-4:]), place) for i, place in found if i in shown]


def _errors(row: Sequence[Any]) -> FoundErrors:
    """By severity, and the worst, of the last columns of `counts`."""
    return dict(zip(SEVERITIES, row[:-1], strict=True)), worst_error(row[-1])


def _row(row: Sequence[Any], errors: FoundErrors, place: int) -> TraceRow:
    shown = dict(zip(_FIELDS, row, strict=False)) | {"errors": errors[0], "worst": errors[1], "place": place}
    shown |= {
        "state": TraceState(shown["state"]),
        "not_judged": (shown["not_judged"] and NotJudged(shown["not_judged"])) or None,
    }
    return TraceRow(**shown | {name: tuple(shown[name]) for name in ("agents", "models")})
