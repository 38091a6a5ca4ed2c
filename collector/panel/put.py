"""A hearing held: put to the judges, in smaller parts where the model cannot read it as it is."""

from __future__ import annotations

from ...judges.panel.case import Deliberation
from ...judges.panel.client import Client
from ...judges.panel.deliberation import deliberate
from ...schemas.errors import PromptTooLongError
from .drive import drive
from .hearing import Hearing, Preparation, cut_down


async def put(hearing: Hearing, how: Preparation, client: Client) -> Deliberation:
    """What the judges said.

    Raises:
        OverBudgetError, RetryableError: the case was not judged and can be later.
    """
    part: Hearing | None = hearing
    while part is not None:
        try:
            return await drive(deliberate(part.case, how.panel, part.chapters), client)
        except PromptTooLongError as error:
            why = str(error)
            part = cut_down(part, how)
    return Deliberation(failures=dict.fromkeys(hearing.case.judges, why))
