"""Judged traces in memory, as forwarding reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tracejury.collector.outbound.otlp.batch import ExportOptions
from tracejury.collector.outbound.otlp.config import SamplingConfig
from tracejury.collector.outbound.otlp.evaluation_formats import Installation
from tracejury.collector.outbound.otlp.tail_sampler import TailSampler
from tracejury.collector.store.exports import StoredExports
from tracejury.schemas.export_rows import ExportProgress
from tracejury.schemas.queries.export_record import TraceRecord
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import LogRecord, Span


def name(number: int) -> str:
    """The id of a trace."""
    return f"{number:032x}"


class Kept(StoredExports):
    """Judged traces of one span each, in memory; those in `kin` were judged as one.

    `fails` raises what a call of that name with these ids meets.
    """

    def __init__(self, count: int, judged_at: int) -> None:
        self.traces = [name(n) for n in range(1, count + 1)]
        self.saved: dict[str, ExportProgress] = {}
        self.asked: list[str] = []
        self.kin: frozenset[str] = frozenset()
        self.fails: Callable[[str, Sequence[str]], None] = lambda _call, _ids: None
        self._judged_at = judged_at

    def _meet(self, call: str, ids: Sequence[str] = ()) -> None:
        self.asked.append(call)
        self.fails(call, ids)

    def since(self) -> int:
        self._meet("since")
        return 0

    def last_passed(self) -> int:
        self._meet("last_passed")
        return 0

    def due(self, _since: int, _again: int, limit: int) -> list[str]:
        self._meet("due")
        return [t for t in self.traces if t not in self.saved][:limit]

    def left(self, trace_ids: Sequence[str]) -> list[str]:
        self._meet("left", trace_ids)
        return [t for t in trace_ids if t not in self.saved]

    def records(self, trace_ids: Sequence[str]) -> dict[str, TraceRecord]:
        self._meet("records", trace_ids)
        at = self._judged_at
        kin = [t for t in self.kin if not self.kin.isdisjoint(trace_ids) and t not in self.saved]
        ids = dict.fromkeys([*trace_ids, *kin])
        return {t: replace(RECORD, trace_id=t, judged_at=at, seen=at, received_at=at) for t in ids}

    def pages(self, trace_ids: Sequence[str]) -> Iterator[list[Span]]:
        self._meet("pages", trace_ids)
        yield [Span(trace_id=t, span_id="01" * 8, parent_span_id="", name="x", start=1, end=2) for t in trace_ids]

    def logs(self, _trace_ids: Sequence[str]) -> dict[str, list[LogRecord]]:
        return {}

    def save(self, progress: Sequence[ExportProgress]) -> None:
        self._meet("save", [p.trace_id for p in progress])
        self.saved |= {p.trace_id: p for p in progress}


RECORD = TraceRecord(trace_id="", state="settled", judged_at=0, seen=0, received_at=0, rows=1)
OPTIONS = ExportOptions(
    installation=Installation(b"s"),
    sampler=TailSampler.of(SamplingConfig()),
    sure=Confidence.of(""),
    annotations=frozenset(),
    logs=False,
    own_judges=False,
    max_bytes=1 << 20,
    ours=lambda _span: False,
)
