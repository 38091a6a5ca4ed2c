"""How much of a model's context a transcript may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.prompt_rules import system_text
from tracejury.judges.llm.second_look import MOST_CHARACTERS

from .judge_request import LEAST_PER_TOKEN, PromptBudget

RESERVED: Final = 6_000
"""Tokens reserved for the rest of a prompt: the questions, provisional findings, detectors' errors."""

LOOKED: Final = 0.25
"""Share of the room for a transcript that second looks may take at most."""


def prompt_budget(panel: LlmJudges, max_input_tokens: int, count: Callable[[str], int], *, hints: bool) -> PromptBudget:
    """How cases are made for a model that reads `max_input_tokens`, as its tokenizer `count`s them.

    Of these, the answer takes its part as well: many models count both. Second looks have room of their own.
    """
    fixed = count(system_text(panel.criteria.rules, panel.judges, Stage.CLOSING, lookup=panel.lookup > 0))
    left = max(max_input_tokens - panel.max_answer_tokens - fixed - RESERVED, 0)
    looks = min(panel.lookup * MOST_CHARACTERS // LEAST_PER_TOKEN, int(left * LOOKED))
    look = looks * LEAST_PER_TOKEN // panel.lookup if panel.lookup else 0
    return PromptBudget(panel, left - looks, count, hints, look)
