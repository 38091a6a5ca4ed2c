"""Counts of unforeseen failures by request body: a body that always fails must not be retried for ever."""

from __future__ import annotations

import hashlib

from cachetools import LRUCache


class RepeatedFailures:
    """Failures by body hash. At most `most` bodies are remembered; the least recent one is dropped first."""

    def __init__(self, most: int = 1024) -> None:
        self._counts: LRUCache[bytes, int] = LRUCache(most)

    def add(self, body: bytes) -> int:
        """Count one more failure of `body`; returns how many there were."""
        key = _digest(body)
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return count

    def clear(self, body: bytes) -> None:
        """Count from the start again."""
        self._counts.pop(_digest(body), None)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()
