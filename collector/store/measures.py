"""Reading the measures of sessions: verdicts of checks on sessions, with what their traces say. All of it blocks.

Lone traces are sessions of their own (`Subject`): their verdicts have a trace id and are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from tracejury.schemas.filters import SIMULATED_SESSIONS
from tracejury.schemas.judged_rows import STANDS
from tracejury.schemas.llm_rows import LATEST
from tracejury.schemas.queries.measures import ATTRIBUTE, CARD_GROUPS, MeasuredSession, MeasureQuery, SessionMeasure
from tracejury.schemas.simulation import BEHAVIOUR, FIX, PERSONA, USER_FAILED, USER_MODEL
from tracejury.schemas.verdicts import Subject, SubjectKind, session_of

from .lists.names import short
from .lists.stated import values_at
from .scope import TENANT, Scope

MOST_SESSIONS: Final = 10_000
"""Sessions that one answer reads, the latest of its time."""
CELL: Final = (BEHAVIOUR, PERSONA, USER_MODEL, FIX)
"""Attributes that trials of a task have in common, beside service and version."""
_TASK: Final = "cell"
"""The task as trials compare it."""

_PAIR: Final = "JSONExtractString(SubjectId, 1) AS Service, JSONExtractString(SubjectId, 2) AS Session"
OF_SESSIONS: Final = f"{TENANT} AND TraceId = '' AND SubjectKind = 'session' AND Judge IN {{judges:Array(String)}}"
_ARRIVED: Final = "toUnixTimestamp64Nano(ReceivedAt)"
_ARRIVED_LAST: Final = f"max({_ARRIVED})"
_IN_TIME: Final = f"{_ARRIVED_LAST} >= {{since:Int64}} AND {_ARRIVED_LAST} < {{until:Int64}}"
_WITHIN: Final = f"""FROM verdicts WHERE {OF_SESSIONS}
AND ((JSONExtractString(SubjectId, 1), JSONExtractString(SubjectId, 2)) IN ({SIMULATED_SESSIONS})) = {{simulated:UInt8}}
AND ({{service:String}} = '' OR JSONExtractString(SubjectId, 1) = {{service:String}})
GROUP BY SubjectId HAVING {_IN_TIME}"""
SUBJECTS: Final = f"SELECT SubjectId {_WITHIN} ORDER BY max({_ARRIVED}) DESC, SubjectId LIMIT {{most:UInt64}}"
_COUNT: Final = f"SELECT count() FROM (SELECT SubjectId {_WITHIN})"
THEIRS: Final = f"(ServiceName, SessionId) IN (SELECT {_PAIR} FROM ({SUBJECTS}))"

_SESSIONS: Final = f"""
SELECT SubjectId, max({_ARRIVED}) AS At,
    groupArray((Judge, Value, Raw, Numerator, Denominator, isNull(Value) AND NOT NotApplicable,
        if(SamplingProbability > 0, 1 / SamplingProbability, 0))),
    groupArrayIf((Judge, countEqual(Items.Grounded, false)), notEmpty(Items.Item))
FROM verdicts FINAL WHERE {OF_SESSIONS} AND {STANDS} AND SubjectId IN ({SUBJECTS}) GROUP BY SubjectId
"""
_INVALID: Final = f"""
SELECT SubjectId FROM verdicts FINAL WHERE {TENANT} AND TraceId = '' AND SubjectKind = 'session'
AND Judge IN {{validators:Array(String)}} AND {STANDS} AND Value < 1 AND SubjectId IN ({SUBJECTS})
"""


def _whole(name: str) -> str:
    return f"argMinIf({name}, (StartNanos, TraceId), {name} != '')"


def _first(name: str) -> str:
    return short(_whole(name))


_AGENT: Final = "arrayFirst((name, beside) -> NOT beside, Runs.Name, Runs.Beside)"

_TRACES: Final = f"""
SELECT ServiceName, SessionId, {_first("Version")} AS Version, {_first(_AGENT)} AS Agent,
    {_first("arrayFirst(m -> m != '', Runs.Model)")} AS Model
FROM traces FINAL WHERE {TENANT} AND {THEIRS} GROUP BY ServiceName, SessionId
"""


def stated_by_traces(keys: int, trace_ids: str) -> str:
    """A SELECT of `SpanTraceId` and what such a trace states first at several keys, as `Said0` and so on.

    `keys_0` and so on say each how one may be named; `trace_ids`: a SELECT.
    """
    values = "arrayFirst(v -> v != '', arrayFlatten(arrayMap(k -> {}, {{keys_{}:Array(String)}}))) AS Said{}"
    of_span = ", ".join(values.format(values_at("k"), n, n) for n in range(keys))
    of_trace = ", ".join(f"argMinIf(Said{n}, (StartNanos, SpanId), Said{n} != '') AS Said{n}" for n in range(keys))
    return f"""SELECT SpanTraceId, {of_trace} FROM
    (
        SELECT TraceId AS SpanTraceId, SpanId, StartNanos, {of_span} FROM spans FINAL
        WHERE {TENANT} AND TraceId IN ({trace_ids})
    )
    GROUP BY SpanTraceId"""


def _attributes(shown: int, compared: int) -> str:
    """What sessions state first at several keys, as `stated_by_traces` reads them.

    The values of those that are only `compared` are hashed: they may be long.
    """
    numbers = range(shown + compared)
    of_traces = f"SELECT TraceId FROM traces FINAL WHERE {TENANT} AND {THEIRS}"
    hashed = "if({0} = '', '', hex(sipHash128({0})))"
    of_session = (_first(f"Said{n}") if n < shown else hashed.format(_whole(f"Said{n}")) for n in numbers)
    return f"""
SELECT ServiceName, SessionId, {", ".join(of_session)}
FROM (SELECT TraceId, ServiceName, SessionId, StartNanos FROM traces FINAL WHERE {TENANT} AND {THEIRS}) AS own
JOIN
(
    {stated_by_traces(shown + compared, of_traces)}
) AS stated ON own.TraceId = stated.SpanTraceId GROUP BY ServiceName, SessionId
"""


# An exchange that late spans made longer has verdicts under the id that it had before, too.
EXCHANGE_IDS: Final = """arrayConcat(
    arrayMap((run, first, last) -> format('{}:{}-{}', run, toString(first), toString(last)),
        Exchanges.Run, Exchanges.First, Exchanges.Last),
    arrayMap((run, last) -> format('{}:{}-{}', run, toString(least(0, last)), toString(last)),
        Runs.Id, arrayMap(turns -> toInt64(turns) - 1, Runs.Turns)))"""
_EXCHANGES: Final = f"""
SELECT ServiceName, SessionId, Judge, groupArray(Count), sum(Ungrounded)
FROM (
    SELECT TraceId, ServiceName, SessionId, {EXCHANGE_IDS} AS Ids FROM traces FINAL WHERE {TENANT} AND {THEIRS}
) AS own
JOIN
(
    SELECT TraceId, SubjectId, Judge, length(Items.Item) AS Count, countEqual(Items.Grounded, false) AS Ungrounded
    FROM verdicts FINAL WHERE {TENANT} AND SubjectKind = 'exchange' AND Judge IN {{judges:Array(String)}} AND {STANDS}
    AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND {THEIRS})
) AS said ON own.TraceId = said.TraceId WHERE has(Ids, SubjectId)
GROUP BY ServiceName, SessionId, Judge
"""
# As `session_traces.py` tells which sessions are not closed, for one tenant, pack and time. A session that grew in that
# time has a trace in it: earlier ones need not be read.
_WAITING: Final = f"""
SELECT count() FROM
(
    SELECT ServiceName, SessionId, {_ARRIVED_LAST} AS At, {_first("Version")} AS Version,
        {_first(_AGENT)} AS Agent, {_first("arrayFirst(m -> m != '', Runs.Model)")} AS Model
    FROM traces FINAL WHERE {TENANT} AND SessionId != '' AND JoinedTo = ''
    AND ((ServiceName, SessionId) IN ({SIMULATED_SESSIONS})) = {{simulated:UInt8}}
    AND {_ARRIVED} >= {{since:Int64}}
    AND ({{service:String}} = '' OR ServiceName = {{service:String}})
    AND TraceId IN (
        SELECT TraceId FROM judgements WHERE {TENANT} AND SubjectKind = 'exchange'
        AND Judge IN {{judges:Array(String)}} AND Outcome NOT IN ('sampled-out', 'filtered', 'superseded')
    )
    GROUP BY ServiceName, SessionId HAVING {_IN_TIME}
) AS own
LEFT JOIN
(
    SELECT {_PAIR}, countIf(Outcome = 'pending') AS Pending, {_ARRIVED_LAST} AS Closed FROM
    (SELECT * FROM judgements FINAL WHERE {OF_SESSIONS} {LATEST}) GROUP BY SubjectId
) AS said ON own.ServiceName = said.Service AND own.SessionId = said.Session
WHERE (Pending > 0 OR At > Closed) AND ({{version:String}} = '' OR Version = {{version:String}})
AND ({{agent:String}} = '' OR Agent = {{agent:String}}) AND ({{model:String}} = '' OR Model = {{model:String}})
"""


def waiting_sessions(scope: Scope, query: MeasureQuery, judges: Collection[str]) -> int | None:
    """How many sessions these judges are still to measure: open ones, and closed ones that are queued.

    None where that is not known, which is of a task. Raises RetryableError, StoreError.
    """
    if query.task:
        return None
    names = {"version": query.version, "agent": query.agent, "model": query.model}
    ((count,),) = scope.select(_WAITING, **values_of(query, judges), **names)
    return int(count)


def measured_sessions(
    scope: Scope, query: MeasureQuery, judges: Collection[str], validators: Collection[str], task_keys: Sequence[str]
) -> tuple[list[MeasuredSession], int]:
    """The sessions with a verdict of one of these judges, latest first, and how many of that time were not read.

    `validators`: judges that make a session invalid, as the failure of its user's model does; `task_keys`: attributes
    that name a session's task.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    values = values_of(query, judges)
    sessions = _sessions(scope, values)
    facts = _facts(scope, query, task_keys, values, sessions) if sessions else {}
    grouped = grouped_by(query)
    wanted = {name: value for name in ("version", "agent", "model", "task") if (value := getattr(query, name))}
    kept = {
        at: session for at, session in sessions.items()
        if all(facts.get(at, {}).get(name, "") == value for name, value in wanted.items())
    }  # fmt: skip
    ungrounded: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    items: defaultdict[tuple[str, str], dict[str, tuple[int, ...]]] = defaultdict(dict)
    for service, session, judge, counts, none in scope.select(_EXCHANGES, **values) if kept else ():
        items[service, session][judge] = tuple(counts)
        ungrounded[service, session][judge] = none
    invalid: set[tuple[str, str] | None] = set()
    if kept and validators:
        rows = scope.select(_INVALID, validators=sorted(validators), **values)
        invalid = {session_of(Subject(SubjectKind.SESSION, row[0], "")) for row in rows}
    if kept and query.simulated:
        failed = scope.select(_attributes(1, 0), keys_0=[USER_FAILED], **values)
        invalid |= {(service, session) for service, session, said in failed if said}
    (count,) = scope.select(_COUNT, **values) if len(sessions) == MOST_SESSIONS else [(len(sessions),)]
    found = [
        MeasuredSession(
            *at,
            arrived,
            (tuple(facts.get(at, {}).get(name, "") for name in grouped),),
            max(one.weight for one in measures.values()),
            measures,
            ungrounded[at] | unproven,
            items[at],
            at in invalid,
            tuple(facts[at].get(name, "") for name in (_TASK, *CELL, "version")) + at[:1] if query.trials else (),
        )
        for at, (arrived, measures, unproven) in kept.items()
    ]
    return sorted(found, key=lambda one: (-one.at, one.service, one.session_id)), count[0] - len(sessions)


def grouped_by(query: MeasureQuery) -> tuple[str, ...]:
    """The names by which sessions are told apart; that of the task where its card tells more."""
    return tuple("task" if name in CARD_GROUPS else name for name in query.by)


def values_of(query: MeasureQuery, judges: Collection[str]) -> dict[str, Any]:
    """The parameters of `OF_SESSIONS` and `THEIRS`."""
    times = {"since": query.since, "until": query.until, "simulated": int(query.simulated)}
    return {"judges": sorted(judges), **times, "service": query.service, "most": MOST_SESSIONS}


_Found = dict[tuple[str, str], tuple[int, dict[str, SessionMeasure], dict[str, int]]]


def _sessions(scope: Scope, values: dict[str, Any]) -> _Found:
    found: _Found = {}
    for subject_id, arrived, measures, ungrounded in scope.select(_SESSIONS, **values):
        whole = Subject(SubjectKind.SESSION, subject_id, "")
        if at := session_of(whole):
            found[at] = arrived, {judge: SessionMeasure(*rest) for judge, *rest in measures}, dict(ungrounded)
    return found


def _facts(
    scope: Scope,
    query: MeasureQuery,
    task_keys: Sequence[str],
    values: dict[str, Any],
    sessions: Iterable[tuple[str, str]],
) -> dict[tuple[str, str], dict[str, str]]:
    """By service and session: version, agent, model, and the attributes that the query filters or groups by."""
    facts: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    if "service" in query.by:
        facts |= {at: {"service": at[0]} for at in sessions}
    if query.trials or {query.version, query.agent, query.model} != {""} or {*query.by} & {"version", "agent", "model"}:
        for service, session, version, agent, model in scope.select(_TRACES, **values):
            facts[service, session] |= {"version": version, "agent": agent, "model": model}
    shown: dict[str, Sequence[str]] = {}
    if query.task or "task" in grouped_by(query):
        shown["task"] = task_keys
    shown |= {name: [name.removeprefix(ATTRIBUTE)] for name in query.by if name.startswith(ATTRIBUTE)}
    compared = {_TASK: task_keys} | {key: [key] for key in CELL} if query.trials else {}
    if keys := shown | compared:
        named = {f"keys_{n}": list(these) for n, these in enumerate(keys.values())}
        for service, session, *said in scope.select(_attributes(len(shown), len(compared)), **named, **values):
            facts[service, session] |= dict(zip(keys, said, strict=True))
    return facts
