"""Which users were written for which task. Ids and reasons are plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from tracejury.collector.simulation.writing.write_cards import WrittenCard
from tracejury.judges.packs.rut.users.writing import WrittenTurns

from .tables import content, plain_table

_REASON = 200


def user_turns_json(cards: Sequence[WrittenCard]) -> list[dict[str, Any]]:
    """A task each."""
    return [
        {
            "task": one.card.id,
            "complete": one.complete,
            "failure": one.failure,
            "users": [
                {
                    "behaviour": turns.behaviour,
                    "turns": turns.turns,
                    "written": turns.written,
                    "checks": turns.checks.model_dump(mode="json") if turns.checks else None,
                    "failure": turns.failure,
                }
                for turns in one.written
            ],
        }
        for one in cards
    ]


def user_turns_table(cards: Sequence[WrittenCard]) -> RenderableType:
    """A row for each user of each task, with why it was left out."""
    table = plain_table("task", "user", "turns", "written", "INTENT", "INFER", "LEAK", "why")
    for card in cards:
        task = content(card.card.id, 60)
        if not card.written:
            why = card.failure or "it has these turns already"
            table.add_row(task, *[""] * 6, content(why, _REASON))
        for turns in card.written:
            checked = [check.answer for _, check in turns.checks] if turns.checks else ["", "", ""]
            kept = str(len(turns.turns) or "left out")
            row = (turns.behaviour, kept, str(turns.written), *checked)
            table.add_row(task, *row, content(_why(turns), _REASON))
    return table


def _why(turns: WrittenTurns) -> str:
    """Why they are left out, or what is doubtful about them."""
    doubts = (f"{name.upper()}: {check.reason}" for name, check in turns.checks or () if check.answer != "pass")
    return turns.failure or " ".join(doubts)
