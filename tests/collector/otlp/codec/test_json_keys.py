"""The keys of OTLP JSON: in lowerCamelCase or snake_case; what has none that we know is refused, not acknowledged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber
from otlp_parts import SPAN, START, TRACE, json_tree, logs, span, text, traces
from sizes import sized

from tracejury.collector.otlp.codec import otlp_json
from tracejury.collector.otlp.codec.decode import Decoded, decode
from tracejury.collector.otlp.codec.json_fields import snake
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import PermanentError

VALUES = KeyValueList(
    values=[
        KeyValue(key="aB", value=AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=3)]))),
        KeyValue(key="c", value=AnyValue(double_value=0.5)),
        KeyValue(key="d", value=AnyValue(bytes_value=b"x")),
        KeyValue(key="e", value=AnyValue(bool_value=False)),
    ]
)
SPANS = traces(
    span(
        parent_span_id=b"\2" * 8,
        trace_state="a=b",
        kind=3,
        status={"code": 2, "message": "m"},
        attributes=[text("aB", "x"), KeyValue(key="deep", value=AnyValue(kvlist_value=VALUES))],
        events=[{"name": "e", "time_unix_nano": START, "attributes": [text("k", "v")]}],
        links=[{"trace_id": TRACE, "span_id": SPAN, "trace_state": "c=d", "attributes": [text("k", "v")]}],
        dropped_attributes_count=1,
        dropped_events_count=2,
        dropped_links_count=3,
    )
)
RECORDS = logs(
    LogRecord(
        trace_id=TRACE,
        span_id=SPAN,
        time_unix_nano=START,
        observed_time_unix_nano=START + 1,
        severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
        severity_text="INFO",
        event_name="e",
        body=AnyValue(kvlist_value=VALUES),
    )
)


def decoded(tree: Any, signal: Signal = Signal.TRACES) -> Decoded:
    """A JSON tree decoded."""
    return decode(signal, Encoding.JSON, json.dumps(tree).encode(), received_at=7)


def renamed(tree: Any, choose: Any) -> Any:
    """The tree with the keys of those objects in snake_case for which `choose()` says so."""
    if isinstance(tree, list):
        return [renamed(item, choose) for item in tree]
    if not isinstance(tree, dict):
        return tree
    name = snake if choose() else str
    return {name(key): renamed(value, choose) for key, value in tree.items()}


@settings(max_examples=sized(30, 200))
@given(data=st.data(), records=st.booleans())
def test_the_stored_form_does_not_depend_on_the_spelling(data: st.DataObject, records: bool) -> None:  # noqa: FBT001
    """Whichever objects of a request have their keys in snake_case."""
    request, signal = (RECORDS, Signal.LOGS) if records else (SPANS, Signal.TRACES)
    tree = json_tree(request)
    mixed = renamed(tree, lambda: data.draw(st.booleans()))
    expected, found = decoded(tree, signal).batch, decoded(mixed, signal).batch
    assert (found.spans, found.logs) == (expected.spans, expected.logs)
    assert len(found.spans) + len(found.logs) == 1


@pytest.mark.parametrize("request_", [SPANS, RECORDS], ids=["spans", "log records"])
def test_files_are_read_in_both_spellings(request_: Any) -> None:
    """`tracejury replay` reads what the receiver reads."""
    tree = renamed(json_tree(request_), lambda: True)
    assert otlp_json.is_logs(tree) != otlp_json.is_traces(tree)
    assert otlp_json.parse(tree) == request_


@pytest.mark.parametrize(
    "tree",
    [
        {"spans": [{"traceId": "x"}]},
        {"ResourceSpans": []},
        {"resourceLogs": [{"scopeLogs": []}]},
        {"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": []}]}]},
        {"resourceSpans": [{"resource": {}, "librarySpans": [{}]}]},
        {"resourceSpans": [{"scopeSpans": [{"scope": {}, "Spans": [{}]}]}]},
    ],
)
def test_a_body_in_which_nothing_is_found_is_refused(tree: Any) -> None:
    """Acknowledged, it would be lost; the reason says where spans are looked for."""
    with pytest.raises(PermanentError, match=r"holds no spans: .* resourceSpans\[\]\.scopeSpans\[\]\.spans\[\]"):
        decoded(tree)


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"resourceSpans": None},
        {"resourceSpans": [], "future": 1},
        {"resource_spans": [{}]},
        {"resourceSpans": [{"resource": {"attributes": []}, "schemaUrl": "x"}]},
        {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "schema_url": "x"}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": []}]}]},
    ],
)
def test_an_empty_request_is_a_success(tree: Any) -> None:
    """Nothing in it could have been meant as a span."""
    assert (decoded(tree).items, decoded(tree).rejected) == (0, 0)


def test_unknown_fields_beside_items_are_ignored() -> None:
    """The protocol may grow."""
    tree = json_tree(SPANS)
    tree["resourceSpans"].append({"futureSpans": [{}]})
    assert decoded(tree).items == 1


@pytest.mark.parametrize("wrong", [list(TRACE), "AQIDBAUGBwgJCgsMDQ4PEA==", 5, {}, "", "12", "0" * 32])
@pytest.mark.parametrize("field", ["traceId", "spanId"])
def test_a_wrong_id_of_a_link_costs_the_link_alone(field: str, wrong: Any) -> None:
    """It is counted as cut; the span and its other links stay."""
    tree = json_tree(SPANS)
    links = tree["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["links"]
    links.append(links[0] | {field: wrong})
    answer = decoded(tree)
    (kept,) = answer.batch.spans
    assert (answer.rejected, kept.cut, len(kept.links)) == (0, 1, 1)
