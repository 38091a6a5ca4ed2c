"""The runs that a calibrated rate speaks of, in the strata of which the label queue draws. All of it blocks.

They are those of the rate: of its time, judged by whom its population names. A run that the queue drew stands for as
many of them as its stratum has for each one that was reviewed as drawn, whichever of them the question is about
(Horvitz and Thompson 1952). A stratum of which nobody reviewed any tells nothing of its runs, nor do the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.collector.labels.queue import DRAWABLE, printable
from tracejury.collector.labels.runs import bounds
from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import TENANT, Scope

from .calibration import UnseenStrata, UnseenStratum
from .question import OF_RUNS, Question
from .sql import WEIGHT

MOST_GROUPS: Final = 10_000
"""Groups with unseen runs that are told apart; where there are more, e.g. of sessions, no group is calibrated."""


@dataclass(frozen=True, slots=True)
class FrameStratum:
    """A stratum as the store names it: how many runs it has, and of how many of them the question is.

    `drawn`: (trace id, run id) of those that the queue drew and somebody reviewed.
    """

    name: str
    size: int
    asked: int
    drawn: Sequence[tuple[str, str]]


def frame(store: Store, question: Question) -> list[FrameStratum]:
    """All strata that have runs of the question's time and population, by name."""
    columns = "Name, count(), countIf(Asked), arraySort(groupArrayIf((TraceId, RunId), Drawn > 0))"
    text = f"SELECT {columns} FROM {_judged(question)} GROUP BY Name ORDER BY Name"
    return [FrameStratum(*row) for row in Scope(store, question.tenant).select(text, **_values(question))]


def unseen(store: Store, question: Question, strata: Sequence[FrameStratum], most: int = MOST_GROUPS) -> UnseenStrata:
    """Strata that the question is about and of which nobody has reviewed a drawn run, the largest first."""
    if all(one.drawn or not one.asked for one in strata):
        return UnseenStrata()
    # Found anew rather than named: services are clients' to choose, and a server takes 128 KiB of a parameter.
    text = (
        f"SELECT groupArray((Name, Owner, Runs)), groupUniqArrayArray({most + 1})(Groups) FROM ("
        "SELECT Name, any(Service) AS Owner, countIf(Asked) AS Runs, "
        f"groupUniqArrayIf({most + 1})((Point, Key), Asked) AS Groups FROM {_judged(question)} "
        "GROUP BY Name HAVING Runs > 0 AND countIf(Drawn > 0) = 0)"
    )
    ((found, groups),) = Scope(store, question.tenant).select(text, **_values(question))
    blind = sorted((UnseenStratum(printable(name), service, runs) for name, service, runs in found), key=_largest)
    return UnseenStrata(blind, frozenset(groups) if len(groups) <= most else None)


def _largest(one: UnseenStratum) -> tuple[int, str]:
    return -one.runs, one.name


def _judged(q: Question) -> str:
    """Runs of which the queue draws, that the population judged: whether the question is of them, and their group."""
    of_pattern = ["has(Errors.Pattern, {pattern:String})"] if q.pattern else []
    asked = " AND ".join(["1", *(f"{column} = {{{column}:String}}" for column in q.runs), *of_pattern])
    point = "intDiv(At, {step:UInt64}) * {step:UInt64}" if q.step else "toUInt64({since:Int64})"
    key = "''" if q.by is None else OF_RUNS.get(q.by, "''")
    return (
        f"({DRAWABLE}) AS drawable INNER JOIN ("
        f"SELECT TraceId, RunId, {asked} AS Asked, {point} AS Point, toString({key}) AS Key FROM run_facts FINAL "
        f"WHERE {TENANT} AND Unit = 'run' AND At >= {{since:Int64}} AND At < {{until:Int64}} "
        f"AND {WEIGHT[q.population]} > 0) AS judged USING (TraceId, RunId)"
    )


def _values(q: Question) -> dict[str, Any]:
    step = {"step": q.step} if q.step else {}
    pattern = {"pattern": q.pattern} if q.pattern else {}
    return {**q.runs, **step, **pattern, **bounds(q.since, q.until, ""), "annotator": ""}
