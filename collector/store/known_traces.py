"""The traces of which the store may hold rows, in little memory: whoever is new needs no question.

A Bloom filter (B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970) of two hashes: what it
does not know is not stored; of what it knows a few are not stored either (1.4% at 4 million traces, 22% at 20 million).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from typing import Final

from tracejury.processors.assemble import TraceKey

from .client import Store

BITS: Final = 26
_WORD: Final = 64

# Over all tenants: judging is the collector's own. An MD5 is the one hash that both sides have and that is quick.
_WORDS: Final = f"""
SELECT intDiv(place, {_WORD}) AS word, groupBitOr(bitShiftLeft(toUInt64(1), place % {_WORD}))
FROM
(
    SELECT bitAnd(reinterpretAsUInt32(substring(digest, arrayJoin([1, 5]), 4)), {2**BITS - 1}) AS place
    FROM
    (
        SELECT MD5(concat(tenant, char(0), TraceId)) AS digest
        FROM (SELECT tenant, TraceId FROM {{table}} GROUP BY tenant, TraceId)
    )
)
GROUP BY word
"""


class KnownTraces:
    """A set of trace keys to which keys are only ever added. Not safe for threads."""

    def __init__(self) -> None:
        self._words = array("Q", bytes(2**BITS // 8))

    def add(self, key: TraceKey) -> bool:
        """Add a trace; returns whether it may have been known."""
        known = True
        for word, bit in _places(key):
            known = known and bool(self._words[word] & bit)
            self._words[word] |= bit
        return known

    def load(self, store: Store) -> None:
        """Add all traces that have spans or log records. Raises RetryableError, StoreError."""
        for table in ("spans", "logs"):
            for word, bits in store.rows(_WORDS.format(table=table)):
                self._words[word] |= bits


def _places(key: TraceKey) -> Iterator[tuple[int, int]]:
    digest = hashlib.md5("\0".join(key).encode("utf-8", "surrogateescape"), usedforsecurity=False).digest()
    for at in (0, 4):
        place = int.from_bytes(digest[at : at + 4], "little") % 2**BITS
        yield place // _WORD, 1 << place % _WORD
