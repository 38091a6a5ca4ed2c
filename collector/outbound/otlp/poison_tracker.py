"""Traces that failed on their way to a backend: from then on each goes alone and takes no other with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

MOST: Final = 10_000
"""Traces that are remembered; beyond it the first ones are forgotten."""
MOST_TRIES: Final = 5
"""After which a trace that cannot be passed on, though others are, is set aside."""


class Troubles:
    """How often each of them failed alone, for its own reason.

    Of failures in a row, with nothing passed on between, fewer than `MOST_TRIES` count, whichever traces they are of:
    so none comes to that number unless another one went meanwhile.
    """

    def __init__(self) -> None:
        self._failed: OrderedDict[str, int] = OrderedDict()
        self._alone = False
        self._in_row = 0

    def __len__(self) -> int:
        return len(self._failed)

    @property
    def are_general(self) -> bool:
        """Whether so many failed in a row that it is no single trace's fault."""
        return self._in_row >= MOST_TRIES

    def parted(self, trace_ids: Sequence[str]) -> tuple[list[str], list[str], bool]:
        """Those of these that go now, and those that must wait: by turns one that goes alone (True), and the others."""
        troubled = [t for t in trace_ids if t in self._failed]
        others = [t for t in trace_ids if t not in self._failed]
        self._alone = bool(troubled) and (not self._alone or not others)
        return (troubled[:1], troubled[1:] + others, True) if self._alone else (others, troubled, False)

    def suspect(self, trace_ids: Iterable[str]) -> None:
        """They failed together, or for a reason that may pass: nothing is counted yet."""
        for trace_id in trace_ids:
            self._failed.setdefault(trace_id, 0)
        while len(self._failed) > MOST:
            self._failed.popitem(last=False)

    def blame(self, trace_id: str) -> int:
        """It failed alone; says how often for its own reason by now."""
        self._in_row += 1
        self.suspect([trace_id])
        if not self.are_general:
            self._failed[trace_id] += 1
        return self._failed[trace_id]

    def went(self) -> None:
        """Some trace was read whole and passed on."""
        self._in_row = 0

    def over(self, trace_ids: Iterable[str]) -> None:
        """These went, or go no more."""
        for trace_id in trace_ids:
            self._failed.pop(trace_id, None)
