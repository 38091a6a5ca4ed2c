"""How often the same body failed in a way we did not foresee: what fails again and again must not loop for ever."""

from __future__ import annotations

import hashlib

from cachetools import LRUCache


class Repeats:
    """Counts by body hash; at most `most` bodies are remembered, the longest unseen is forgotten first."""

    def __init__(self, most: int = 1024) -> None:
        self._counts: LRUCache[bytes, int] = LRUCache(most)

    def add(self, body: bytes) -> int:
        """Count one more failure of `body`; returns how many there were."""
        key = hashlib.blake2b(body, digest_size=16).digest()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count

    def forget(self, body: bytes) -> None:
        """Its case is closed."""
        self._counts.pop(hashlib.blake2b(body, digest_size=16).digest(), None)
