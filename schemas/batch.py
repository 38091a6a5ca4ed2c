"""Batches on their way from a receiver to the store: decoded, bounded, not yet stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .spans import LogRecord, Span


@dataclass(frozen=True, slots=True)
class Batch:
    """The good part of one request. `size`: bytes of the decompressed body, or more where its items are tiny."""

    spans: Sequence[Span] = ()
    logs: Sequence[LogRecord] = ()
    size: int = 0


class Sink(Protocol):
    """The protocol of what receivers submit batches to."""

    async def submit(self, batch: Batch) -> None:
        """Return once the batch is committed.

        Raises:
            OverloadedError: a bound is reached; the client should back off and try again.
            RetryableError: a passing failure; the client should try again.
            PermanentError: this batch can never be stored (it stands in the dead-letter folder).
        """
