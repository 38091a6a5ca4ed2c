"""Stored spans and records as OTLP again: what our own receiver reads of it equals what is stored."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtoLog
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from otlp_parts import logs, span, traces

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.encode import log_message, resource_of, restored, scope_of, span_message
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.spans import LogRecord, Span

NOW = 1_800_000_000_000_000_000
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
INT64 = st.integers(-(2**63), 2**63 - 1)

SCALARS = st.one_of(
    TEXT.map(lambda v: AnyValue(string_value=v)),
    st.booleans().map(lambda v: AnyValue(bool_value=v)),
    INT64.map(lambda v: AnyValue(int_value=v)),
    st.floats().map(lambda v: AnyValue(double_value=v)),
    st.binary(max_size=12).map(lambda v: AnyValue(bytes_value=v)),
    st.just(AnyValue()),
)


def pairs(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[list[KeyValue]]:
    """Key-value pairs, each key once."""
    return st.dictionaries(TEXT, values, max_size=4).map(lambda d: [KeyValue(key=k, value=v) for k, v in d.items()])


def nested(scalars: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    """The scalars, and arrays and key-value lists of them."""
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda v: AnyValue(array_value=ArrayValue(values=v))),
            pairs(inner).map(lambda v: AnyValue(kvlist_value=KeyValueList(values=v))),
        ),
        max_leaves=6,
    )


VALUES = nested(SCALARS)
ATTRIBUTES = pairs(VALUES)
IN_JSON = SCALARS.filter(lambda v: v.WhichOneof("value") != "bytes_value" and isfinite(v.double_value))
"""Scalars that keep their type also within arrays and key-value lists."""
TIMES = st.integers(1, 2**63 - 1)
TRACES = st.just(b"t" * 16)
IDS = st.binary(min_size=8, max_size=8).filter(any)


def spans_with(attributes: st.SearchStrategy[list[KeyValue]]) -> st.SearchStrategy[ProtoSpan]:
    """Spans whose attributes, also those of events and links, are drawn from `attributes`."""
    return st.builds(
        span,
        span_id=IDS,
        parent_span_id=st.one_of(st.just(b""), IDS),
        name=TEXT,
        kind=st.integers(0, 5),
        start_time_unix_nano=TIMES,
        end_time_unix_nano=TIMES,
        attributes=attributes,
        events=st.lists(st.builds(ProtoSpan.Event, time_unix_nano=TIMES, name=TEXT, attributes=attributes), max_size=2),
        links=st.lists(
            st.builds(ProtoSpan.Link, trace_id=TRACES, span_id=IDS, trace_state=TEXT, attributes=attributes), max_size=2
        ),
        status=st.none() | st.builds(Status, code=st.integers(1, 2), message=TEXT),
        trace_state=TEXT,
        flags=st.integers(0, 2**32 - 1),
        dropped_attributes_count=st.integers(0, 2**32 - 1),
        dropped_events_count=st.integers(0, 2**32 - 1),
        dropped_links_count=st.integers(0, 2**32 - 1),
    )


def decoded(request: Message) -> list[Span]:
    """The spans that our receiver reads out of a request."""
    body = request.SerializeToString()
    return list(decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=NOW).batch.spans)


def again(stored: Span) -> Span:
    """The span after it went out and came in once more."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.CopyFrom(resource_of(stored.resource_attributes, stored.resource_attribute_types))
    scoped = group.scope_spans.add()
    scoped.scope.CopyFrom(scope_of(stored.scope_name, stored.scope_version))
    scoped.spans.append(span_message(stored, stored.trace_state))
    (found,) = decoded(request)
    return found


@given(spans_with(ATTRIBUTES), ATTRIBUTES)
def test_a_span_goes_out_as_it_came_in(sent: ProtoSpan, resource: list[KeyValue]) -> None:
    """Attributes with their types, events, links, status, scope, resource, trace state, flags and counts."""
    request = traces(sent)
    request.resource_spans[0].resource.attributes.extend(resource)
    (stored,) = decoded(request)
    assert again(stored) == replace(stored, cut=0)


@given(spans_with(pairs(nested(IN_JSON))))
def test_what_goes_out_is_the_very_message_where_nothing_had_to_be_mended(sent: ProtoSpan) -> None:
    """Not only our own receiver reads the same: the bytes' meaning is the same to anybody."""
    (stored,) = decoded(traces(sent))
    assert span_message(stored, stored.trace_state) == sent


@given(
    st.builds(
        ProtoLog,
        trace_id=TRACES,
        span_id=IDS,
        time_unix_nano=TIMES,
        observed_time_unix_nano=TIMES,
        event_name=TEXT,
        body=VALUES,
        attributes=ATTRIBUTES,
        severity_number=st.integers(0, 24),
        severity_text=TEXT,
        flags=st.integers(0, 2**32 - 1),
    )
)
def test_a_log_record_goes_out_as_it_came_in(sent: ProtoLog) -> None:
    """Body and attributes with their types, severity, event name and ids."""

    def read(request: ExportLogsServiceRequest) -> LogRecord:
        body = request.SerializeToString()
        (record,) = decode(Signal.LOGS, Encoding.PROTOBUF, body, received_at=NOW).batch.logs
        return record

    stored = read(logs(sent))
    assert read(logs(log_message(stored))) == replace(stored, cut=0)


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        (AnyValue(bytes_value=b"\x00\xff"), "AP8="),
        (AnyValue(double_value=float("nan")), "NaN"),
        (AnyValue(double_value=float("-inf")), "-Infinity"),
    ],
)
def test_what_json_cannot_hold_is_text_within_lists(sent: AnyValue, arrives: str) -> None:
    """Lists are stored as JSON; by itself such a value goes out as it came in."""
    listed = AnyValue(array_value=ArrayValue(values=[sent]))
    given = [KeyValue(key="alone", value=sent), KeyValue(key="listed", value=listed)]
    (stored,) = decoded(traces(span(attributes=given)))
    alone, within = span_message(stored, "").attributes
    assert alone.value.SerializeToString() == sent.SerializeToString()
    assert within.value == AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=arrives)]))


@pytest.mark.parametrize(
    ("text", "kind"),
    [("ten", "int"), ("x", "double"), ("maybe", "bool"), ("?", "bytes"), ("[1", "array"), ("{", "kvlist"), ("a", "?")],
)
def test_text_that_does_not_fit_its_type_is_sent_as_text(text: str, kind: str) -> None:
    """Rows of a foreign table, or of a newer version, stop no span."""
    assert restored(text, kind) == AnyValue(string_value=text)
