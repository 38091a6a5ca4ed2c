"""A span exporter that keeps what it is given, and can be made to stall, to fail and to raise."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult


class KeptSpans(SpanExporter):
    """`batches` in order; while `gate` is cleared exports stall; `fails` and `raises` say how the next ones end."""

    def __init__(self) -> None:
        self.batches: list[list[ReadableSpan]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.stalled = threading.Event()
        self.fails = False
        self.raises = False
        self.closed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if not self.gate.is_set():
            self.stalled.set()
            assert self.gate.wait(60)
        if self.raises:
            raise RuntimeError("no such host")
        if self.fails:
            return SpanExportResult.FAILURE
        self.batches.append(list(spans))
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.closed += 1

    @property
    def all(self) -> list[ReadableSpan]:
        """Every copy, in order."""
        return [span for batch in self.batches for span in batch]

    @property
    def announced(self) -> list[ReadableSpan]:
        """Announcements."""
        return [span for span in self.all if (span.attributes or {}).get("tracejury.pending")]

    @property
    def ended(self) -> list[ReadableSpan]:
        """Finished spans."""
        return [span for span in self.all if not (span.attributes or {}).get("tracejury.pending")]

    def one(self, name: str) -> ReadableSpan:
        """The one finished span of that name."""
        (found,) = [span for span in self.ended if span.name == name]
        return found
