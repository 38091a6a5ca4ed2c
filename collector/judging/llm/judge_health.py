"""The latest failure of the model and the latest refusal by a cap, for the status page and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tracejury.collector.worker.log_throttle import LogThrottle
from tracejury.schemas.errors import OverBudgetError
from tracejury.schemas.verdicts import Judgement, Outcome

log = logging.getLogger(__name__)


class JudgeHealth:
    """`problem`: why the latest case brought nothing, one line; "" once one brought something. Any thread.

    `missing_keys`: the keys that the environment lacks at the start; "" once a call was answered.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self.problem = ""
        self.missing_keys = ""
        self._throttle = LogThrottle(clock)  # a model that fails now and then does not fill the log
        self._over: dict[str | None, OverBudgetError] = {}

    def started(self, missing_keys: str) -> None:
        """The model is ready to be asked, but for these keys."""
        self.missing_keys = missing_keys
        if missing_keys:
            log.warning("LLM judges: %s", missing_keys)

    def failed(self, why: str) -> None:
        """A case brought nothing."""
        self.problem = why
        if self._throttle.due("failed"):
            log.warning("LLM judges: %s (tracejury ledger tells which runs)", why)

    def over_budget(self, error: OverBudgetError) -> None:
        """A cap kept a call from being sent."""
        self._over[error.project] = error

    def stopped(self, now: int, project: str = "") -> str:
        """The cap of all or of the project that refused the latest such call, one line; "" once its period is over."""
        found = (self._over.get(whose) for whose in (None, project))
        return next((str(over) for over in found if over is not None and now < over.until), "")

    def note(self, judgements: Sequence[Judgement]) -> None:
        """A case was judged: judges that scored nothing at all complain, a call that was answered ends it."""
        outcomes = {row.outcome for row in judgements}
        if Outcome.DONE in outcomes:
            self.problem = self.missing_keys = ""
        elif Outcome.FAILED in outcomes:
            self.failed(next(row.reason for row in judgements if row.outcome is Outcome.FAILED))
