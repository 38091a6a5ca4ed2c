"""A request put to LLM judges, in smaller parts where the model cannot read it as it is."""

from __future__ import annotations

from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.deliberation import deliberate
from tracejury.schemas.errors import PromptTooLongError

from .judge_request import JudgeRequest, PromptBudget, cut_down
from .run_prompts import run_prompts


async def judge_with_fallback(
    request: JudgeRequest, how: PromptBudget, client: Client, *, bypass_cache: bool = False
) -> Deliberation:
    """The judges' answer.

    Raises:
        OverBudgetError, RetryableError: the case was not judged and can be later.
    """
    part: JudgeRequest | None = request
    while part is not None:
        try:
            deliberating = deliberate(part.case, how.panel, part.chapters, how.look)
            return await run_prompts(deliberating, client, bypass_cache=bypass_cache)
        except PromptTooLongError as error:
            why = str(error)
            part = cut_down(part, how)
    return Deliberation(failures=dict.fromkeys(request.case.judges, why))
