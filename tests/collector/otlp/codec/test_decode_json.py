"""What OTLP JSON allows beyond protobuf, and what of it is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from otlp_parts import json_tree, spans, traces

from tracejury.collector.otlp.codec.decode import Decoded, decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import PermanentError, TooLargeError

TRACE_ID, SPAN_ID = "5B8EFFF798038103D269B633813FC60C", "EEE19B7EC3C1B174"


def decoded(tree: Any, signal: Signal = Signal.TRACES, limits: Limits | None = None) -> Decoded:
    """A JSON tree decoded."""
    return decode(signal, Encoding.JSON, json.dumps(tree).encode(), received_at=7, limits=limits or Limits())


def one_span(**fields: Any) -> Decoded:
    """A request of one span with these fields."""
    span = {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "s"} | fields
    return decoded({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def attribute(value: Any) -> Decoded:
    """A request of one span with one attribute "k"."""
    return one_span(attributes=[{"key": "k", "value": value}])


@pytest.mark.parametrize("change", [str.upper, str.lower, str.swapcase])
def test_ids_are_hex_of_any_case(change: Callable[[str], str]) -> None:
    """They are stored in lower case."""
    (kept,) = one_span(traceId=change(TRACE_ID), spanId=change(SPAN_ID)).batch.spans
    assert (kept.trace_id, kept.span_id) == (TRACE_ID.lower(), SPAN_ID.lower())


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ({"startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": 1544712661000000000}, True),
        ({"startTimeUnixNano": 1544712660000000000, "endTimeUnixNano": "1544712661000000000"}, True),
        ({"startTimeUnixNano": 1.54471266e18, "endTimeUnixNano": 1.544712661e18}, True),
        ({"start_time_unix_nano": "1544712660000000000", "endTimeUnixNano": 1544712661000000000}, True),
        ({"startTimeUnixNano": None, "endTimeUnixNano": None}, False),
    ],
    ids=["string, number", "number, string", "exponents", "snake_case", "null is missing"],
)
def test_64_bit_integers_are_numbers_or_strings(fields: dict[str, Any], times: bool) -> None:  # noqa: FBT001 - a table
    """As in protobuf's JSON."""
    (kept,) = one_span(**fields).batch.spans
    assert ((kept.start, kept.end) == (1544712660000000000, 1544712661000000000)) == times


def test_enums_are_integers_or_names() -> None:
    """The specification asks for integers; names are common."""
    for kind, code in ((3, 2), ("SPAN_KIND_CLIENT", "STATUS_CODE_ERROR"), ("3", "2")):
        (kept,) = one_span(kind=kind, status={"code": code}).batch.spans
        assert (kept.kind, kept.status_code) == (3, 2)


def test_unknown_fields_are_ignored() -> None:
    """At every level."""
    tree = json_tree(traces(*spans(1)))
    group = tree["resourceSpans"][0]
    for part in (tree, group, group["resource"], group["scopeSpans"][0], group["scopeSpans"][0]["spans"][0]):
        part["future"] = {"x": [1]}
    assert decoded(tree).items == 1


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        ({"intValue": "-5"}, "-5", "int"),
        ({"intValue": -5}, "-5", "int"),
        ({"intValue": 5.0}, "5", "int"),
        ({"intValue": str(2**63 - 1)}, str(2**63 - 1), "int"),
        ({"doubleValue": 1}, "1.0", "double"),
        ({"doubleValue": "1.5e3"}, "1500.0", "double"),
        ({"doubleValue": "Infinity"}, "Infinity", "double"),
        ({"doubleValue": "NaN"}, "NaN", "double"),
        ({"bytesValue": "-_8="}, "+/8=", "bytes"),
        ({"bytesValue": "+/8"}, "+/8=", "bytes"),
        ({"arrayValue": {}}, "[]", "array"),
        ({"arrayValue": {"values": None}}, "[]", "array"),
        ({"kvlistValue": {"values": [{"key": "a"}]}}, '{"a":null}', "kvlist"),
        ({"stringValue": None}, "", "empty"),
        ({"futureValue": 1}, "", "empty"),
        (None, "", "empty"),
    ],
)
def test_values_in_their_other_spellings(value: Any, text: str, kind: str) -> None:
    """Integers as strings, floats as names, bytes in either alphabet and without padding."""
    (kept,) = attribute(value).batch.spans
    assert (kept.attributes["k"], kept.attribute_types["k"]) == (text, kind)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"stringValue": 1}, "stringValue is not UTF-8 text"),
        ({"intValue": "1.5"}, "intValue is not an integer"),
        ({"intValue": True}, "intValue is not an integer"),
        ({"intValue": "9" * 30}, "intValue is not an integer"),
        ({"intValue": str(2**63)}, "intValue is out of range"),
        ({"doubleValue": "1_0"}, "doubleValue is not a number"),
        ({"doubleValue": "inf"}, "doubleValue is not a number"),
        ({"doubleValue": False}, "doubleValue is not a number"),
        ({"boolValue": "true"}, "boolValue is not true or false"),
        ({"bytesValue": "a"}, "bytesValue is not base64"),
        ({"bytesValue": "ä==="}, "bytesValue is not base64"),
        ({"bytesValue": [1]}, "bytesValue is not base64"),
        ({"arrayValue": []}, "arrayValue is not an object"),
        ({"arrayValue": {"values": {}}}, "values is not a list"),
        ({"arrayValue": {"values": ["x"]}}, "values holds something that is not an object"),
        ({"kvlistValue": {"values": [{"key": 1}]}}, "key is not UTF-8 text"),
        ({"stringValue": "a", "intValue": 1}, "a value has two types"),
        ("text", "value is not an object"),
    ],
)
def test_a_wrong_value_costs_its_span(value: Any, reason: str) -> None:
    """The reason names the field, in words of ours."""
    answer = attribute(value)
    assert (answer.items, answer.message) == (0, f"1 spans rejected: {reason} (1)")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "xyz"}, "traceId is not hex"),
        ({"traceId": " " + TRACE_ID}, "traceId is not hex"),
        ({"traceId": 5}, "traceId is not UTF-8 text"),
        ({"traceId": TRACE_ID[:-2]}, "trace id is not 16 bytes"),
        ({"name": 5}, "name is not UTF-8 text"),
        ({"kind": "CLIENT"}, "kind is not an integer"),
        ({"startTimeUnixNano": -1}, "startTimeUnixNano is out of range"),
        ({"startTimeUnixNano": str(2**64)}, "startTimeUnixNano is out of range"),
        ({"endTimeUnixNano": 1.5}, "endTimeUnixNano is not an integer"),
        ({"endTimeUnixNano": "now"}, "endTimeUnixNano is not an integer"),
        ({"flags": 2**32}, "flags is out of range"),
        ({"status": "ok"}, "status is not an object"),
        ({"attributes": {}}, "attributes is not a list"),
        ({"attributes": [1]}, "attributes holds something that is not an object"),
        ({"events": [None]}, "events holds something that is not an object"),
        ({"links": [{"traceState": 1}]}, "traceState is not UTF-8 text"),
    ],
)
def test_a_wrong_field_costs_its_span(fields: dict[str, Any], reason: str) -> None:
    """The reason names the field, in words of ours."""
    answer = one_span(**fields)
    assert (answer.items, answer.message) == (0, f"1 spans rejected: {reason} (1)")


def test_only_the_wrong_span_is_rejected() -> None:
    """Of three spans, one of which is not even an object, two are kept."""
    tree = json_tree(traces(*spans(1, 2)))
    tree["resourceSpans"][0]["scopeSpans"][0]["spans"].insert(1, "no span")
    answer = decoded(tree)
    assert (answer.items, answer.message) == (2, "1 spans rejected: a span is not an object (1)")


def test_a_wrong_resource_or_scope_costs_its_spans() -> None:
    """The spans of the others are kept."""
    good, bad_resource, bad_scope = (json_tree(traces(*spans(*ids)))["resourceSpans"][0] for ids in ([1], [2, 3], [4]))
    bad_resource["resource"] = {"attributes": 5}
    bad_scope["scopeSpans"][0]["scope"] = []
    answer = decoded({"resourceSpans": [bad_resource, good, bad_scope]})
    assert [kept.span_id for kept in answer.batch.spans] == ["0000000000000001"]
    assert answer.message == "3 spans rejected: attributes is not a list (2), scope is not an object (1)"


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([], "the body is not a JSON object"),
        (None, "the body is not a JSON object"),
        ({"resourceSpans": {}}, "resourceSpans is not a list"),
        ({"resourceSpans": [5]}, "resourceSpans holds something that is not an object"),
        ({"resourceSpans": [{"scopeSpans": 5}]}, "scopeSpans is not a list"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": 5}]}]}, "spans is not a list"),
    ],
)
def test_a_wrong_frame_costs_the_request(tree: Any, message: str) -> None:
    """Where spans cannot even be counted, the request is refused for good."""
    with pytest.raises(PermanentError, match=f"^{message}$"):
        decoded(tree)


def test_numbers_that_json_does_not_know_cost_the_request() -> None:
    """NaN as a bare word is no JSON, with and without broken text beside it."""
    for body in (b'{"a": NaN}', b'{"a": NaN, "b": "\xff"}'):
        with pytest.raises(PermanentError):
            decode(Signal.TRACES, Encoding.JSON, body, received_at=7)


@pytest.mark.parametrize(("items", "refused"), [(3, False), (4, False), (5, True)], ids=["below", "at", "above"])
def test_items_are_bounded(items: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """The resource and the scope count, too."""
    tree, limits = json_tree(traces(*spans(*range(1, items - 1)))), Limits(items=4)
    if refused:
        with pytest.raises(TooLargeError):
            decoded(tree, limits=limits)
    else:
        assert decoded(tree, limits=limits).items == items - 2


def test_metric_points_are_counted() -> None:
    """Of every kind of metric; what is not readable counts as none."""
    metrics = [{"gauge": {"dataPoints": [{}, {}]}}, {"sum": {"dataPoints": [{}]}}, {"summary": {}}, "odd"]
    tree = {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}
    assert decoded(tree, Signal.METRICS).items == 3
