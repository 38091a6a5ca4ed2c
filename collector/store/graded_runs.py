"""The agent runs that LLM judges have graded, for the figures of grades. All of it blocks.

A run counts as in error rates: of traces that are closed, under the id that these show under.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from tracejury.judges.llm.criteria import GPA_JUDGES
from tracejury.judges.packs.grades import run_grade, with_means
from tracejury.schemas.judged_rows import STANDS
from tracejury.schemas.llm_rows import LATEST
from tracejury.schemas.queries.measures import ATTRIBUTE, MeasuredSession, MeasureQuery
from tracejury.schemas.rates import Unit
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.verdicts import DETECTORS

from .derived.facts import HOUR, fact_unit, short
from .derived.rederiving import require_derived
from .lists.findings import HOLDS
from .measured_behaviours import BEHAVIOUR
from .measures import MOST_SESSIONS, grouped_by, stated_by_traces
from .scope import TENANT, Scope

_NAMES: Final = ("service", "version", "agent", "model")
_COLUMNS: Final = ", ".join(name.capitalize() for name in _NAMES)
_RUNS: Final = f"""
FROM run_facts FINAL WHERE {TENANT} AND Unit = {{unit:String}} AND Hour >= {{first:UInt32}} AND Hour <= {{last:UInt32}}
AND At >= {{since:UInt64}} AND At < {{until:UInt64}} AND JudgesWhy != 'open'
""" + "".join(f"AND ({{{name}:String}} = '' OR {name.capitalize()} = {{{name}:String}})\n" for name in _NAMES)
_THEIRS: Final = f"SELECT TraceId {_RUNS}"
_PARTS: Final = f"SELECT arrayJoin(Parts) {_RUNS}"

_WAITING: Final = f"SELECT count() {_RUNS} AND JudgesWhy = 'pending'"
# The ledger tells who was asked, by chance or by hand, the verdict the grade: an earlier one where it failed since.
_GRADES: Final = f"""
SELECT own.*, Said, count() OVER () FROM
(
    SELECT TraceId, RunId, At, Session, Behaviours, Parts, {_COLUMNS} {_RUNS}
) AS own
JOIN
(
    SELECT TraceId, SubjectId, groupArray((Judge, if(Outcome = 'failed', NULL, Score) AS Grade,
        isNull(Grade) AND Outcome != 'not-applicable', if(Probability > 0, 1 / Probability, 0))) AS Said
    FROM
    (
        SELECT TraceId, SubjectId, Judge, Outcome, Probability FROM judgements FINAL WHERE {TENANT}
        AND SubjectKind = 'agent-run' AND Judge IN {{judges:Array(String)}} AND TraceId IN ({_THEIRS}) {LATEST}
    ) AS words
    LEFT JOIN
    (
        SELECT TraceId, SubjectId, Judge, Score FROM verdicts FINAL WHERE {TENANT}
        AND SubjectKind = 'agent-run' AND Judge IN {{judges:Array(String)}} AND {STANDS} AND TraceId IN ({_THEIRS})
    ) AS verdict USING (TraceId, SubjectId, Judge)
    WHERE Outcome IN ('done', 'cached', 'not-applicable', 'failed') GROUP BY TraceId, SubjectId
) AS said ON own.TraceId = said.TraceId AND own.RunId = said.SubjectId
ORDER BY At DESC, own.TraceId, RunId LIMIT {{most:UInt64}}
"""
_FOUND: Final = f"""
SELECT TraceId, AgentRunId, groupUniqArray(toString(Judge)), groupUniqArrayArray(Dimensions) FROM findings FINAL
WHERE {TENANT} AND {HOLDS} AND JudgedBy != '{DETECTORS}' AND Verification != 'refuted' AND TraceId IN ({_PARTS})
GROUP BY TraceId, AgentRunId
"""


def graded_runs(scope: Scope, query: MeasureQuery, task_keys: Sequence[str]) -> tuple[list[MeasuredSession], int]:
    """The runs that a GPA judge was asked about, latest first, and how many of that time were not read.

    A run has the task and the attribute that its trace states. Each has as `ungrounded` the judges that gave it 0 while
    none of their findings in it stands, one that was refuted left out. `task_keys`: attributes that name a task.

    Raises:
        RetryableError: also while facts are still being made of what an earlier version stored.
        StoreError: the store failed.
    """
    require_derived(scope.store, scope.tenant)
    values = _values(query)
    rows = scope.select(_GRADES, judges=list(GPA_JUDGES.values()), most=MOST_SESSIONS, **values)
    grouped = grouped_by(query)
    keys = {"task": task_keys} if query.task or "task" in grouped else {}
    keys |= {name: [name.removeprefix(ATTRIBUTE)] for name in grouped if name.startswith(ATTRIBUTE)}
    stated: dict[str, dict[str, str]] = {}
    if keys and rows:
        named = {f"keys_{n}": list(these) for n, these in enumerate(keys.values())}
        for trace_id, *said in scope.select(stated_by_traces(len(keys), _PARTS), **named, **values):
            stated[trace_id] = {key: short(value) for key, value in zip(keys, said, strict=True)}
    found: dict[tuple[str, str], set[str]] = {}
    if any(score == 0 for row in rows for _, score, *_ in row[-2]):
        for trace_id, run_id, judges, dimensions in scope.select(_FOUND, **values):
            found[trace_id, run_id] = {*judges, *(GPA_JUDGES[Dimension(code)] for code in dimensions)}
    runs = []
    for trace_id, run_id, at, session, behaviours, parts, *names, said, _ in rows:
        facts = dict(zip(_NAMES, names, strict=True))
        for key in keys:
            facts[key] = next(filter(None, (stated.get(part, {}).get(key, "") for part in parts)), "")
        if query.task and facts["task"] != query.task:
            continue
        grades = {judge: run_grade(score, unscored=unscored, weight=weight) for judge, score, unscored, weight in said}
        stands = set().union(*(found.get((part, run_id), ()) for part in parts))
        runs.append(
            MeasuredSession(
                facts["service"],
                session,
                at,
                tuple(
                    product(*(behaviours or [""] if name == BEHAVIOUR else [facts.get(name, "")] for name in grouped))
                ),
                max(grade.weight for grade in grades.values()),
                with_means(grades),
                {judge: 1 for judge, score, *_ in said if score == 0 and judge not in stands},
                trace_id=trace_id,
                run_id=run_id,
            )
        )
    return runs, rows[0][-1] - len(rows) if rows else 0


def waiting_runs(scope: Scope, query: MeasureQuery) -> int | None:
    """How many runs LLM judges are still to grade; None where that is not known, which is of a task.

    Raises RetryableError, StoreError.
    """
    if query.task:
        return None
    ((count,),) = scope.select(_WAITING, **_values(query))
    return int(count)


def _values(query: MeasureQuery) -> dict[str, Any]:
    """The parameters of `_RUNS`."""
    names = {name: short(getattr(query, name)) for name in _NAMES}
    times = {
        "since": query.since,
        "until": query.until,
        "first": query.since // HOUR,
        "last": (query.until - 1) // HOUR,
    }
    return {"unit": fact_unit(Unit.RUN, simulated=query.simulated), **times, **names}
