"""Judged traces that nobody waits for: many of them share one insert."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.verdicts import JudgedTrace

WITHIN: Final = SECOND
"""How long they may wait (nanoseconds). Until they are stored the store counts them as not judged."""
MOST_SPANS: Final = 1000
"""Their spans stay in memory meanwhile."""


class UnsavedResults:
    """Results in the order in which they were made, and those that are being stored; for one thread at a time."""

    def __init__(self) -> None:
        self._results: list[JudgedTrace] = []
        self._spans = 0
        self._due: int | None = None
        self._storing: list[JudgedTrace] | None = None

    def __len__(self) -> int:
        return len(self._results) + len(self._storing or ())

    @property
    def storing(self) -> bool:
        """Whether some are being stored."""
        return self._storing is not None

    def add(self, judged: Sequence[JudgedTrace], due: int) -> None:
        """Have these wait, at most until `due` (unix nanos)."""
        if judged:
            self._due = due if self._due is None else min(self._due, due)
        self._results = self._with_these(judged)
        self._spans += _spans_of(judged)

    def next_due(self) -> int | None:
        """When they must be stored (unix nanos); None where none waits, or for others that are being stored."""
        if self._spans >= MOST_SPANS:
            return 0
        return None if self.storing else self._due

    def hold_any(self, keys: Container[TraceKey]) -> bool:
        """Whether something of these traces is not stored yet."""
        return any(_key(one) in keys for one in (*self._results, *(self._storing or ())))

    def take(self, judged: Sequence[JudgedTrace] = ()) -> list[JudgedTrace]:
        """All that wait, and these, but for what one of these says again; `stored` or `put_back` must follow."""
        taken, self._storing = self._with_these(judged), self._results
        self._results, self._spans, self._due = [], 0, None
        return taken

    def stored(self, not_before: int) -> None:
        """What was taken is stored. What waits since may wait until `not_before` (unix nanos)."""
        self._storing = None
        if self._due is not None:
            self._due = max(self._due, not_before)

    def put_back(self) -> None:
        """What had waited when it was taken could not be stored."""
        waiting, self._storing = self._storing or [], None
        if waiting:
            self._results, self._due = [*waiting, *self._results], 0
            self._spans += _spans_of(waiting)

    def _with_these(self, judged: Sequence[JudgedTrace]) -> list[JudgedTrace]:
        newer = set(map(_key, judged))
        return [*(one for one in self._results if _changes(one) or _key(one) not in newer), *judged]


def says_new(judged: JudgedTrace) -> bool:
    """Whether somebody may wait for the result: its findings differ from those stored."""
    return bool(judged.changed or judged.retracted)


def _changes(judged: JudgedTrace) -> bool:
    """Whether it says how rows differ from those stored, which no later result says again."""
    return says_new(judged) or bool(judged.ledger)


def _key(judged: JudgedTrace) -> TraceKey:
    return judged.trace.tenant, judged.trace.trace_id


def _spans_of(judged: Sequence[JudgedTrace]) -> int:
    return sum(len(one.trace.spans) for one in judged)
