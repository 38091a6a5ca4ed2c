"""Property: the same data gives the same stored form, over protobuf and over JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status
from otlp_parts import json_body
from sizes import sized

from tracejury.collector.otlp.codec.decode import Decoded, decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.proto_decode import attributes as attributes_of
from tracejury.collector.otlp.codec.proto_decode import stored
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.codec.values import Truncator

TIGHT = Limits(attributes=3, value_bytes=64, name_bytes=64, events=2, links=2, value_depth=2)
"""Low enough for the strategies below to exceed each."""


def _pairs(inner: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[KeyValue]:
    return st.builds(lambda key, value: KeyValue(key=key, value=value), keys, inner)


texts = st.one_of(st.text(max_size=12), st.text(alphabet="aä\U0001f600", min_size=50, max_size=90))
keys = st.sampled_from(["", "a", "b", "c", "service.name", "event.name", "logfire.span_type", "k" * 70])
doubles = st.floats()
trace_ids = st.one_of(st.just(bytes(16)), st.binary(min_size=16, max_size=16), st.binary(max_size=18))
span_ids = st.one_of(st.just(bytes(8)), st.binary(min_size=8, max_size=8), st.binary(max_size=10))
nanos = st.one_of(st.just(0), st.integers(min_value=0, max_value=2**64 - 1))
uint32 = st.integers(min_value=0, max_value=2**32 - 1)
plain_values = st.one_of(
    st.just(AnyValue()),
    st.builds(lambda value: AnyValue(string_value=value), texts),
    st.builds(lambda value: AnyValue(bool_value=value), st.booleans()),
    st.builds(lambda value: AnyValue(int_value=value), st.integers(min_value=-(2**63), max_value=2**63 - 1)),
    st.builds(lambda value: AnyValue(double_value=value), doubles),
    st.builds(lambda value: AnyValue(bytes_value=value), st.binary(max_size=60)),
)
values = st.recursive(
    plain_values,
    lambda inner: st.one_of(
        st.builds(lambda items: AnyValue(array_value=ArrayValue(values=items)), st.lists(inner, max_size=4)),
        st.builds(lambda pairs: AnyValue(kvlist_value=KeyValueList(values=pairs)), st.lists(_pairs(inner), max_size=4)),
    ),
    max_leaves=8,
)


attributes = st.lists(st.one_of(_pairs(values), st.builds(lambda key: KeyValue(key=key), keys)), max_size=5)
events = st.builds(Span.Event, time_unix_nano=nanos, name=texts, attributes=attributes, dropped_attributes_count=uint32)
links = st.builds(Span.Link, trace_id=trace_ids, span_id=span_ids, trace_state=texts, attributes=attributes)
proto_spans = st.builds(
    Span,
    trace_id=trace_ids,
    span_id=span_ids,
    parent_span_id=st.one_of(st.just(b""), span_ids),
    trace_state=texts,
    flags=uint32,
    name=texts,
    kind=st.integers(min_value=-2, max_value=8),
    start_time_unix_nano=nanos,
    end_time_unix_nano=nanos,
    attributes=attributes,
    dropped_attributes_count=uint32,
    events=st.lists(events, max_size=3),
    dropped_events_count=uint32,
    links=st.lists(links, max_size=3),
    dropped_links_count=uint32,
    status=st.builds(Status, code=st.integers(min_value=-1, max_value=4), message=texts),
)
records = st.builds(
    LogRecord,
    time_unix_nano=nanos,
    observed_time_unix_nano=nanos,
    severity_number=st.integers(min_value=-1, max_value=30),
    severity_text=texts,
    body=values,
    attributes=attributes,
    flags=uint32,
    trace_id=trace_ids,
    span_id=span_ids,
    event_name=texts,
)
resources = st.builds(Resource, attributes=attributes)
scopes = st.builds(InstrumentationScope, name=texts, version=texts)
trace_requests = st.builds(
    ExportTraceServiceRequest,
    resource_spans=st.lists(
        st.builds(
            ResourceSpans,
            resource=resources,
            scope_spans=st.lists(
                st.builds(ScopeSpans, scope=scopes, spans=st.lists(proto_spans, max_size=3)), max_size=2
            ),
        ),
        max_size=2,
    ),
)
log_requests = st.builds(
    ExportLogsServiceRequest,
    resource_logs=st.lists(
        st.builds(
            ResourceLogs,
            resource=resources,
            scope_logs=st.lists(
                st.builds(ScopeLogs, scope=scopes, log_records=st.lists(records, max_size=3)), max_size=2
            ),
        ),
        max_size=2,
    ),
)
limits = st.sampled_from([Limits(), TIGHT])


@settings(max_examples=sized(60, 300))
@given(request=trace_requests, limits=limits)
def test_spans_are_the_same_over_both_encodings(request: ExportTraceServiceRequest, limits: Limits) -> None:
    """Values, types, cuts, ids, times, rejections: all equal."""
    _assert_equal(Signal.TRACES, request, limits)


@settings(max_examples=sized(30, 150))
@given(request=log_requests, limits=limits)
def test_log_records_are_the_same_over_both_encodings(request: ExportLogsServiceRequest, limits: Limits) -> None:
    """Values, types, cuts, ids, times, rejections: all equal."""
    _assert_equal(Signal.LOGS, request, limits)


@settings(max_examples=sized(20, 100))
@given(request=trace_requests)
def test_every_span_is_accepted_or_rejected(request: ExportTraceServiceRequest) -> None:
    """None is lost without a word, and what is kept is within the limits."""
    sent = sum(len(scoped.spans) for group in request.resource_spans for scoped in group.scope_spans)
    decoded = _decode(Signal.TRACES, Encoding.PROTOBUF, request.SerializeToString(), TIGHT)
    assert decoded.items + decoded.rejected == sent
    assert decoded.items == len(decoded.batch.spans)
    for kept in decoded.batch.spans:
        assert len(kept.attributes) <= TIGHT.attributes
        assert len(kept.events) <= TIGHT.events
        assert all(len(value.encode()) <= TIGHT.value_bytes for value in kept.attributes.values())
        assert all(len(key.encode()) <= TIGHT.name_bytes for key in kept.attributes)
        assert set(kept.attribute_types) <= set(kept.attributes)


@settings(max_examples=sized(60, 300))
@given(pairs=attributes, limits=limits)
def test_short_values_are_read_as_all_others(pairs: list[KeyValue], limits: Limits) -> None:
    """Most values take a short cut; of equal keys the last counts, in the place of the first."""
    quick, general = Truncator(limits), Truncator(limits)
    texts: dict[str, str] = {}
    types: dict[str, str] = {}
    for pair in general.head(pairs, limits.attributes):
        key = general.name(pair.key)
        texts[key], types[key] = stored(pair.value, general)
    assert attributes_of(pairs, quick) == (texts, {key: kind for key, kind in types.items() if kind != "string"})
    assert list(attributes_of(pairs, Truncator(limits))[0]) == list(texts)
    assert quick.cut == general.cut


def _assert_equal(signal: Signal, request: Any, limits: Limits) -> None:
    from_protobuf = _decode(signal, Encoding.PROTOBUF, request.SerializeToString(), limits)
    from_json = _decode(signal, Encoding.JSON, json_body(request), limits)
    assert from_protobuf.batch.spans == from_json.batch.spans
    assert from_protobuf.batch.logs == from_json.batch.logs
    assert (from_protobuf.rejected, from_protobuf.message) == (from_json.rejected, from_json.message)


def _decode(signal: Signal, encoding: Encoding, body: bytes, limits: Limits) -> Decoded:
    return decode(signal, encoding, body, received_at=7, limits=limits)
