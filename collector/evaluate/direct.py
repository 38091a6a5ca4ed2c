"""The judging of the collector without its transport, store and pipeline: decode, normalise, rebuild, detect.

What the running collector finds must equal this; for work on detectors it is the shorter way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...judges.suite import Suite
from ...processors.normalize import normalize
from ...processors.rebuild import rebuild
from ...schemas.findings import Finding
from ...schemas.normalized import NormalizedSpan
from ...schemas.spans import LogRecord, Span
from ...schemas.trajectory import Trace
from ..receiver.decode import Encoding, Signal, decode
from ..sources.groups import SPANS, Request, signal_of

ARRIVAL = 1
"""Arrival time of spans read from files, in unix nanos: nothing that is judged depends on it."""

SpanKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """Findings of all traces, the detectors that failed (name: why) and the drafts whose evidence stood nowhere."""

    findings: tuple[Finding, ...]
    failures: Mapping[str, str]
    dropped: int = 0


def stored(requests: Iterable[Request]) -> tuple[list[Span], list[LogRecord]]:
    """Spans and log records of the requests in their stored form, as the receiver would hand them on."""
    spans: list[Span] = []
    logs: list[LogRecord] = []
    for request in requests:
        signal = Signal.TRACES if signal_of(request) is SPANS else Signal.LOGS
        batch = decode(signal, Encoding.PROTOBUF, request.SerializeToString(), received_at=ARRIVAL).batch
        spans += batch.spans
        logs += batch.logs
    return spans, logs


def normalized(spans: Iterable[Span], logs: Iterable[LogRecord]) -> list[NormalizedSpan]:
    """Every span in one vocabulary, with the log records that were written under it."""
    by_span: defaultdict[SpanKey, list[LogRecord]] = defaultdict(list)
    for log in logs:
        by_span[log.trace_id, log.span_id].append(log)
    return [normalize(span, by_span.get((span.trace_id, span.span_id), ())) for span in spans]


def traces(spans: Iterable[NormalizedSpan]) -> list[Trace]:
    """The traces that the spans belong to, each rebuilt, by trace id."""
    grouped: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span in spans:
        grouped[span.raw.trace_id].append(span)
    return [rebuild(grouped[trace_id]) for trace_id in sorted(grouped)]


def judge(requests: Sequence[Request], suite: Suite) -> Judged:
    """All findings of a suite in the traces of the requests."""
    findings: list[Finding] = []
    failures: dict[str, str] = {}
    dropped = 0
    for trace in traces(normalized(*stored(requests))):
        result = suite.judge(trace)
        findings += result.findings
        failures.update(result.failures)
        dropped += result.dropped
    return Judged(tuple(findings), failures, dropped)
