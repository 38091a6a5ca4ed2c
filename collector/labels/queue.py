"""The label queue in SQL: a random stratified sample, and disputed runs.

Each run has a random number in [0, 1) for good, a hash of its ids; a second one says whether everybody is asked for it.
A stratum of N runs gets a share of the sample in proportion to sqrt(N) (Bankier, "Power allocations", 1988), so that
small services and rare failures are seen without the large ones being forgotten: the first run of each stratum, then
the others, ordered by number times sqrt(N). So wherever somebody stops, the runs of a stratum that were looked at are
those with the smallest numbers. That holds as long as nothing but its number decides when a run comes: a review that
the queue did not draw neither takes a run out of it nor puts one in, since people look first at what looks bad.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tracejury.collector.store.lists.findings import whole
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.queries.labels import Purpose, QueueItem, QueueQuery, Stratum
from tracejury.schemas.taxonomy import Severity

from .disputes import NEAR, JudgeClaim, Known, PersonOpinion, Run, Scored, disputes
from .runs import FOUND, MAYBE, OPINIONS, REVIEWED, RUNS, SHOWN, bounds
from .session_queue import session_queue

_HASH: Final = "SHA256(concat('label\\0', TraceId, '\\0', RunId))"
_NUMBER: Final = f"reinterpretAsUInt64(substring({_HASH}, 1, 8)) / pow(2, 64)"
_SHARED: Final = f"reinterpretAsUInt64(substring({_HASH}, 9, 8)) / pow(2, 64)"

DRAWABLE: Final = f"""
SELECT TraceId, RunId, Service, Agent, Mine, Drawn, MyDraws, {_NUMBER} AS Number, {_SHARED} AS Shared,
    concat(if(Found > 0, 'found', 'clean'), '/', if(Scored > 0, toString(Lowest), '-'), '/', Service) AS Name
FROM {RUNS}
LEFT JOIN (
    SELECT TraceId, RunId, count() AS Found FROM ({SHOWN}) GROUP BY TraceId, RunId
) AS found USING (TraceId, RunId)
LEFT JOIN (
    SELECT TraceId, SubjectId AS RunId, min(Score) AS Lowest, count() AS Scored FROM verdicts FINAL
    PREWHERE {TENANT} AND {MAYBE} WHERE SubjectKind = 'agent-run' AND Score IS NOT NULL
    GROUP BY TraceId, RunId
) AS scored USING (TraceId, RunId)
LEFT JOIN {REVIEWED}
"""
"""The runs of which the queue draws, each with the name of its stratum, and what was reviewed of it."""

_STRATIFIED: Final = f"""
SELECT *,
    count() OVER (PARTITION BY Name) AS Size,
    Number > min(Number) OVER (PARTITION BY Name) AS Later,
    maxIf(Number, Drawn > 0) OVER (PARTITION BY Name) AS Reached
FROM ({DRAWABLE})
"""

_SAMPLE: Final = f"""
SELECT TraceId, RunId, Service, Agent, Name, Size, Mine, Later * Number * sqrt(Size) FROM ({_STRATIFIED})
WHERE MyDraws = 0 AND (Drawn = 0 OR ({{annotator:String}} != '' AND Shared < {{overlap:Float64}}))
ORDER BY Later, Number * sqrt(Size), TraceId, RunId LIMIT {{limit:UInt64}}
"""

_STRATA: Final = f"""
SELECT Name, count(), countIf(Drawn = 0 AND Number < Reached),
    arraySort(groupArrayIf((TraceId, RunId), Drawn > 0)) AS Looked
FROM ({_STRATIFIED})
GROUP BY Name ORDER BY Name
"""

NAME: Final = 200
"""Characters of a service in the name of a stratum."""

NEWEST: Final = 5_000
"""Runs that are considered: those of traces that people have labelled, then the newest."""

AT_ONCE: Final = 3_000
"""Traces that are named in one question: a server takes 128 KiB of a parameter."""

_MAX_WHY: Final = 300
_A_RUN: Final = 200
"""Findings considered of one run, the surest first."""

_OPINED: Final = whole(f"SELECT TraceId FROM annotations WHERE {TENANT}")
_CANDIDATES: Final = f"""
SELECT TraceId, RunId, Service, Agent FROM {RUNS}
LEFT JOIN {REVIEWED}
WHERE Mine = 0
ORDER BY {_OPINED} DESC, At DESC, TraceId, RunId LIMIT {{newest:UInt64}}
"""
# As values: each question would else look for the candidates anew.
_THESE: Final = "TraceId IN {trace_ids:Array(String)}"

_CLAIMS: Final = f"""
SELECT TraceId, RunId, SpanId, Id, Fingerprint, Judge, JudgedBy, Category, Severity, Confidence, Taxonomy
FROM ({FOUND}) WHERE {_THESE} AND Confidence >= {{balanced:Float64}} - {2 * NEAR}
ORDER BY Confidence DESC, SpanId, Id LIMIT {_A_RUN} BY TraceId, RunId
"""

_SAID: Final = f"""
SELECT TraceId, RunId, FindingId, Fingerprint, Opinion, Annotator, Judge, Category FROM ({OPINIONS}) WHERE {_THESE}
ORDER BY TraceId, FindingId, Annotator
"""

_SCORED: Final = f"""
SELECT TraceId, SubjectId AS RunId, Judge, Score FROM verdicts FINAL
PREWHERE {TENANT} AND {_THESE} WHERE SubjectKind = 'agent-run' AND Score IS NOT NULL
"""


def printable(name: str) -> str:
    """The name of a stratum as people and reviews have it: on one line and short, whatever the service is called."""
    found, lowest, service = name.split("/", 2)
    if len(service) > NAME:
        service = f"{service[:NAME]}…{hashlib.sha256(service.encode()).hexdigest()[:8]}"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in service)
    return f"{found}/{lowest}/{shown}".strip()


def queue(scope: Scope, query: QueueQuery) -> list[QueueItem]:
    """Up to `limit` runs or sessions that the annotator has not labelled, in the order in which to look at them."""
    if query.purpose is Purpose.LEARNING:
        return disputed(scope, query)
    if query.purpose is Purpose.SESSIONS:
        return session_queue(scope, query)
    values = {"annotator": query.annotator, "overlap": query.overlap, "limit": query.limit}
    rows = scope.select(_SAMPLE, **bounds(query.since, query.until, query.service, simulated=query.simulated), **values)
    reached = rows[-1][7] if len(rows) == query.limit else math.inf
    return [_drawn(row, reached) for row in rows]


def strata(scope: Scope, since: int, until: int, service: str) -> list[Stratum]:
    """The strata of the judged runs that arrived in that time, by name."""
    rows = scope.select(_STRATA, **bounds(since, until, service), annotator="")
    return [Stratum(printable(name), size, len(drawn), waiting, tuple(drawn)) for name, size, waiting, drawn in rows]


def _drawn(row: Sequence[Any], reached: float) -> QueueItem:
    trace_id, run_id, service, agent, stratum, size, mine, _ = row
    why = f"drawn at random from {size} like it: {_described(stratum)}"
    if mine:
        why += "; you reviewed it before it was drawn: look again, and say so again"
    return QueueItem(trace_id, run_id, service, agent, why, printable(stratum), _probability(reached, size))


def _probability(reached: float, size: int) -> float:
    """That a number is below reached / sqrt(size), or that it is not and still the smallest of all."""
    below = min(1.0, reached / math.sqrt(size))
    return below + (1 - below) ** size / size


def _described(stratum: str) -> str:
    found, lowest, _ = stratum.split("/", 2)
    errors = "errors found" if found == "found" else "no error found"
    return errors if lowest == "-" else f"{errors}, lowest score {lowest}"


def disputed(scope: Scope, query: QueueQuery, newest: int = NEWEST) -> list[QueueItem]:
    """Up to `limit` disputed runs that the annotator has not reviewed, by the strongest reason of each."""
    about = bounds(query.since, query.until, query.service, simulated=query.simulated)
    values = {"annotator": query.annotator, "newest": newest, **about}
    runs = {(trace_id, run_id): who for trace_id, run_id, *who in scope.select(_CANDIDATES, **values)}
    if not runs:
        return []
    ids = sorted({trace_id for trace_id, _ in runs})

    def of_these(sql: str) -> Iterator[Sequence[Any]]:
        for first in range(0, len(ids), AT_ONCE):
            yield from scope.select(sql, **values, trace_ids=ids[first : first + AT_ONCE])

    known = Known(
        [_claim(row) for row in of_these(_CLAIMS)],
        [PersonOpinion((t, r), f, p, Opinion(o), *who) for t, r, f, p, o, *who in of_these(_SAID)],
        [Scored((t, r), judge, score) for t, r, judge, score in of_these(_SCORED)],
        least=values["balanced"],
    )
    told = [(run, why) for run, why in disputes(known).items() if run in runs]
    return [_item(run, runs[run], why) for run, why in told[: query.limit]]


def _claim(row: Sequence[Any]) -> JudgeClaim:
    trace_id, run_id, span_id, id_, print_, judge, by, category, severity, confidence, taxonomy = row
    run, rank = (trace_id, run_id), Severity(severity)
    return JudgeClaim(run, span_id, id_, print_, judge, by, category, rank, confidence, taxonomy)


def _item(run: Run, who: Sequence[str], why: str) -> QueueItem:
    (trace_id, run_id), (service, agent) = run, who
    why = " ".join(why.split())
    return QueueItem(trace_id, run_id, service, agent, why if len(why) <= _MAX_WHY else f"{why[: _MAX_WHY - 1]}…")
