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
from collections.abc import Sequence
from typing import Any, Final

from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.queries.labels import Purpose, QueueItem, QueueQuery, Stratum

from .disputed import disputed
from .runs import MAYBE, REVIEWED, RUNS, SHOWN, bounds

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


def printable(name: str) -> str:
    """The name of a stratum as people and reviews have it: on one line and short, whatever the service is called."""
    found, lowest, service = name.split("/", 2)
    if len(service) > NAME:
        service = f"{service[:NAME]}…{hashlib.sha256(service.encode()).hexdigest()[:8]}"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in service)
    return f"{found}/{lowest}/{shown}".strip()


def queue(scope: Scope, query: QueueQuery) -> list[QueueItem]:
    """Up to `limit` runs that the annotator has not reviewed as drawn, in the order in which to look at them."""
    if query.purpose is Purpose.LEARNING:
        return disputed(scope, query)
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
