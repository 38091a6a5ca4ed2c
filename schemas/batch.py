"""Batches on their way from a receiver to the store: decoded, bounded, not yet stored."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .spans import LogRecord, Span


@dataclass(frozen=True, slots=True)
class Batch:
    """The good part of one request. `size`: bytes of the decompressed body, or more where its items are tiny."""

    spans: Sequence[Span] = ()
    logs: Sequence[LogRecord] = ()
    size: int = 0

    def __len__(self) -> int:
        """Its spans and log records."""
        return len(self.spans) + len(self.logs)

    def without(self, traces: Container[tuple[str, str]]) -> Batch:
        """What is of none of these traces (tenant and trace id); itself where nothing is."""
        spans = [span for span in self.spans if (span.tenant, span.trace_id) not in traces]
        logs = [record for record in self.logs if (record.tenant, record.trace_id) not in traces]
        return self if len(spans) + len(logs) == len(self) else replace(self, spans=spans, logs=logs)


class Sink(Protocol):
    """The protocol of what receivers submit batches to."""

    async def submit(self, batch: Batch) -> int:
        """Return once the batch is committed: how many of its items were left out, as their traces are deleted.

        Raises:
            OverloadedError: a bound is reached; the client should back off and try again.
            RetryableError: a passing failure; the client should try again.
            PermanentError: this batch can never be stored (it stands in the dead-letter folder).
        """
