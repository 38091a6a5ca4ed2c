"""How the users of measured sessions behaved, and what oracles say of their tasks. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from tracejury.judges.packs.rut.figures import of_session
from tracejury.judges.packs.rut.measures import LABELLER, ORACLE, behaviours
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.judged_rows import STANDS
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.verdicts import Subject, SubjectKind, session_of

from .measures import EXCHANGE_IDS, OF_SESSIONS, SUBJECTS, THEIRS, values_of
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
SELECT ServiceName, SessionId, Shown
FROM (
    SELECT TraceId, ServiceName, SessionId, {EXCHANGE_IDS} AS Ids FROM traces FINAL WHERE {TENANT} AND {THEIRS}
) AS own
JOIN
(
    SELECT TraceId, SubjectId, {_SHOWN} AS Shown FROM verdicts FINAL
    WHERE {TENANT} AND SubjectKind = 'exchange' AND Judge = '{LABELLER}' AND isNotNull(Value)
    AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND {THEIRS})
) AS said ON own.TraceId = said.TraceId WHERE has(Ids, SubjectId)
"""
_OUTCOMES: Final = f"""
SELECT SubjectId, Items.Answer[1], Items.Best[1], Items.Reason[1] FROM verdicts FINAL
WHERE {OF_SESSIONS} AND Judge = '{ORACLE}' AND isNotNull(Value) AND notEmpty(Items.Item) AND {STANDS}
AND SubjectId IN ({SUBJECTS})
"""


def session_behaviours(scope: Scope, query: MeasureQuery, judges: Collection[str]) -> dict[Place, tuple[str, ...]]:
    """Of simulated sessions as their spans say, of others by the labels of their exchanges.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    values = values_of(query, judges)
    stated = scope.select(_STATED, **values) if query.simulated else []
    labels: defaultdict[Place, list[tuple[str, ...]]] = defaultdict(list)
    for service, session, shown in scope.select(_LABELS, **values):
        labels[service, session].append(behaviours([ItemAnswer(item, word, best=False) for item, word, *_ in shown]))
    found = {place: of_session(said) for place, said in labels.items()}
    return found | {(service, session): tuple(said) for service, session, said in stated if said}


def oracle_outcomes(scope: Scope, query: MeasureQuery, judges: Collection[str]) -> dict[Place, ItemAnswer]:
    """What the oracle says first of each session whose task has one: the outcome. Raises as `session_behaviours`."""
    found = {}
    for subject_id, word, best, reason in scope.select(_OUTCOMES, **values_of(query, judges)):
        if place := session_of(Subject(SubjectKind.SESSION, subject_id, "")):
            found[place] = ItemAnswer("", word, best=bool(best), reason=reason)
    return found
