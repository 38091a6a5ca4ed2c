"""How the users of measured sessions behaved, and what else checks answer of these. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from tracejury.judges.packs.loader import user_labels
from tracejury.schemas.behaviours import behaviours_of_session
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.judged_rows import STANDS
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.verdicts import Subject, SubjectKind, session_of

from .measures import EXCHANGE_IDS, SUBJECTS, THEIRS, values_of
from .scope import TENANT, Scope

BEHAVIOUR: Final = "behaviour"
"""The group of sessions by behaviour of their user."""

Place = tuple[str, str]
"""Service and id of a session."""

_SHOWN: Final = """arrayFilter(shown -> NOT shown.3 AND shown.4,
    arrayZip(Items.Item, Items.Answer, Items.Best, Items.Grounded))"""
_STATED: Final = f"""
SELECT ServiceName, SessionId, groupUniqArrayIf(Behaviour, Behaviour != '') FROM traces FINAL
WHERE {TENANT} AND Simulated AND {THEIRS} GROUP BY ServiceName, SessionId
"""
_LABELS: Final = f"""
SELECT ServiceName, SessionId, Judge, Shown
FROM (
    SELECT TraceId, ServiceName, SessionId, {EXCHANGE_IDS} AS Ids FROM traces FINAL WHERE {TENANT} AND {THEIRS}
) AS own
JOIN
(
    SELECT TraceId, SubjectId, Judge, {_SHOWN} AS Shown FROM verdicts FINAL
    WHERE {TENANT} AND SubjectKind = 'exchange' AND Judge IN {{labellers:Array(String)}} AND isNotNull(Value)
    AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND {THEIRS})
) AS said ON own.TraceId = said.TraceId WHERE has(Ids, SubjectId)
"""
_VOTES: Final = ", ".join(f"arrayResize(Items.{column}, length(Items.Item))" for column in ("Yes", "Runs"))
"""Rows of earlier versions have none."""
_ITEMS: Final = f"""
SELECT SubjectId, arrayZip(Items.Item, Items.Answer, Items.Best, Items.Reason, Items.Grounded, {_VOTES})
FROM verdicts FINAL WHERE {TENANT} AND TraceId = '' AND SubjectKind = 'session' AND Judge = {{judge:String}}
AND isNotNull(Value) AND notEmpty(Items.Item) AND {STANDS} AND SubjectId IN ({SUBJECTS})
"""


def session_behaviours(scope: Scope, query: MeasureQuery, judges: Collection[str]) -> dict[Place, tuple[str, ...]]:
    """Of simulated sessions as their spans say, of others by the labels of their exchanges.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    values, labels = values_of(query, judges), user_labels()
    stated = scope.select(_STATED, **values) if query.simulated else []
    said: defaultdict[Place, list[tuple[str, ...]]] = defaultdict(list)
    for service, session, judge, shown in scope.select(_LABELS, labellers=sorted(labels), **values):
        answers = [ItemAnswer(item, word, best=False) for item, word, *_ in shown]
        said[service, session].append(labels[judge](answers))
    found = {place: behaviours_of_session(exchanges) for place, exchanges in said.items()}
    return found | {(service, session): tuple(named) for service, session, named in stated if named}


def session_items(
    scope: Scope, query: MeasureQuery, judges: Collection[str], judge: str
) -> dict[Place, list[ItemAnswer]]:
    """The items of a judge's value of each session that has a verdict of `judges`. Raises as `session_behaviours`."""
    found = {}
    for subject_id, items in scope.select(_ITEMS, judge=judge, **values_of(query, judges)):
        if place := session_of(Subject(SubjectKind.SESSION, subject_id, "")):
            found[place] = [
                ItemAnswer(item, word, best=bool(best), reason=why, grounded=bool(grounded), yes=yes, runs=runs)
                for item, word, best, why, grounded, yes, runs in items
            ]
    return found
