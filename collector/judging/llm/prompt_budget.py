"""How much of a model's context a transcript may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ....judges.llm.case import Stage
from ....judges.llm.members import LlmJudges
from ....judges.llm.prompt_rules import system_text
from .judge_request import PromptBudget

RESERVED: Final = 6_000
"""Tokens reserved for the rest of a prompt: the question, provisional findings, hints."""


def prompt_budget(panel: LlmJudges, max_input_tokens: int, count: Callable[[str], int], *, hints: bool) -> PromptBudget:
    """How cases are made for a model that reads `max_input_tokens`, as its tokenizer `count`s them.

    Of these, the answer takes its part as well: many models count both.
    """
    fixed = count(system_text(panel.criteria.rules, panel.judges, Stage.CLOSING))
    return PromptBudget(panel, max_input_tokens - panel.max_answer_tokens - fixed - RESERVED, count, hints)
