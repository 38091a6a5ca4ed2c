"""Catching up: what a cap kept from being judged is judged once the budget has room again.

Fresh subjects go first: nothing is caught up while any waits, and never so much that less than its share of a cap is
left for the rest of the hour or day. The ledger is all that is remembered, so that a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tracejury.judges.llm.budget import DAY, HOUR, Budget
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome

from .judge_queue import JudgeQueue
from .outcome import Versions, judgement_of
from .pending_tasks import resume
from .stored import StoredCases

RETURNED: Final = "the budget has returned"
"""The reason of an entry that is pending again."""

OLDEST: Final = 7 * DAY
"""What arrived before is not caught up: nobody waits for it."""
LOOKED_AT: Final = 200
"""The newest subjects; of these the riskiest go first."""
BATCH: Final = 8
"""Subjects of one look: as long as a fresh one has to wait."""


class CatchUp:
    """Makes subjects left over budget pending again. `tick` from one thread.

    `budget`: what is spent by now, with the caps (unix nanos to budget). `waiting`: subjects left, at the last look.

    All of it is asked of the store, every 15 s. Two processes may make the same subject pending, with the same entries.
    """

    def __init__(
        self, store: StoredCases, queue: JudgeQueue, versions: Versions, budget: Callable[[int], Budget]
    ) -> None:
        self.waiting = 0
        self._store, self._queue, self._versions, self._budget = store, queue, versions, budget

    def tick(self, now: int) -> None:
        """Queue the next few where there is room."""
        self.waiting = self._store.over_budget_count(now - OLDEST)
        if not self.waiting or len(self._queue) or self._queue.overflowed:
            return
        left = self._store.over_budget(now - OLDEST, LOOKED_AT * len(self._versions))
        budget = self._budget(now)
        # A cap that refused it in this hour may refuse it again; one of a day shows in what is spent.
        due = [
            s
            for s in left
            if max(r.judged_at for r in s.rows) < now // HOUR * HOUR and budget.spare(s.service, now, s.rows[0].tenant)
        ]
        for subject in sorted(due, key=lambda s: (not s.risky, -s.rows[0].received_through))[:BATCH]:
            self._again(subject.rows, now)

    def _again(self, rows: Sequence[LedgerRow], now: int) -> None:
        sitting = [row for row in rows if row.judge in self._versions]
        pending = [
            replace(
                row,
                version=self._versions[row.judge],
                outcome=Outcome.PENDING,
                reason=RETURNED,
                judged_at=max(now, row.judged_at + 1),
            )
            for row in sitting
        ]
        entries = (entry for old, new in zip(sitting, pending, strict=True) for entry in _entries(old, new))
        if pending:
            self._store.save([JudgedSubject(TraceState.SETTLED, tuple(entries))])
            resume(self._queue, pending, self._versions)


def _entries(old: LedgerRow, new: LedgerRow) -> Iterator[Judgement]:
    yield judgement_of(new)
    if old.version != new.version:
        why = "by another version of the judge"
        yield judgement_of(replace(old, outcome=Outcome.SUPERSEDED, reason=why, judged_at=new.judged_at))
