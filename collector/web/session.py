"""One session as a page shows it: the conversation, each exchange with what was found in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from ...schemas.verdicts import Verdict
from ..listing import Exchange, SessionRow, SessionView


@dataclass(frozen=True, slots=True)
class Turned:
    """An exchange with its number, from 1, and its address; `scores`: the lowest of each judge, the worst first."""

    number: int
    said: Exchange
    href: str
    scores: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class SessionPageView:
    """`others`: services that have a session of that id, too, with the address of each alone."""

    session: SessionRow
    turns: Sequence[Turned]
    others: Sequence[tuple[str, str]]
    left: int
    traces: str


def conversation(view: SessionView, service: str) -> SessionPageView:
    """The view of a session; `service`: the one that was asked for, "" for none."""
    path = f"/sessions/{quote(view.session.session_id, safe='')}"
    several = len(view.services) > 1 or service
    others = [(name, f"{path}?{urlencode({'service': name})}") for name in view.services] if several else []
    turns = [
        Turned(number, exchange, f"/traces/{quote(exchange.trace_id, safe='')}", _scores(exchange))
        for number, exchange in enumerate(view.exchanges, 1)
    ]
    traces = f"/traces?{urlencode({'session': view.session.session_id, 'range': '30d'})}"
    return SessionPageView(view.session, turns, others, view.left, traces)


def _scores(exchange: Exchange) -> list[Verdict]:
    scored = [(verdict.score, verdict.judge, verdict) for verdict in exchange.verdicts if verdict.score is not None]
    lowest: dict[str, Verdict] = {}
    for _, judge, verdict in sorted(scored, key=lambda one: one[:2]):
        lowest.setdefault(judge, verdict)
    return list(lowest.values())
