"""One session as a page shows it: the conversation, each exchange with what was found in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from ...schemas.queries.listing import Exchange, SessionRow, SessionView
from ...schemas.text.naming import is_whole
from ...schemas.verdicts import Verdict
from .links import session_link, trace_link
from .window import Window, field_time


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """An exchange with its number, from 1, and its address; `scores`: the lowest of each judge, the worst first."""

    number: int
    said: Exchange
    href: str
    scores: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class SessionPageView:
    """`others`: services that have a session of that id, too, with the address of each alone.

    `traces`: the list of its traces, "" where that cannot be asked for.
    """

    session: SessionRow
    turns: Sequence[ConversationTurn]
    others: Sequence[tuple[str, str]]
    left: int
    traces: str


def conversation(view: SessionView, service: str, window: Window, profile: str = "") -> SessionPageView:
    """The view of a session; `service`: the one that was asked for, "" for none; `profile` likewise."""
    session = view.session
    several = len(view.services) > 1 or service
    others = [(name, _of(window, session, name, profile)) for name in view.services] if several else []
    turns = [
        ConversationTurn(number, exchange, trace_link(window, exchange.trace_id, profile=profile), _scores(exchange))
        for number, exchange in enumerate(view.exchanges, 1)
    ]
    return SessionPageView(session, turns, others, view.left, _traces(session, profile))


def _of(window: Window, session: SessionRow, service: str, profile: str) -> str:
    return session_link(window, session.session_id, service, profile=profile)


def _traces(session: SessionRow, profile: str) -> str:
    if not (is_whole(session.session_id) and is_whole(session.service)):
        return ""
    # From its first arrival on, however old the session is.
    asked = {"session": session.session_id, "service": session.service, "from": field_time(session.first_received)}
    asked["profile"] = profile
    return f"/traces?{urlencode({name: value for name, value in asked.items() if value})}"


def _scores(exchange: Exchange) -> list[Verdict]:
    scored = [(verdict.score, verdict.judge, verdict) for verdict in exchange.verdicts if verdict.score is not None]
    lowest: dict[str, Verdict] = {}
    for _, judge, verdict in sorted(scored, key=lambda one: one[:2]):
        lowest.setdefault(judge, verdict)
    return list(lowest.values())
