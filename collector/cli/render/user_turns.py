"""Which users were written for which task. Ids and reasons are plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.writing.units import WrittenText, WrittenUnit

from .tables import content, plain_table

_REASON = 200


def user_turns_json(cards: Sequence[WrittenUnit[TaskCard]]) -> list[dict[str, Any]]:
    """A task each."""
    return [
        {
            "task": one.unit.id,
            "complete": one.complete,
            "failure": one.failure,
            "users": [
                {
                    "behaviour": turns.name,
                    "turns": turns.texts,
                    "written": turns.written,
                    "checks": turns.checks.model_dump(mode="json") if turns.checks else None,
                    "failure": turns.failure,
                }
                for turns in one.written
            ],
        }
        for one in cards
    ]


def user_turns_table(cards: Sequence[WrittenUnit[TaskCard]]) -> RenderableType:
    """A row for each user of each task, with why it was left out."""
    names = list(dict.fromkeys(name for card in cards for one in card.written for name, _ in one.checks or ()))
    table = plain_table("task", "user", "turns", "written", *map(str.upper, names), "why")
    for card in cards:
        task = content(card.unit.id, 60)
        if not card.written:
            why = card.failure or "it has these turns already"
            table.add_row(task, *[""] * (3 + len(names)), content(why, _REASON))
        for turns in card.written:
            answers = {name: check.answer for name, check in turns.checks or ()}
            kept = str(len(turns.texts) or "left out")
            row = (turns.name, kept, str(turns.written), *(answers.get(name, "") for name in names))
            table.add_row(task, *row, content(_why(turns), _REASON))
    return table


def _why(turns: WrittenText) -> str:
    """Why they are left out, or what is doubtful about them."""
    doubts = (f"{name.upper()}: {check.reason}" for name, check in turns.checks or () if check.answer != "pass")
    return turns.failure or " ".join(doubts)
