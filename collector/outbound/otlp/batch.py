"""Some traces on their way to one backend: what of them is new to it, as requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from tracejury import __version__
from tracejury.collector.otlp.client.export_request import (
    PHOENIX_ITEMS,
    ExportRequest,
    ExportSignal,
    OriginCache,
    RequestPacker,
    item_origin,
    phoenix_request,
)
from tracejury.collector.otlp.codec.encode import Plain, log_message, pairs, resource_of, span_message
from tracejury.collector.store.exports import StoredExports
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.export_rows import ExportProgress, Passed
from tracejury.schemas.queries.export_record import TraceRecord
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import Span, StoredAttributes

from .config import Annotations
from .error_evaluations import decided_at, error_evaluations, errors_in
from .evaluation_formats import Installation, carrier, event, phoenix_annotation
from .evaluations import ON_SPANS, Evaluation, hash64, shown, span_attributes, told_key, verdict_evaluations
from .marks import FORWARDED_BY, bears, marked
from .tail_sampler import TailSampler

_OURS: Final = item_origin(
    resource_of({"service.name": "tracejury", "service.version": __version__}, {}), "tracejury", ""
)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of one backend. `ours` recognises the spans of our own judges' calls."""

    installation: Installation
    sampler: TailSampler
    sure: Confidence
    annotations: frozenset[Annotations]
    logs: bool
    own_judges: bool
    max_bytes: int
    ours: Callable[[Span], bool]


class ExportBatch:
    """Read `requests` to its end, then `progress` says what the backend has of each trace."""

    def __init__(self, records: Sequence[TraceRecord], source: StoredExports, options: ExportOptions) -> None:
        self._records = {record.trace_id: record for record in records}
        self._choices = {record.trace_id: options.sampler.choose(record) for record in records}
        self._source, self._options = source, options
        self._new: dict[str, dict[int, int]] = {record.trace_id: {} for record in records}
        self._errors: dict[str, Sequence[AgentError]] = {}
        self._said: dict[str, Sequence[Evaluation]] = {}

    @property
    def left_out(self) -> int:
        """Number of traces that sampling leaves out."""
        return sum(not choice.goes for choice in self._choices.values())

    def requests(self) -> Iterator[ExportRequest]:
        """Requests with all that is new, spans before their evaluations."""
        going = [trace_id for trace_id, choice in self._choices.items() if choice.goes]
        if not going:
            return
        said = {trace_id: list(self._evaluations(trace_id)) for trace_id in going}
        yield from self._traces(going, said)
        yield from self._logs(going, said)
        if "phoenix" in self._options.annotations:
            data = (phoenix_annotation(e) for e in chain.from_iterable(said.values()))
            while some := list(islice(data, PHOENIX_ITEMS)):
                yield phoenix_request(some)

    def progress(self, at: int) -> Iterator[ExportProgress]:
        """The parts that the backend has by now, of traces where that has changed."""
        for trace_id, record in self._records.items():
            new, outcome = self._new[trace_id], Passed.SENT
            if not self._choices[trace_id].goes:
                outcome = Passed.SAMPLED_OUT
            if new or record.seen > record.sent_seen:
                yield ExportProgress(trace_id, record.seen, outcome, at, record.received_at, {**record.sent, **new})

    def _traces(self, going: Sequence[str], said: Mapping[str, Sequence[Evaluation]]) -> Iterator[ExportRequest]:
        packer, origins = RequestPacker(ExportSignal.TRACES, self._options.max_bytes), OriginCache()
        on_spans = {t: self._attributes(self._records[t]) for t in going} if self._annotates else {}
        for page in self._source.pages(going):
            for span in page:
                if span.pending or not self._passes(span):
                    continue
                came_back = self._came_back(span.attributes)
                header = origins.of(span, span.resource_attribute_types)
                choice = self._choices[span.trace_id]
                message = span_message(_bare(span) if came_back else span, choice.written(span.trace_state))
                body = message.SerializeToString()
                size = len(body)
                if not self._is_news(span.trace_id, _key(span), hash64(body + header.key)):
                    continue
                stated = on_spans.get(span.trace_id, {}).get(span.span_id, {})
                if stated or choice.rate < 1.0:
                    before = span.attributes.get(FORWARDED_BY, "")
                    self._write(message, stated, marked(before, self._options.installation.id, span.trace_state))
                    size = message.ByteSize()
                yield from packer.put(message, size, header)
        if "carriers" in self._options.annotations:
            for evaluation in chain.from_iterable(said.values()):
                state = self._state_of(evaluation.trace_id)
                message = carrier(evaluation, self._options.installation, state)
                yield from packer.put(message, message.ByteSize(), _OURS)
        yield from packer.flush()

    def _logs(self, going: Sequence[str], said: Mapping[str, Sequence[Evaluation]]) -> Iterator[ExportRequest]:
        packer, origins = RequestPacker(ExportSignal.LOGS, self._options.max_bytes), OriginCache()
        records = self._source.logs(going) if self._options.logs else {}
        for trace_id, found in records.items():
            for record in found:
                message, header = log_message(record), origins.of(record, {})
                body = message.SerializeToString()
                digest = hash64(body + header.key)
                if not self._came_back(record.attributes) and self._is_news(trace_id, f"log:{digest}", digest):
                    yield from packer.put(message, len(body), header)
        if "events" in self._options.annotations:
            for evaluation in chain.from_iterable(said.values()):
                message = event(evaluation, self._options.installation)
                yield from packer.put(message, message.ByteSize(), _OURS)
        yield from packer.flush()

    def _evaluations(self, trace_id: str) -> Iterator[Evaluation]:
        """New evaluations; a retracted one only where it was sent before."""
        record = self._records[trace_id]
        if self._options.annotations.isdisjoint(("events", "carriers", "phoenix")):
            return
        of_errors = (e for e in self._error_evaluations(record) if e.trace_id == trace_id)
        for evaluation in chain(of_errors, verdict_evaluations(record)):
            key = told_key(evaluation.id)
            known = hash64(key.encode()) in record.sent
            if (evaluation.live or known) and self._is_news(trace_id, key, evaluation.digest):
                yield evaluation

    def _error_evaluations(self, record: TraceRecord) -> Sequence[Evaluation]:
        """Those of the traces that were judged as one with it."""
        leader = record.leader or record.trace_id
        if leader not in self._said:
            errors = self._errors_in(record)
            self._said[leader] = list(error_evaluations(record.all, errors, self._options.sure))
        return self._said[leader]

    def _attributes(self, record: TraceRecord) -> Mapping[str, Mapping[str, Plain]]:
        """What is written on the spans of the trace, by span id."""
        sure = self._options.sure
        return span_attributes(shown(record, sure), decided_at(record, self._errors_in(record), sure))

    def _errors_in(self, record: TraceRecord) -> Sequence[AgentError]:
        """The errors of the traces that were judged as one with it."""
        leader = record.leader or record.trace_id
        if leader not in self._errors:
            self._errors[leader] = errors_in(record.all)
        return self._errors[leader]

    def _is_news(self, trace_id: str, key: str, digest: int) -> bool:
        """Whether the backend lacks this; from then on it counts as sent."""
        number = hash64(key.encode())
        if self._records[trace_id].sent.get(number) == digest:
            return False
        self._new[trace_id][number] = digest
        return True

    @property
    def _annotates(self) -> bool:
        return "attributes" in self._options.annotations

    def _passes(self, span: Span) -> bool:
        if self._came_back(span.attributes) and (self._options.ours(span) or self._has(span)):
            return False
        return self._options.own_judges or not self._options.ours(span)

    def _has(self, span: Span) -> bool:
        """Whether the backend was ever sent this span: what has come back since then is never news to it."""
        return hash64(_key(span).encode()) in self._records[span.trace_id].sent

    def _came_back(self, attributes: StoredAttributes) -> bool:
        mark = attributes.get(FORWARDED_BY)
        return mark is not None and bears(mark, self._options.installation.id)

    def _write(self, message: ProtoSpan, stated: Mapping[str, Plain], mark: str) -> None:
        """Add attributes and the mark, in the place of those of the same names."""
        ours = {**stated, FORWARDED_BY: mark}
        kept = [pair for pair in message.attributes if pair.key not in ours]
        del message.attributes[:]
        message.attributes.extend([*kept, *pairs(ours)])

    def _state_of(self, trace_id: str) -> str:
        """The tracestate for a carrier beside the spans of a trace."""
        record = self._records.get(trace_id)
        return self._choices[trace_id].written(record.trace_state) if record else ""


def _key(span: Span) -> str:
    return f"span:{span.span_id}"


def _bare(span: Span) -> Span:
    """A span that has come back, without what was said on it: each backend is told that as it asks for."""
    kept = {key: text for key, text in span.attributes.items() if key not in ON_SPANS}
    return replace(span, attributes=kept, attribute_types={k: t for k, t in span.attribute_types.items() if k in kept})
