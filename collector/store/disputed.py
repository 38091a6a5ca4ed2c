"""Agent runs worth a look because somebody is wrong about them: people, judges, detectors; or none is sure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...schemas.verdicts import DETECTORS
from ..labels import QueueItem, QueueQuery
from .label_runs import FOUND, OPINIONS, REVIEWED, RUNS, SHOWN, TRACES, bounds
from .scope import TENANT, Scope

NEAR: Final = 0.1
"""How far from the threshold of the balanced profile a confidence counts as near it."""

_MAX_WHY: Final = 300


@dataclass(frozen=True, slots=True)
class _Signal:
    """What makes runs disputed. `sql`: rows (TraceId, RunId, Strength, A, B, C), several a run or none."""

    sql: str
    why: Callable[[str, str, str], str]


# An opinion outlives a new wording by its fingerprint, see schemas/opinions.py.
_OPINIONS: Final = f"""
    SELECT * FROM ({OPINIONS}) WHERE FindingId IN (SELECT Id FROM ({SHOWN}))
    OR (Judge, Fingerprint) IN (SELECT Judge, Fingerprint FROM ({SHOWN}))
"""

_SCORED: Final = f"""
    SELECT TraceId, SubjectId AS RunId, Judge, Score FROM verdicts FINAL
    WHERE {TENANT} AND SubjectKind = 'agent-run' AND Score IS NOT NULL AND TraceId IN ({TRACES})
"""

_PEOPLE_CONTRADICT: Final = _Signal(
    f"""
    SELECT TraceId, any(RunId) AS RunId, uniqExact(Annotator) AS Strength,
        arrayStringConcat(arraySort(groupUniqArray(Opinion)), ' and ') AS A, any(Judge) AS B, any(Category) AS C
    FROM ({_OPINIONS}) GROUP BY TraceId, FindingId HAVING uniqExact(Opinion) > 1
    """,
    lambda opinions, judge, category: f"people say {opinions} of what {judge} found ({category})",
)

_PEOPLE_DISAGREE: Final = _Signal(
    f"""
    SELECT TraceId, RunId, 1 AS Strength, Annotator AS A, Judge AS B, Category AS C FROM ({_OPINIONS})
    WHERE Opinion IN ('disagree', 'other-span')
    """,
    lambda annotator, judge, category: f"{annotator} disagrees with what {judge} found ({category})",
)

_SCORE_CONTRADICTS: Final = _Signal(
    f"""
    SELECT TraceId, RunId, abs(Score - 1.5) AS Strength, Judge AS A, toString(Score) AS B, toString(Errors) AS C
    FROM ({_SCORED}) AS scored
    LEFT JOIN (
        SELECT TraceId, RunId, Judge, count() AS Errors FROM ({SHOWN}) WHERE Severity != 'LOW'
        GROUP BY TraceId, RunId, Judge
    ) AS found USING (TraceId, RunId, Judge)
    WHERE (Score = 3 AND Errors > 0) OR (Score <= 1 AND Errors = 0)
    """,
    lambda judge, score, errors: f"{judge} scores it {score} of 3 and names {_errors(errors)} of weight",
)

_DIFFERENT_CATEGORIES: Final = _Signal(
    f"""
    SELECT TraceId, RunId, uniqExact(Category) AS Strength, SpanId AS A,
        arrayStringConcat(arraySort(groupUniqArray(concat(Judge, ': ', Category))), ', ') AS B, '' AS C
    FROM ({SHOWN}) GROUP BY TraceId, RunId, SpanId HAVING uniqExact(Judge) > 1 AND uniqExact(Category) > 1
    """,
    lambda span, claims, _: f"different errors are seen at span {span} ({claims})",
)

_DETECTORS_ALONE: Final = _Signal(
    f"""
    SELECT TraceId, RunId, Strength, A, B, C FROM (
        SELECT TraceId, RunId, max(Confidence) AS Strength, SpanId AS A, any(Judge) AS B,
            any(Category) AS C
        FROM ({SHOWN}) GROUP BY TraceId, RunId, SpanId HAVING countIf(JudgedBy != '{DETECTORS}') = 0
    ) WHERE (TraceId, RunId) IN (SELECT TraceId, RunId FROM ({_SCORED}))
    """,
    lambda span, judge, category: f"{judge} found {category} at span {span}, where no LLM judge sees an error",
)

_UNSURE: Final = _Signal(
    f"""
    SELECT TraceId, RunId, 1 - abs(Confidence - {{balanced:Float64}}) AS Strength, Judge AS A,
        Category AS B, toString(round(Confidence, 2)) AS C
    FROM ({FOUND}) WHERE abs(Confidence - {{balanced:Float64}}) <= {NEAR}
    """,
    lambda judge, category, confidence: f"{judge} is unsure of {category} (confidence {confidence})",
)

_SIGNALS: Final = (
    _PEOPLE_CONTRADICT, _PEOPLE_DISAGREE, _SCORE_CONTRADICTS, _DIFFERENT_CATEGORIES, _DETECTORS_ALONE, _UNSURE,
)  # fmt: skip
"""The strongest first."""

_RUNS: Final = f"""
SELECT TraceId, RunId, Service, Agent, A, B, C FROM {RUNS}
INNER JOIN ({{signal}}) AS signal USING (TraceId, RunId)
LEFT JOIN {REVIEWED}
WHERE Mine = 0 AND NOT has({{known:Array(String)}}, concat(TraceId, '/', RunId))
ORDER BY Strength DESC, TraceId, RunId, A, B, C LIMIT 1 BY TraceId, RunId LIMIT {{limit:UInt64}}
"""


def disputed(scope: Scope, query: QueueQuery) -> list[QueueItem]:
    """Up to `limit` disputed runs that the annotator has not reviewed, by the strongest reason of each."""
    items: list[QueueItem] = []
    values = {"annotator": query.annotator, **bounds(query.since, query.until, query.service)}
    for signal in _SIGNALS:
        left = query.limit - len(items)
        if not left:
            break
        known = [f"{i.trace_id}/{i.agent_run_id}" for i in items]
        rows = scope.select(_RUNS.replace("{signal}", signal.sql), known=known, limit=left, **values)
        items += [_item(row, signal) for row in rows]
    return items


def _item(row: Sequence[Any], signal: _Signal) -> QueueItem:
    trace_id, run_id, service, agent, *details = row
    why = " ".join(signal.why(*details).split())
    return QueueItem(trace_id, run_id, service, agent, why if len(why) <= _MAX_WHY else f"{why[: _MAX_WHY - 1]}…")


def _errors(count: str) -> str:
    return {"0": "no error", "1": "an error"}.get(count, f"{count} errors")
