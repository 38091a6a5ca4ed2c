"""Attribute values as stored text."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from otlp_parts import json_body, span, traces

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.spans import Span


def string(value: str) -> AnyValue:
    """A string value."""
    return AnyValue(string_value=value)


def array(*items: AnyValue) -> AnyValue:
    """An array value."""
    return AnyValue(array_value=ArrayValue(values=items))


def kvlist(**items: AnyValue) -> AnyValue:
    """A key-value list."""
    return AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key=key, value=item) for key, item in items.items()]))


def stored(limits: Limits | None = None, **fields: Any) -> Span:
    """A span with the given fields as it is stored, the same over both encodings."""
    request, limits = traces(span(**fields)), limits or Limits()
    bodies = {Encoding.PROTOBUF: request.SerializeToString(), Encoding.JSON: json_body(request)}
    kept = [
        decode(Signal.TRACES, encoding, body, received_at=9, limits=limits).batch.spans[0]
        for encoding, body in bodies.items()
    ]
    assert kept[0] == kept[1]
    return kept[0]


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        (string("plain"), "plain", None),
        (string('{"a": 1}'), '{"a": 1}', None),
        (string(""), "", None),
        (AnyValue(int_value=-(2**63)), "-9223372036854775808", "int"),
        (AnyValue(int_value=0), "0", "int"),
        (AnyValue(double_value=0.1), "0.1", "double"),
        (AnyValue(double_value=3), "3.0", "double"),
        (AnyValue(double_value=float("nan")), "NaN", "double"),
        (AnyValue(double_value=float("-inf")), "-Infinity", "double"),
        (AnyValue(bool_value=True), "true", "bool"),
        (AnyValue(bool_value=False), "false", "bool"),
        (AnyValue(bytes_value=b"\x00\xff"), "AP8=", "bytes"),
        (AnyValue(bytes_value=b""), "", "bytes"),
        (AnyValue(), "", "empty"),
        (array(), "[]", "array"),
        (kvlist(), "{}", "kvlist"),
        (
            array(string("ä"), AnyValue(int_value=2**63 - 1), AnyValue(), AnyValue(double_value=float("inf"))),
            '["ä",9223372036854775807,null,"Infinity"]',
            "array",
        ),
        (
            kvlist(role=string("user"), parts=array(kvlist(text=string("hi"), raw=AnyValue(bytes_value=b"x")))),
            '{"role":"user","parts":[{"text":"hi","raw":"eA=="}]}',
            "kvlist",
        ),
    ],
)
def test_values_are_stored_as_text_with_their_type(value: AnyValue, text: str, kind: str | None) -> None:
    """Strings as they are, everything else as compact JSON text, bytes as base64."""
    kept = stored(attributes=[KeyValue(key="k", value=value)])
    assert kept.attributes == {"k": text}
    assert kept.attribute_types == ({"k": kind} if kind else {})


def test_of_equal_keys_the_last_counts() -> None:
    """Its type, too."""
    twice = [KeyValue(key="k", value=AnyValue(int_value=1)), KeyValue(key="k", value=string("x"))]
    kept = stored(attributes=twice)
    assert (kept.attributes, kept.attribute_types) == ({"k": "x"}, {})
    kept = stored(attributes=twice[::-1])
    assert (kept.attributes, kept.attribute_types) == ({"k": "1"}, {"k": "int"})


@pytest.mark.parametrize(
    ("length", "kept_bytes", "cut"), [(63, 63, 0), (64, 64, 0), (65, 64, 1)], ids=["below", "at", "above"]
)
def test_a_text_is_cut_above_the_limit(length: int, kept_bytes: int, cut: int) -> None:
    """What is cut ends in the mark and is no longer than the limit."""
    kept = stored(Limits(value_bytes=64), attributes=[KeyValue(key="k", value=string("x" * length))])
    text = kept.attributes["k"]
    assert (len(text.encode()), kept.cut) == (kept_bytes, cut)
    assert text.endswith("… [cut]") == bool(cut)


def test_characters_are_not_cut_in_half() -> None:
    """The limit is in bytes, the cut between characters."""
    kept = stored(Limits(value_bytes=64), attributes=[KeyValue(key="k", value=string("\U0001f600" * 20))])
    assert kept.attributes["k"] == "\U0001f600" * 13 + "… [cut]"


def test_cut_json_is_a_string() -> None:
    """Half a JSON text is none: the type says so."""
    kept = stored(Limits(value_bytes=64), attributes=[KeyValue(key="k", value=array(string("x" * 90)))])
    assert kept.attributes["k"].startswith('["xxx')
    assert (kept.attribute_types, kept.cut) == ({}, 1)


@pytest.mark.parametrize(("depth", "text", "cut"), [(2, "[[]]", 0), (3, '[["… [cut]"]]', 1)])
def test_nesting_is_cut_above_the_limit(depth: int, text: str, cut: int) -> None:
    """The levels that are within the limit are kept."""
    value = array()
    for _ in range(depth - 1):
        value = array(value)
    kept = stored(Limits(value_depth=2), attributes=[KeyValue(key="k", value=value)])
    assert (kept.attributes["k"], kept.cut) == (text, cut)


def test_everything_cut_is_counted() -> None:
    """Attributes, events, links, names and keys: one each here; what the resource lost counts for each of its spans."""
    limits = Limits(attributes=1, events=1, links=1, name_bytes=64)
    pair = KeyValue(key="k", value=string("v"))
    request = traces(
        span(
            name="n" * 65,
            attributes=[KeyValue(key="k" * 65, value=string("v")), pair],
            events=[{"name": "e" * 65}, {"name": "dropped"}],
            links=[{"trace_id": b"\1" * 16, "span_id": b"\1" * 8}, {"trace_id": b"\1" * 16, "span_id": b"\1" * 8}],
        )
    )
    request.resource_spans[0].resource.attributes.append(pair)
    body = request.SerializeToString()
    (kept,) = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=9, limits=limits).batch.spans
    assert kept.cut == 7
    assert (len(kept.attributes), len(kept.events), len(kept.links)) == (1, 1, 1)
    assert kept.name == "n" * (64 - len("… [cut]".encode())) + "… [cut]"


def test_events_and_links_of_a_request_are_bounded_together() -> None:
    """What the first spans have used up the last ones cannot have; all spans are kept."""
    full = span(events=[{"name": "e"}] * 3, links=[{"trace_id": b"\1" * 16, "span_id": b"\1" * 8}] * 2)
    request, limits = traces(full, full), Limits(request_events=4)
    for encoding, body in ((Encoding.PROTOBUF, request.SerializeToString()), (Encoding.JSON, json_body(request))):
        found = decode(Signal.TRACES, encoding, body, received_at=9, limits=limits)
        assert [(len(kept.events), len(kept.links), kept.cut) for kept in found.batch.spans] == [(3, 1, 1), (0, 0, 5)]
