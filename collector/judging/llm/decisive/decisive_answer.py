"""The question which error decided a wrong outcome, put to a model: the same for stored traces and in evaluations."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from tracejury.collector.judging.llm.prompt_budget import LEAST_BUDGET, PromptBudget, ask_shortened
from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.conversation import together
from tracejury.judges.reviews.decisive import DecisiveCase, ask_decisive
from tracejury.processors.transcript.trace_record import near
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.transcript import Transcript
from tracejury.schemas.verdicts import Subject, Verdict

NOTHING_RECORDED: Final = "no error was found, and nothing that was said or done is recorded"
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
    """The answer, by less of the record where the model cannot read as much; without a question about an empty case.

    Raises:
        OverBudgetError, RetryableError: it was not asked and can be later.
        PromptTooLongError: the model cannot read even the least that is shown.
    """
    if case.is_empty:
        none = Verdict(DECISIVE, version, subject, None, not_applicable=True, reasons=NOTHING_RECORDED)
        return Deliberation((replace(none, sampling_probability=probability),))

    async def ask(record: tuple[int, Transcript]) -> Deliberation:
        most = how.panel.max_answer_tokens
        asking = ask_decisive(case, record[1], subject, version, probability=probability, max_tokens=most)
        (said,) = await run_prompts(together([asking]), client, bypass_cache=bypass_cache)
        return said

    def shorten(room: int) -> tuple[int, Transcript]:
        return room, near(case.record, case.at, room, how.count)

    # The tokens of a long trace take a while to count, and other calls share this loop.
    first = await asyncio.to_thread(shorten, min(how.budget, MOST_TOKENS))
    return await ask_shortened(first, ask, lambda record: record[0], shorten, LEAST_BUDGET // 4)
