"""Finds the items that fail each time among those that merely failed together with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final

MAX_SUSPECTS: Final = 10_000
"""Items that are remembered; beyond it the first ones are forgotten."""


class PoisonTracker:
    """Counts how often each suspect failed alone, for its own reason. Safe for threads.

    From its first failure on an item goes alone and takes no other with it. Of failures in a row, with no success in
    between, fewer than `tries` count, whichever items they are of: so no item reaches that number unless another one
    succeeded meanwhile. With a single try the first failure in a row counts.
    """

    def __init__(self, tries: int) -> None:
        self.tries = tries
        self._failures: dict[Hashable, int] = {}
        self._goes_alone = False
        self._in_row = 0
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._failures)

    @property
    def is_general(self) -> bool:
        """Whether so many items failed in a row that it is no single item's fault."""
        return self._in_row >= max(self.tries, 2)

    def split(self, batch: Sequence[Any], key: Callable[[Any], Hashable]) -> tuple[list[Any], list[Any]]:
        """Part a batch into what goes now and what waits: by turns one suspect alone, and the others without any."""
        with self._lock:
            suspects = [item for item in batch if key(item) in self._failures]
            others = [item for item in batch if key(item) not in self._failures]
            self._goes_alone = bool(suspects) and (not self._goes_alone or not others)
            return (suspects[:1], suspects[1:] + others) if self._goes_alone else (others, suspects)

    def is_suspect(self, key: Hashable) -> bool:
        """Whether the item failed before and did not succeed since."""
        return key in self._failures

    def suspect(self, keys: Iterable[Hashable]) -> None:
        """Note that these failed together, or for a reason that may pass; nothing is counted yet."""
        with self._lock:
            for key in keys:
                self._failures.setdefault(key, 0)
            for key in list(self._failures)[: max(len(self._failures) - MAX_SUSPECTS, 0)]:
                del self._failures[key]

    def blame(self, key: Hashable) -> int:
        """Count that an item failed alone; returns how often it did so for its own reason."""
        with self._lock:
            self._in_row += 1
            self.suspect([key])
            if not self.is_general:
                self._failures[key] += 1
            return self._failures[key]

    def succeeded(self) -> None:
        """Note that some item was processed to its end."""
        self._in_row = 0

    def clear(self, keys: Iterable[Hashable]) -> None:
        """Forget these: they succeeded, or are set aside."""
        if self._failures:
            with self._lock:
                for key in keys:
                    self._failures.pop(key, None)
