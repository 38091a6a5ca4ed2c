"""Scores of others in the store. All of it blocks, and raises RetryableError for what may pass, else StoreError."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Any, Final

from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker
from tracejury.schemas.columns import columns_of
from tracejury.schemas.filters import SCORE_FILTERS, conditions
from tracejury.schemas.given_scores import GivenScore
from tracejury.schemas.queries.scores import ScoreQuery, ScoresOf

from .client import Store
from .deleted_elsewhere import delete_made
from .inserting import store_rows
from .lists.sessions import MOST_OF_IDS
from .scope import TENANT, Scope
from .shared_store import SharedStore

TABLE: Final = "scores"
SAYS: Final = "(Value IS NOT NULL OR Label != '' OR ErrorType != '')"
"""The condition that a score is not withdrawn."""
SHOWN: Final = 50
"""Scores that a page, or a row of an export, has of one trace or session."""
PLACED_SECONDS: Final = 60.0
_LATE: Final = 3600 * 10**9
"""Nanoseconds for which spans are looked at again: they, and their scores, are seen after their arrival."""
MOST_COUNTED: Final = 10_000
"""Scores of one trace or session that are read; there are more where so many are found."""

_COLUMNS: Final = columns_of(GivenScore)
_PLACE: Final = "concatWithSeparator('/', TraceId, SessionId, Id)"
_NANOS: Final = "toUnixTimestamp64Nano(ReceivedAt)"
_SAID: Final = f"SELECT {_COLUMNS.select}, {_PLACE} AS Place FROM scores FINAL WHERE {TENANT}"
_OF_SPANS: Final = f"SELECT DISTINCT SpanId, TraceId FROM spans WHERE {TENANT} AND SpanId IN {{span_ids:Array(String)}}"
_UNPLACED: Final = "TraceId = '' AND SessionId = '' AND SpanId != ''"
# Spans that wait may be very many: the engine looks for them, and in no parts but those with spans since then.
_CAME: Final = f"""
SELECT SpanId, any(TraceId) FROM spans
WHERE {TENANT} AND ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}})
    AND SpanId IN (SELECT SpanId FROM scores WHERE {TENANT} AND {_UNPLACED})
GROUP BY SpanId HAVING uniqExact(TraceId) = 1 LIMIT {{most:UInt64}}
"""
_OF_THESE: Final = f"{_UNPLACED} AND SpanId IN {{span_ids:Array(String)}}"
_PAGE: Final = 1_000
_ONE_PAGE: Final = f"{_SAID} AND {_OF_THESE} ORDER BY Id LIMIT {_PAGE}"
# All that the page has, and nothing that came since.
_PLACED: Final = f"""
DELETE FROM scores WHERE {TENANT} AND {_OF_THESE}
    AND Id <= {{last:String}} AND {_NANOS} <= {{latest:Int64}}
"""
_TRACES: Final = f"SELECT TraceId, SessionId FROM traces WHERE {TENANT} AND TraceId IN {{ids:Array(String)}}"
_SESSIONS: Final = f"SELECT TraceId, SessionId FROM traces WHERE {TENANT} AND SessionId IN {{ids:Array(String)}}"
_IS_KNOWN: Final = (
    f"(TraceId IN (SELECT TraceId FROM traces WHERE {TENANT}) OR SessionId != '' AND (SessionId IN "
    f"(SELECT SessionId FROM traces WHERE {TENANT}) OR SessionId IN (SELECT TraceId FROM traces WHERE {TENANT})))"
)
_SESSION: Final = "multiIf(SessionId != '', SessionId, JoinedTo != '', JoinedTo, TraceId)"
_NAMED: Final = f"FROM scores FINAL WHERE {TENANT} AND {SAYS} AND Name IN {{names:Array(String)}}"
_OWNERS: Final = (
    f"SELECT TraceId, ServiceName, {_SESSION} AS Session FROM traces FINAL WHERE {TENANT} "
    "AND ({service:String} = '' OR ServiceName = {service:String})"
)
_OUTCOMES: Final = f"""
SELECT DISTINCT ServiceName, Session, Name, Value, Label FROM
(
    SELECT ServiceName, Session, Name, Value, Label
    FROM (SELECT TraceId, Name, Value, Label {_NAMED} AND TraceId != '') AS said
    INNER JOIN ({_OWNERS}) AS owners ON said.TraceId = owners.TraceId
    UNION ALL
    SELECT ServiceName, Session, Name, Value, Label
    FROM (SELECT SessionId, Name, Value, Label {_NAMED} AND TraceId = '' AND SessionId != '') AS said
    INNER JOIN (SELECT DISTINCT ServiceName, Session FROM ({_OWNERS})) AS owners ON said.SessionId = owners.Session
)
ORDER BY ALL LIMIT {{most:UInt64}}
"""
MOST_OUTCOMES: Final = 100_000


def insert_scores(store: Store, scores: Iterable[GivenScore]) -> None:
    """Store them as they are."""
    store_rows(store, "scores", TABLE, _COLUMNS.names, map(_COLUMNS.row, scores))


class StoredScores:
    """Scores of one tenant."""

    def __init__(self, store: SharedStore, tenant: str = "") -> None:
        self._store, self._scope = store, Scope(store, tenant)
        self._lock, self._saving = Lock(), Lock()
        self._waiting: list[tuple[Sequence[GivenScore], Future[int]]] = []

    def save(self, scores: Sequence[GivenScore], now: int) -> int:
        """Store scores that came in now (unix nanos); how many were left out, as their traces are deleted.

        Of those of one id the last counts. What comes while one insert runs shares the next one: a thumb a request
        would else be an insert each.
        """
        placed = [replace(one, tenant=self._scope.tenant, received_at=now) for one in self._placed(scores)]
        outcome = Future[int]()
        with self._lock:
            self._waiting.append((placed, outcome))
        with self._saving:
            if not outcome.done():
                self._save_waiting()
        return outcome.result()

    def _save_waiting(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting, []
        try:
            kept = self._save([scores for scores, _ in group])
        except BaseException as error:
            for _, outcome in group:
                outcome.set_exception(error)
            raise
        for (scores, outcome), stored in zip(group, kept, strict=True):
            outcome.set_result(len(scores) - len(stored))

    def _save(self, group: Sequence[Sequence[GivenScore]]) -> Sequence[Sequence[GivenScore]]:
        """Those of each request that were stored."""
        until = self._store.tombstones.until
        with self._store.deletions.writing():
            kept = [[s for s in scores if until([(s.tenant, s.trace_id)]) <= s.received_at] for scores in group]
            # Rows of one key and one time: the engine keeps any of them.
            last = {(s.trace_id, s.session_id, s.id): s for s in chain.from_iterable(kept)}
            insert_scores(self._store, last.values())
        delete_made(self._store, {(s.tenant, s.trace_id): s.received_at for s in last.values() if s.trace_id})
        return kept

    def find(self, query: ScoreQuery) -> Sequence[GivenScore]:
        """Up to `limit` of them, latest arrival first; their place is (received_at, `place_of`)."""
        asked, values = conditions(SCORE_FILTERS, query)
        if query.since:
            asked.append(f"{_NANOS} >= {{since:Int64}}")
            values["since"] = query.since
        if query.waiting:
            asked.append(f"NOT {_IS_KNOWN}")
        if query.before:
            asked.append(f"({_NANOS}, Place) < ({{time:Int64}}, {{place:String}})")
            values |= {"time": query.before.time, "place": query.before.id}
        text = "".join(f" AND {one}" for one in (SAYS, *asked))
        sql = f"{_SAID}{text} ORDER BY ReceivedAt DESC, Place DESC LIMIT {{limit:UInt64}}"
        return [_COLUMNS.read(row) for row in self._scope.select(sql, limit=query.limit, **values)]

    def waiting(self, scores: Sequence[GivenScore]) -> frozenset[str]:
        """The places of those whose trace, span or session is not there yet."""
        traces, sessions = {s.trace_id or s.session_id for s in scores}, {s.session_id for s in scores} - {""}
        known = {row[0] for ids in in_parts(traces) for row in self._scope.select(_TRACES, ids=ids)}
        known |= {row[1] for ids in in_parts(sessions) for row in self._scope.select(_SESSIONS, ids=ids)}
        return frozenset(place_of(s) for s in scores if (s.trace_id or s.session_id) not in known)

    def of_traces(self, trace_ids: Collection[str], limit: int) -> ScoresOf:
        """The latest scores of these traces, and of spans in them."""
        return self._of("TraceId IN {ids:Array(String)}", trace_ids, limit)

    def of_session(self, session_id: str, trace_ids: Collection[str], limit: int) -> ScoresOf:
        """The latest scores of a session, and of its traces."""
        ids = [*trace_ids, session_id]
        condition = "(TraceId IN {ids:Array(String)} OR TraceId = '' AND SessionId = {session_id:String})"
        return self._of(condition, ids, limit, session_id=session_id)

    def of_sessions(self, names: Sequence[str], service: str = "") -> Sequence[Sequence[Any]]:
        """Service, session, name, value and label of each score of these names on a session or a trace of it."""
        if not names:
            return []
        return self._scope.select(_OUTCOMES, names=list(names), service=service, most=MOST_OUTCOMES)

    def _of(self, condition: str, ids: Collection[str], limit: int, **values: Any) -> ScoresOf:
        # In the order of the table, so that no more than so many are read.
        some = f"{_SAID} AND {SAYS} AND {condition} LIMIT {MOST_COUNTED + 1}"
        sql = f"SELECT *, count() OVER () FROM ({some}) ORDER BY ReceivedNanos DESC, Place DESC LIMIT {{limit:UInt64}}"
        rows = self._scope.select(sql, ids=sorted(ids), limit=limit, **values)
        return ScoresOf([_COLUMNS.read(row) for row in rows], rows[0][-1] if rows else 0)

    def _placed(self, scores: Iterable[GivenScore]) -> list[GivenScore]:
        """Those of a span alone with the trace that has it, where one does."""
        found = list(scores)
        homes = self._homes({s.span_id for s in found if s.span_id and not s.trace_id})
        return [replace(s, trace_id=homes.get(s.span_id, "")) if s.span_id and not s.trace_id else s for s in found]

    def _homes(self, span_ids: Collection[str]) -> dict[str, str]:
        """The trace of each span that one trace alone has."""
        homes: dict[str, list[str]] = {}
        for ids in in_parts(span_ids):
            for span_id, trace_id in self._scope.select(_OF_SPANS, span_ids=ids):
                homes.setdefault(span_id, []).append(trace_id)
        return {span_id: found[0] for span_id, found in homes.items() if len(found) == 1}

    def place_waiting(self, since: int = 0) -> int:
        """Give scores of spans that came before them their trace, if it arrived `since` (unix nanos); returns how many.

        A score of the same id that comes meanwhile waits for the next time.
        """
        placed = 0
        while homes := {row[0]: row[1] for row in self._scope.select(_CAME, since=since, most=_PAGE)}:
            span_ids = sorted(homes)
            found = [_COLUMNS.read(row) for row in self._scope.select(_ONE_PAGE, span_ids=span_ids)]
            if not found:
                break
            with self._store.deletions.writing():
                insert_scores(self._store, [replace(one, trace_id=homes[one.span_id]) for one in found])
                latest = max(one.received_at for one in found)
                page = {"span_ids": span_ids, "last": found[-1].id, "latest": latest}
                values = {"tenant": self._scope.tenant, **page}
                self._store.command(_PLACED, values, mutated=TABLE)
            placed += len(found)
        return placed


def in_parts(ids: Iterable[str]) -> Iterator[list[str]]:
    """Ids, sorted, in lists that a question may have: of `MOST_OF_IDS` bytes, or of one."""
    part, size = list[str](), 0
    for one in sorted(ids):
        if part and size + len(one.encode()) > MOST_OF_IDS:
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one.encode())
    if part:
        yield part


def place_of(score: GivenScore) -> str:
    """What tells the scores of a project apart."""
    return f"{score.trace_id}/{score.session_id}/{score.id}"


def placing_worker(store: SharedStore, clock: Callable[[], int] = time.time_ns) -> Worker[None, None]:
    """Gives scores of spans that came before them their trace; not started."""
    since = 0

    def place() -> None:
        nonlocal since
        begun = clock()
        for (tenant,) in store.rows(f"SELECT DISTINCT tenant FROM scores WHERE {_UNPLACED}"):
            StoredScores(store, tenant).place_waiting(since)
        since = begun - _LATE

    outage = OutageLog("scores of spans that had not arrived", "wait for the store", "get their traces again", clock)
    return Worker("scores", Task(place), outage, every=PLACED_SECONDS, clock=clock)
