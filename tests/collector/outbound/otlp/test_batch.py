"""Requests of a batch: how large they get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tracejury.collector.outbound.otlp.batch import ExportBatch, ExportOptions
from tracejury.collector.outbound.otlp.config import SamplingConfig
from tracejury.collector.outbound.otlp.evaluation_formats import Installation
from tracejury.collector.outbound.otlp.tail_sampler import TailSampler
from tracejury.collector.store.exports import StoredExports
from tracejury.schemas.queries.export_record import TraceRecord
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import LogRecord, Span

SPANS = 400
MOST = 4096
TRACE = f"{1:018x}" + "f" * 14
"""With the highest randomness: any sampler keeps it."""


class Stored(StoredExports):
    """One trace of small spans, all with that tracestate."""

    def __init__(self, trace_state: str) -> None:
        self._state = trace_state

    def pages(self, _trace_ids: Sequence[str]) -> Iterator[list[Span]]:
        yield [Span(TRACE, f"{n:016x}", "", "x", 1, 2, trace_state=self._state) for n in range(1, SPANS + 1)]

    def logs(self, _trace_ids: Sequence[str]) -> dict[str, list[LogRecord]]:
        return {}


@pytest.mark.parametrize(
    "trace_state", ["", "ot=th:8", "ot=" + "th:8;x:".ljust(256, "y"), "ot=" + "x:".ljust(900, "y")]
)
@pytest.mark.parametrize("healthy", [1.0, 0.5])
def test_no_request_is_larger_than_allowed(healthy: float, trace_state: str) -> None:
    """Also with what sampling writes on each span; and none is sent half empty."""
    manner = ExportOptions(
        installation=Installation(b"s"),
        sampler=TailSampler.of(SamplingConfig(healthy=healthy)),
        sure=Confidence.of(""),
        annotations=frozenset(),
        logs=False,
        own_judges=False,
        max_bytes=MOST,
        ours=lambda _span: False,
    )
    record = TraceRecord(trace_id=TRACE, state="settled", judged_at=1, seen=1, received_at=1, rows=SPANS)
    requests = list(ExportBatch([record], Stored(trace_state), manner).requests())
    assert sum(request.items for request in requests) == SPANS
    assert max(len(request.body) for request in requests) <= MOST
    assert min(len(request.body) for request in requests[:-1]) > MOST // 2
