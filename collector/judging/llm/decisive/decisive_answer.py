"""The question which error decided a wrong outcome, put to a model: the same for stored traces and in evaluations."""

from __future__ import annotations

import asyncio
from typing import Final

from tracejury.collector.judging.llm.judge_request import LEAST_BUDGET, PromptBudget
from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.conversation import together
from tracejury.judges.reviews.decisive import DecisiveCase, ask_decisive
from tracejury.processors.transcript.trace_record import near
from tracejury.schemas.errors import PromptTooLongError
from tracejury.schemas.verdicts import Subject

MOST_TOKENS: Final = 8_000
"""Of the record that is shown: which error decided is told by the errors' surroundings, not by all of the trace."""


async def decisive_answer(
    case: DecisiveCase,
    subject: Subject,
    version: str,
    how: PromptBudget,
    client: Client,
    *,
    probability: float = 1.0,
    bypass_cache: bool = False,
) -> Deliberation:
    """The answer, by less of the record where the model cannot read as much.

    Raises:
        OverBudgetError, RetryableError: it was not asked and can be later.
        PromptTooLongError: the model cannot read even the least that is shown.
    """
    room = min(how.budget, MOST_TOKENS)
    while True:
        # The tokens of a long trace take a while to count, and other calls share this loop.
        shown = await asyncio.to_thread(near, case.record, case.at, room, how.count)
        most = how.panel.max_answer_tokens
        asking = ask_decisive(case, shown, subject, version, probability=probability, max_tokens=most)
        try:
            (said,) = await run_prompts(together([asking]), client, bypass_cache=bypass_cache)
        except PromptTooLongError:
            room //= 2
            if room < LEAST_BUDGET // 4:
                raise
        else:
            return said
