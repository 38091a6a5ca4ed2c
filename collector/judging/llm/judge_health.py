"""What keeps the model from answering, for whoever asks and for the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from ....processors.assemble import SECOND
from ....schemas.verdicts import Judgement, Outcome

log = logging.getLogger(__name__)

PACE: Final = 60 * SECOND
"""Between two lines of the log: a model that fails now and then does not fill it."""


class JudgeHealth:
    """`now`: why the latest case brought nothing, one line; "" once one brought something. Not safe for threads."""

    def __init__(self) -> None:
        self.now = ""
        self._told: int | None = None

    def failed(self, why: str, now: int) -> None:
        """A case brought nothing, at `now` (unix nanos)."""
        self.now = why
        if self._told is None or now - self._told >= PACE:
            self._told = now
            log.warning("LLM judges: %s (tracejury ledger tells which runs)", why)

    def heard(self, judgements: Sequence[Judgement], now: int) -> None:
        """A case was judged: judges that scored nothing at all complain, a call that was answered ends it."""
        outcomes = {said.outcome for said in judgements}
        if Outcome.DONE in outcomes:
            self.now = ""
        elif Outcome.FAILED in outcomes:
            self.failed(next(said.reason for said in judgements if said.outcome is Outcome.FAILED), now)
