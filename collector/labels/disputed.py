"""Agent runs worth a look because somebody is wrong about them, asked of the store; see `collector/disputes.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tracejury.collector.store.lists.findings import whole
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.queries.labels import QueueItem, QueueQuery
from tracejury.schemas.taxonomy import Severity

from .disputes import NEAR, JudgeClaim, Known, PersonOpinion, Run, Scored, disputes
from .runs import FOUND, OPINIONS, REVIEWED, RUNS, bounds

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
