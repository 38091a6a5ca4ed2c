"""Played sessions for people. What an agent said is plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.collector.simulation.player import PlayedSession
from tracejury.schemas.text.counting import counted

from .tables import content, plain_table

FAILURES: Final = 20
"""Failed sessions that are named."""
_NEXT: Final = """
tracejury measures --pack rut --by behaviour --simulated    success by behaviour
tracejury errors --judge rut-oracle                         where tasks failed
tracejury session ID                                        one conversation"""

_NEXT_PERSONAS: Final = """
tracejury measures --pack ted --simulated --trials --by attribute:tracejury.persona    progress by persona
tracejury session ID                                                                   one conversation"""


def talk_summary(played: Sequence[PlayedSession]) -> RenderableType:
    """A row a kind of user, the sessions that failed and why, and how to go on."""
    table = plain_table("user", "sessions", "exchanges", "complete", "failed")
    for user in dict.fromkeys(one.session.user for one in played):
        of = [one for one in played if one.session.user == user]
        failed = sum(bool(one.failure) for one in of)
        counts = (len(of), sum(one.answered for one in of), len(of) - failed, failed)
        table.add_row(user, *map(str, counts))
    failures = [one for one in played if one.failure]
    lines = [_failure(one) for one in failures[:FAILURES]]
    if (more := len(failures) - FAILURES) > 0:
        lines.append(Text(f"and {counted(more, 'more session')}: see --format json", "dim"))
    personas = any(one.session.brief for one in played)
    return Group(table, *lines, Text(_NEXT_PERSONAS if personas else _NEXT, "dim"))


def _failure(one: PlayedSession) -> Text:
    where = f" {one.session.user}, trial {one.session.trial}, after {counted(one.answered, 'exchange')}: "
    name = content(one.session.task, 80)
    sent = f"  session {one.session.session_id}" if one.session.session_id else ""
    return Text.assemble("failed: ", name, where, content(one.failure, 300), sent)
