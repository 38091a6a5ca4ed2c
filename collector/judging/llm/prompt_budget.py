"""How much of a model's context a record may take, and what is done where the model reads less than it should."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.picture import MOST, MOST_TOKENS, Picture, tokens_of
from tracejury.judges.llm.prompt_rules import system_text
from tracejury.judges.llm.second_look import MOST_CHARACTERS
from tracejury.schemas.errors import PromptTooLongError

P = TypeVar("P")
T = TypeVar("T")

LEAST_PER_TOKEN: Final = 3
"""Characters: fewer than a token has on average."""

LEAST_BUDGET: Final = 2000
"""Tokens that a transcript may always take, whatever a model's limit leaves."""

RESERVED: Final = 6_000
"""Tokens reserved for the rest of a prompt: the questions, provisional findings, detectors' errors."""

PICTURED: Final = 0.25
"""Share of the room for a transcript that pictures may take at most."""

LOOKED: Final = 0.25
"""Share of the room for a transcript that second looks may take at most."""


@dataclass(frozen=True, slots=True)
class PromptBudget:
    """Limits of requests: `budget` tokens for a transcript, counted by `count`.

    `hints`: whether the judges are asked about the detectors' errors once they have answered; `look`: characters that a
    second look may show beside it; `pictures`: tokens that the pictures of a case may take, 0 for a model that is sent
    none.
    """

    panel: LlmJudges
    budget: int
    count: Callable[[str], int]
    hints: bool = True
    look: int = MOST_CHARACTERS
    pictures: int = 0

    def room(self, description: str, pictures: Sequence[Picture] = ()) -> int:
        """Tokens that a transcript may take beside the description of its service and its pictures."""
        return max(self.budget - len(description) // LEAST_PER_TOKEN - tokens_of(pictures), LEAST_BUDGET)


def prompt_budget(
    panel: LlmJudges, max_input_tokens: int, count: Callable[[str], int], *, hints: bool, images: bool = False
) -> PromptBudget:
    """How cases are made for a model that reads `max_input_tokens`, as its tokenizer `count`s them.

    Of these, the answer takes its part as well: many models count both. Second looks have room of their own. `images`:
    whether it is sent pictures.
    """
    fixed = count(system_text(panel.criteria.rules, panel.judges, Stage.CLOSING, lookup=panel.lookup > 0))
    left = max(max_input_tokens - panel.max_answer_tokens - fixed - RESERVED, 0)
    looks = min(panel.lookup * MOST_CHARACTERS // LEAST_PER_TOKEN, int(left * LOOKED))
    look = looks * LEAST_PER_TOKEN // panel.lookup if panel.lookup else 0
    pictures = min(int((left - looks) * PICTURED), MOST * MOST_TOKENS) if images else 0
    return PromptBudget(panel, left - looks, count, hints, look, pictures)


async def ask_shortened(
    record: P,
    ask: Callable[[P], Awaitable[T]],
    tokens: Callable[[P], int],
    shorten: Callable[[int], P],
    least: int = LEAST_BUDGET,
) -> T:
    """The answer about a record, by half as much of it at a time, and again, while the model cannot read the prompt.

    `tokens`: how many a prompt shows of a record; `shorten`: the record in prompts that show at most so many.

    Raises:
        PromptTooLongError: half of it would be fewer than `least` tokens.
    """
    while True:
        try:
            return await ask(record)
        except PromptTooLongError:
            room = await asyncio.to_thread(tokens, record) // 2
            if room < least:
                raise
            record = await asyncio.to_thread(shorten, room)
