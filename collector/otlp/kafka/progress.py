"""Offsets of one partition: those at hand, and the one below which everything is stored."""

from __future__ import annotations

from collections import deque


class PartitionProgress:
    """Progress of one partition while it is assigned. Not safe for threads.

    `position`: the next offset, None until it is known; `handled`: below it all is stored or dead-lettered, None
    until something was taken.
    """

    def __init__(self, position: int | None = None) -> None:
        self.position = position
        self._dropped = 0
        self._taken: deque[int] = deque()
        self._done: set[int] = set()

    @property
    def in_hand(self) -> int:
        """Messages that are being worked on."""
        return len(self._taken) - len(self._done) - self._dropped

    @property
    def handled(self) -> int | None:
        """The offset to commit."""
        return self._taken[0] if self._taken else self.position

    def take(self, offset: int) -> int:
        """Note that a message is at hand; how many offsets before it were never seen."""
        missed = offset - self.position if self.position is not None else 0
        self._taken.append(offset)
        self.position = offset + 1
        return missed

    def done(self, offset: int) -> None:
        """Note that a message that was taken is stored or dead-lettered."""
        self._done.add(offset)
        while self._taken and self._taken[0] in self._done:
            self._done.discard(self._taken.popleft())

    def drop(self) -> None:
        """Note that a message that was taken is left to the next owner."""
        self._dropped += 1
