"""Judged traces that nobody waits for: many of them share one insert."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....processors.assemble import SECOND
from ....schemas.verdicts import JudgedTrace

WITHIN: Final = SECOND
"""How long they may wait (nanoseconds). Until they are stored the store counts them as not judged."""
MOST_SPANS: Final = 1000
"""Their spans stay in memory meanwhile."""


class UnsavedResults:
    """Results in the order in which they were made; for one thread."""

    def __init__(self) -> None:
        self._results: list[JudgedTrace] = []
        self._spans = 0
        self._due: int | None = None

    def __len__(self) -> int:
        return len(self._results)

    def add(self, judged: Sequence[JudgedTrace], due: int) -> None:
        """Have these wait, at most until `due` (unix nanos)."""
        if judged:
            self._due = due if self._due is None else min(self._due, due)
        self._results = self.with_these(judged)
        self._spans += sum(len(one.trace.spans) for one in judged)

    def next_due(self) -> int | None:
        """When they must be stored (unix nanos); None where none waits."""
        return 0 if self._spans >= MOST_SPANS else self._due

    def with_these(self, judged: Sequence[JudgedTrace]) -> list[JudgedTrace]:
        """All that wait, and these, but for what one of these says again."""
        newer = {(one.trace.tenant, one.trace.trace_id) for one in judged}
        waiting = (o for o in self._results if _changes(o) or (o.trace.tenant, o.trace.trace_id) not in newer)
        return [*waiting, *judged]

    def clear(self) -> None:
        """They are stored."""
        self._results, self._spans, self._due = [], 0, None


def says_new(judged: JudgedTrace) -> bool:
    """Whether somebody may wait for the result: its findings differ from those stored."""
    return bool(judged.changed or judged.retracted)


def _changes(judged: JudgedTrace) -> bool:
    """Whether it says how rows differ from those stored, which no later result says again."""
    return says_new(judged) or bool(judged.ledger)
