"""A hearing held: put to the judges, in smaller parts where the model cannot read it as it is."""

from __future__ import annotations

from ....judges.llm.case import Deliberation
from ....judges.llm.client import Client
from ....judges.llm.deliberation import deliberate
from ....schemas.errors import PromptTooLongError
from .judge_request import JudgeRequest, PromptBudget, cut_down
from .run_prompts import drive


async def put(hearing: JudgeRequest, how: PromptBudget, client: Client) -> Deliberation:
    """What the judges said.

    Raises:
        OverBudgetError, RetryableError: the case was not judged and can be later.
    """
    part: JudgeRequest | None = hearing
    while part is not None:
        try:
            return await drive(deliberate(part.case, how.panel, part.chapters), client)
        except PromptTooLongError as error:
            why = str(error)
            part = cut_down(part, how)
    return Deliberation(failures=dict.fromkeys(hearing.case.judges, why))
