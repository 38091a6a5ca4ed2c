"""How the users of measured sessions behaved, and what oracles say of their tasks. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from ...judges.packs.rut.figures import of_session
from ...judges.packs.rut.measures import LABELLER, ORACLE, behaviours
from ...schemas.checks import ItemAnswer
from ...schemas.judged_rows import STANDS
from ...schemas.queries.measures import MeasureQuery
from ...schemas.verdicts import Subject, SubjectKind, session_of
from .measures import EXCHANGE_IDS, OF_SESSIONS, SUBJECTS, THEIRS, values_of
from .scope import TENANT, Scope

BEHAVIOUR: Final = "behaviour"
"""The group of sessions by behaviour of their user."""

Place = tuple[str, str]
"""Service and id of a session."""

_ITEMS: Final = "Items.Item, Items.Answer, Items.Best, Items.Reason, Items.Grounded"
_STATED: Final = f"""
SELECT ServiceName, SessionId, groupUniqArrayIf(Behaviour, Behaviour != '') FROM traces FINAL
WHERE {TENANT} AND Simulated AND {THEIRS} GROUP BY ServiceName, SessionId
"""
_LABELS: Final = f"""
SELECT ServiceName, SessionId, {_ITEMS}
FROM (
    SELECT TraceId, ServiceName, SessionId, {EXCHANGE_IDS} AS Ids FROM traces FINAL WHERE {TENANT} AND {THEIRS}
) AS own
JOIN
(
    SELECT TraceId, SubjectId, {_ITEMS} FROM verdicts FINAL
    WHERE {TENANT} AND SubjectKind = 'exchange' AND Judge = '{LABELLER}' AND isNotNull(Value)
    AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND {THEIRS})
) AS said ON own.TraceId = said.TraceId WHERE has(Ids, SubjectId)
"""
_OUTCOMES: Final = f"""
SELECT SubjectId, {_ITEMS} FROM verdicts FINAL
WHERE {OF_SESSIONS} AND Judge = '{ORACLE}' AND isNotNull(Value) AND {STANDS} AND SubjectId IN ({SUBJECTS})
"""


def session_behaviours(scope: Scope, query: MeasureQuery, judges: Collection[str]) -> dict[Place, tuple[str, ...]]:
    """Of simulated sessions as their spans say, of others by the labels of their exchanges.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    values = values_of(query, judges)
    stated = scope.select(_STATED, **values) if query.simulated else []
    labels: defaultdict[Place, list[tuple[str, ...]]] = defaultdict(list)
    for service, session, *columns in scope.select(_LABELS, **values):
        labels[service, session].append(behaviours(_items(columns)))
    found = {place: of_session(said) for place, said in labels.items()}
    return found | {(service, session): tuple(said) for service, session, said in stated if said}


def oracle_outcomes(scope: Scope, query: MeasureQuery, judges: Collection[str]) -> dict[Place, list[ItemAnswer]]:
    """What the oracle says of each session whose task has one. Raises as `session_behaviours`."""
    found = {}
    for subject_id, *columns in scope.select(_OUTCOMES, **values_of(query, judges)):
        place = session_of(Subject(SubjectKind.SESSION, subject_id, ""))
        if place and (items := _items(columns)):
            found[place] = items
    return found


def _items(columns: Sequence[Sequence[object]]) -> list[ItemAnswer]:
    rows = zip(*columns, strict=True)
    return [ItemAnswer(i, a, best=bool(b), reason=r, grounded=bool(g)) for i, a, b, r, g in rows]
