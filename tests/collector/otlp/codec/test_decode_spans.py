"""What becomes of each part of a span."""

from __future__ import annotations

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from otlp_parts import SPAN, START, TRACE, json_body, span, spans, text, traces

from tracejury.collector.otlp.codec.decode import ITEM_BYTES, decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import TooLargeError
from tracejury.schemas.spans import Span, SpanEvent, SpanLink

NOW = START + 10


def decoded(*items: ProtoSpan) -> list[Span]:
    """Spans as stored, the same over both encodings."""
    request = traces(*items)
    from_protobuf = decode(Signal.TRACES, Encoding.PROTOBUF, request.SerializeToString(), received_at=NOW).batch.spans
    from_json = decode(Signal.TRACES, Encoding.JSON, json_body(request), received_at=NOW).batch.spans
    assert from_protobuf == from_json
    return list(from_protobuf)


def test_every_field_is_kept() -> None:
    """A full span, compared as a whole."""
    full = span(
        parent_span_id=b"\xab" * 8,
        kind=ProtoSpan.SPAN_KIND_CLIENT,
        attributes=[text("input.value", "hi")],
        events=[{"time_unix_nano": START + 1, "name": "exception", "attributes": [text("exception.type", "E")]}],
        links=[{"trace_id": b"\2" * 16, "span_id": b"\3" * 8, "trace_state": "a=b", "attributes": [text("l", "m")]}],
        status={"code": 2, "message": "boom"},
        trace_state="x=y",
        flags=257,
        dropped_attributes_count=1,
        dropped_events_count=2,
        dropped_links_count=3,
    )
    assert decoded(full) == [
        Span(
            trace_id=TRACE.hex(),
            span_id=SPAN.hex(),
            parent_span_id="ab" * 8,
            name="step",
            start=START,
            end=START + 1,
            attributes={"input.value": "hi"},
            events=(SpanEvent(START + 1, "exception", {"exception.type": "E"}),),
            links=(SpanLink("02" * 16, "03" * 8, "a=b", {"l": "m"}),),
            kind=3,
            status_code=2,
            status_message="boom",
            service="agent",
            resource_attributes={"service.name": "agent"},
            scope_name="tests",
            trace_state="x=y",
            flags=257,
            dropped_attributes=1,
            dropped_events=2,
            dropped_links=3,
            received_at=NOW,
        )
    ]


def test_the_resource_is_shared() -> None:
    """The spans of a request hold one and the same mapping, not a copy each."""
    first, second = decoded(*spans(1, 2))
    assert first.resource_attributes is second.resource_attributes


@pytest.mark.parametrize("encoding", Encoding)
def test_a_resource_counts_for_each_span_that_shares_it(encoding: Encoding) -> None:
    """Each is stored with it, so a small request of many spans could fill the engine's memory."""
    request = traces(*spans(1, 2), service="é")
    request.resource_spans.append(traces(*spans(3)).resource_spans[0])
    body = json_body(request) if encoding is Encoding.JSON else request.SerializeToString()
    size = 2 * len("service.name") + 2 * len("é".encode()) + len("service.name") + len("agent")
    assert decode(Signal.TRACES, encoding, body, received_at=NOW, limits=Limits(shared_bytes=size)).items == 3
    with pytest.raises(TooLargeError, match=f"exceed {size - 1} bytes"):
        decode(Signal.TRACES, encoding, body, received_at=NOW, limits=Limits(shared_bytes=size - 1))


def test_a_parent_of_zeros_is_no_parent() -> None:
    """Some SDKs write it so."""
    assert decoded(span(parent_span_id=bytes(8)))[0].parent_span_id == ""


def test_unknown_kinds_and_statuses_are_unspecified() -> None:
    """The protocol may grow: that loses no span."""
    (kept,) = decoded(span(kind=17, status={"code": 9}))
    assert (kept.kind, kept.status_code) == (0, 0)


def test_an_event_without_a_time_gets_the_start() -> None:
    """It sorts before nothing that happened earlier."""
    assert decoded(span(events=[{"name": "e"}]))[0].events == (SpanEvent(START, "e", {}),)


def test_a_link_to_nowhere_is_dropped_and_counted() -> None:
    """The span is not rejected for it."""
    good = {"trace_id": TRACE, "span_id": SPAN}
    (kept,) = decoded(span(links=[good, {"trace_id": b"x", "span_id": SPAN}, {"trace_id": TRACE, "span_id": bytes(8)}]))
    assert kept.links == (SpanLink(TRACE.hex(), SPAN.hex()),)
    assert kept.cut == 2


@pytest.mark.parametrize(
    ("stated", "parent"),
    [("00000000000000aa", "00000000000000aa"), ("0" * 16, ""), ("", SPAN.hex()), ("xyz", SPAN.hex())],
)
def test_a_pending_span_of_logfire_stands_for_the_span_that_it_announces(stated: str, parent: str) -> None:
    """It has an id of its own and is sent as that span's child; the parent of that one stands in an attribute.

    Where that says nothing usable, the announcement is kept as it came.
    """
    own = bytes.fromhex("00000000000000bb")
    attributes = [text("logfire.span_type", "pending_span"), text("logfire.pending_parent_id", stated)]
    (kept,) = decoded(span(span_id=own, parent_span_id=SPAN, attributes=attributes))
    understood = len(stated) == 16
    assert (kept.span_id, kept.parent_span_id) == ((SPAN.hex(), parent) if understood else (own.hex(), SPAN.hex()))
    assert kept.pending


def test_start_announcements_are_marked_pending() -> None:
    """Logfire's attribute and ours; any other value is a finished span."""
    ours = KeyValue(key="tracejury.pending", value=AnyValue(bool_value=True))
    not_ours = KeyValue(key="tracejury.pending", value=AnyValue(bool_value=False))
    kept = decoded(
        span(attributes=[text("logfire.span_type", "pending_span")]),
        span(attributes=[ours]),
        span(attributes=[text("logfire.span_type", "span")]),
        span(attributes=[not_ours]),
        span(),
    )
    assert [one.pending for one in kept] == [True, True, False, False, False]


def test_a_batch_counts_with_its_bytes_and_with_more_where_its_items_are_tiny() -> None:
    """A span of thirty bytes takes far more once it is decoded, until it is stored."""
    for items, size in ((spans(1, 2, 3), 3 * ITEM_BYTES), ([span(attributes=[text("k", "v" * 5000)])], None)):
        body = traces(*items).SerializeToString()
        found = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=NOW)
        assert found.batch.size == (size or len(body))
