"""Groups of measured sessions and runs by what verdicts and task cards say of them. All of it blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from tracejury.collector.store.measured_behaviours import BEHAVIOUR, session_behaviours, session_items
from tracejury.collector.store.scope import Scope
from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.measures import ANSWER, CARD_GROUPS, MeasuredSession, MeasureQuery

Sessions = list[MeasuredSession]


def by_verdicts(
    scope: Scope, query: MeasureQuery, judges: Collection[str], checks: Collection[str], sessions: Sessions
) -> Sessions:
    """Sessions that have a verdict of `judges`, by the behaviour of their user, and by the answer to one of `checks`.

    The answer is "" where the check has no value, or several items.

    Raises:
        ConfigError: there is no such check.
        RetryableError, StoreError: the store failed.
    """
    for at, name in enumerate(query.by):
        said: Mapping[tuple[str, str], Sequence[str]] = {}
        if name.startswith(ANSWER):
            if (check := name.removeprefix(ANSWER)) not in checks:
                raise ConfigError(f"by: there is no check {check[:60]!r}: use one of {', '.join(sorted(checks))}")
            items = session_items(scope, query, judges, check) if sessions else {}
            said = {where: (own[0].answer,) for where, own in items.items() if len(own) == 1}
        elif name == BEHAVIOUR:
            said = session_behaviours(scope, query, judges) if sessions else {}
        else:
            continue
        sessions = [
            replace(one, keys=tuple(put(key, at, word) for key in one.keys for word in said.get(place(one)) or [""]))
            for one in sessions
        ]
    return sessions


def by_cards(cards: Callable[[], Mapping[str, TaskCard]], query: MeasureQuery, sessions: Sessions) -> Sessions:
    """Sessions or runs with what the card of their task says in place of the task. Raises ConfigError for bad cards."""
    for at, name in enumerate(query.by):
        if name in CARD_GROUPS:
            said = {task: getattr(card, name) for task, card in cards().items()}
            sessions = [
                replace(one, keys=tuple(put(key, at, said.get(key[at], "")) for key in one.keys)) for one in sessions
            ]
    return sessions


def put(key: tuple[str, ...], at: int, value: str) -> tuple[str, ...]:
    """The key with another value at a place."""
    return (*key[:at], value, *key[at + 1 :])


def place(session: MeasuredSession) -> tuple[str, str]:
    """Service and session id."""
    return session.service, session.session_id
