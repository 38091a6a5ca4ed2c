"""Outcomes of forwarding to one backend."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury.collector.otlp.client.export_request import ExportSignal


@dataclass(slots=True)
class ExportCounts:
    """Outcomes of spans, log records (with annotations sent beside spans) and traces at one backend."""

    sent_spans: int = 0
    sent_records: int = 0
    failed_spans: int = 0
    failed_records: int = 0
    requests: int = 0
    retries: int = 0
    split: int = 0
    traces: int = 0
    sampled_out: int = 0
    given_up: int = 0
    broken: int = 0

    def sent(self, signal: ExportSignal, items: int) -> None:
        """Items that the backend took."""
        if signal is ExportSignal.TRACES:
            self.sent_spans += items
        else:
            self.sent_records += items

    def failed(self, signal: ExportSignal, items: int) -> None:
        """Items that it will never take."""
        if signal is ExportSignal.TRACES:
            self.failed_spans += items
        else:
            self.failed_records += items
