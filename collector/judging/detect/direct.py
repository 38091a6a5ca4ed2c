"""The judging of the collector without its transport, store and pipeline: decode, normalise, rebuild, detect.

What the running collector finds must equal this; for work on detectors it is the shorter way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.groups import Request, schema_of
from tracejury.collector.otlp.codec.signals import SPANS, Encoding, Signal
from tracejury.processors.joining import rebuild_joined
from tracejury.processors.normalize import normalize
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace

ARRIVAL = 1
"""Arrival time of spans read from files, in unix nanos: nothing that is judged depends on it."""

SpanKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DecodedSpans:
    """Decoded spans and log records, and how many were refused."""

    spans: list[Span]
    logs: list[LogRecord]
    refused: int

    def traces(self) -> list[Trace]:
        """The traces that they belong to, each rebuilt, those that are one as one; by trace id."""
        grouped: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
        for span in normalized(self.spans, self.logs):
            grouped[span.raw.trace_id].append(span)
        return sorted(rebuild_joined(grouped), key=lambda trace: trace.trace_id)


def by_session(traces: Iterable[Trace]) -> dict[tuple[str, str], list[Trace]]:
    """Traces in order of time by service and session id; a trace without one is a session under its own id."""
    found: dict[tuple[str, str], list[Trace]] = {}
    for trace in sorted(traces, key=lambda trace: (trace.start, trace.trace_id)):
        if not trace.joined_to:
            found.setdefault((trace.service, trace.session_id or trace.trace_id), []).append(trace)
    return found


def stored(requests: Iterable[Request]) -> DecodedSpans:
    """Decode requests as a receiver does."""
    refused = 0
    spans: list[Span] = []
    logs: list[LogRecord] = []
    for request in requests:
        signal = Signal.TRACES if schema_of(request) is SPANS else Signal.LOGS
        decoded = decode(signal, Encoding.PROTOBUF, request.SerializeToString(), received_at=ARRIVAL)
        spans += decoded.batch.spans
        logs += decoded.batch.logs
        refused += decoded.rejected
    return DecodedSpans(spans, logs, refused)


def normalized(spans: Iterable[Span], logs: Iterable[LogRecord]) -> list[NormalizedSpan]:
    """Every span in one vocabulary, with the log records that were written under it."""
    by_span: defaultdict[SpanKey, list[LogRecord]] = defaultdict(list)
    for log in logs:
        by_span[log.trace_id, log.span_id].append(log)
    return [normalize(span, by_span.get((span.trace_id, span.span_id), ())) for span in spans]
