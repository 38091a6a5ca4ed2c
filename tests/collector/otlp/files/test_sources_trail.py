"""TRAIL's trace files as OTLP: times to the nanosecond, nesting, errors, logs, nothing lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.otlp.codec.encode import value_of
from tracejury.collector.otlp.codec.groups import count, rows
from tracejury.collector.otlp.files import trail

TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(span_id: str, parent: str | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "timestamp": "2025-03-19T16:48:09.190915Z",
        "trace_id": TRACE,
        "span_id": span_id,
        "parent_span_id": parent,
        "trace_state": "",
        "span_name": "step",
        "span_kind": "Internal",
        "service_name": "app",
        "resource_attributes": {"service.name": "app", "host": "h"},
        "scope_name": "scope",
        "scope_version": "1.0",
        "span_attributes": {"llm.token_count.total": "42"},
        "duration": "PT1.5S",
        "status_code": "Unset",
        "status_message": "",
        "events": [],
        "links": [],
        "logs": [],
        "child_spans": [],
    } | changes


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:01", 1_000_000_000),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000),
        ("2025-03-19T16:48:09.190915Z", 1_742_402_889_190_915_000),
        ("2025-03-19 16:48:09.1909151239Z", 1_742_402_889_190_915_123),
    ],
)
def test_times(text: str, nanos: int) -> None:
    """ISO 8601 to unix nanoseconds; no zone means UTC; digits beyond nanoseconds are cut."""
    assert trail.nanos(text) == nanos


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("PT0S", 0),
        ("PT13.56373S", 13_563_730_000),
        ("PT1M48.75S", 108_750_000_000),
        ("PT2H3M4S", 7_384_000_000_000),
        ("P1DT1S", 86_401_000_000_000),
        ("PT0.000000001S", 1),
    ],
)
def test_durations(text: str, nanos: int) -> None:
    """ISO 8601 durations, exact: no floating point in between."""
    assert trail.duration_nanos(text) == nanos


@pytest.mark.parametrize("text", ["", "yesterday", "2025-03-19", "PT1S", "2025-13-01T00:00:00Z"])
def test_what_is_no_time(text: str) -> None:
    """A time that cannot be read is an error, never a guess."""
    with pytest.raises(ValueError, match=r".+"):
        trail.nanos(text)


@pytest.mark.parametrize("text", ["", "1.5", "PT1,5S", "P1Y", "PT-1S"])
def test_what_is_no_duration(text: str) -> None:
    """Years have no length and negative durations no meaning."""
    with pytest.raises(ValueError, match=r".+"):
        trail.duration_nanos(text)


def test_nested_spans_become_rows_in_order_of_their_ends() -> None:
    """Parents that enclose their children come after them, as an exporter sends them; ids and parents are kept."""
    inner = span("00f067aa0ba902b9", "00f067aa0ba902b8", duration="PT0.5S")
    request, _ = trail.parse({"trace_id": TRACE, "spans": [span("00f067aa0ba902b8", child_spans=[inner])]})
    first, second = (item for _, _, item in rows(request))
    assert (first.span_id.hex(), first.parent_span_id.hex()) == ("00f067aa0ba902b9", "00f067aa0ba902b8")
    assert (second.span_id.hex(), second.parent_span_id) == ("00f067aa0ba902b8", b"")
    assert second.end_time_unix_nano - second.start_time_unix_nano == 1_500_000_000
    assert second.trace_id.hex() == TRACE
    assert len(request.resource_spans) == 1  # equal resources and scopes are written once
    assert len(request.resource_spans[0].scope_spans) == 1


def test_status_events_and_links() -> None:
    """Capitalised names and keys are read; the token count stays the text that the dump made of it."""
    event = {"Timestamp": "1970-01-01T00:00:00.000001Z", "Name": "exception", "Attributes": {"exception.type": "E"}}
    link = {"TraceId": TRACE, "SpanId": "00f067aa0ba902b1", "TraceState": "", "Attributes": {"k": 1}}
    request, _ = trail.parse(
        {
            "trace_id": TRACE,
            "spans": [span("00f067aa0ba902b8", status_code="Error", status_message="no", events=[event], links=[link])],
        }
    )
    ((_, _, one),) = rows(request)
    assert (one.status.code, one.status.message, one.kind) == (2, "no", 1)
    assert (one.events[0].time_unix_nano, one.events[0].name) == (1000, "exception")
    assert one.events[0].attributes[0].value.string_value == "E"
    assert (one.links[0].span_id.hex(), one.links[0].attributes[0].value.int_value) == ("00f067aa0ba902b1", 1)
    assert one.attributes[0].value.string_value == "42"


def test_nested_logs_become_log_records() -> None:
    """With their span, body and resource; they are a request of their own."""
    entry = {
        "timestamp": "1970-01-01T00:00:00.000001",
        "trace_id": TRACE,
        "span_id": "00f067aa0ba902b8",
        "trace_flags": 1,
        "severity_text": "INFO",
        "severity_number": 9,
        "service_name": "app",
        "body": {"function.name": "main", "function.arguments": {}},
        "resource_attributes": {},
        "scope_name": "logger",
        "scope_attributes": {},
        "log_attributes": {"k": "v"},
    }
    _, logs = trail.parse({"trace_id": TRACE, "spans": [span("00f067aa0ba902b8", logs=[entry])]})
    ((resource, scope, record),) = rows(logs)
    assert (record.time_unix_nano, record.span_id.hex(), record.severity_number) == (1000, "00f067aa0ba902b8", 9)
    assert [kv.key for kv in record.body.kvlist_value.values] == ["function.name", "function.arguments"]
    assert resource.resource.attributes[0].key == "service.name"
    assert scope.scope.name == "logger"


@pytest.mark.parametrize(
    "changes",
    [
        {"span_kind": "Sideways"},
        {"status_code": "Fine"},
        {"trace_id": "xyz"},
        {"timestamp": None},
        {"span_attributes": ["text"]},
        {"child_spans": ["text"]},
        {"span_name": 7},
    ],
)
def test_a_span_of_another_form_is_an_error(changes: dict[str, Any]) -> None:
    """Whatever is not as TRAIL writes it raises one of the documented errors."""
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        trail.parse({"trace_id": TRACE, "spans": [span("00f067aa0ba902b8") | changes]})


def test_depth_does_not_matter() -> None:
    """A chain of 5,000 nested spans is read without recursion."""
    node = span(f"{1:016x}")
    for i in range(2, 5001):
        node = span(f"{i:016x}", child_spans=[node])
    request, _ = trail.parse({"trace_id": TRACE, "spans": [node]})
    assert count(request) == 5000


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_any_json_value_has_an_otlp_value_that_says_the_same(value: object) -> None:
    """Reading the OTLP value back gives the JSON value."""
    assert _back(value_of(value)) == value


def _back(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_back(v) for v in value.array_value.values]
    if kind == "kvlist_value":
        return {kv.key: _back(kv.value) for kv in value.kvlist_value.values}
    return getattr(value, kind)
