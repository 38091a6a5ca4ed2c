"""Property: no JSON whatever breaks the decoder, and wrong parts cost no more than their span."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from otlp_parts import json_tree, span, spans, text, traces
from sizes import sized

from tracejury.collector.otlp.codec.decode import Decoded, decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import PermanentError

WORDS = [
    "resourceSpans", "scopeSpans", "spans", "resource", "scope", "attributes", "key", "value", "values", "stringValue",
    "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue", "traceId", "spanId", "events",
    "links", "status", "code", "name", "kind", "startTimeUnixNano", "timeUnixNano", "NaN", "0" * 32, "1" * 16, "-1",
]  # fmt: skip
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(WORDS),
    st.just(2**70),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)),
    max_leaves=12,
)
VALUE = AnyValue(
    array_value=ArrayValue(
        values=[AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="k", value=AnyValue(bytes_value=b"x"))]))]
    )
)
FULL = json_tree(
    traces(
        span(
            attributes=[text("a", "b"), KeyValue(key="deep", value=VALUE)],
            events=[{"name": "e", "time_unix_nano": 5, "attributes": [text("a", "b")]}],
            links=[{"trace_id": b"\1" * 16, "span_id": b"\1" * 8}],
            status={"code": 2, "message": "m"},
            kind=3,
            flags=1,
        )
    )
)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]


@settings(max_examples=sized(60, 300))
@given(tree=trees, signal=st.sampled_from(Signal))
def test_any_json_is_decoded_or_refused_for_good(tree: Any, signal: Signal) -> None:
    """Nothing else is ever raised."""
    try:
        answer = _decoded(tree, signal)
    except PermanentError:
        return
    assert answer.items >= 0


@settings(max_examples=sized(100, 500))
@given(data=st.data(), junk=trees)
def test_junk_anywhere_in_a_span_costs_no_more_than_that_span(data: st.DataObject, junk: Any) -> None:
    """Its neighbours are stored; it is stored or rejected."""
    bad = copy.deepcopy(FULL)
    holder, key = data.draw(st.sampled_from(list(_places(bad))))
    holder[key] = junk
    good = json_tree(traces(*spans(1, 2)))
    good["resourceSpans"][0]["scopeSpans"][0]["spans"].insert(1, bad)
    answer = _decoded(good, Signal.TRACES)
    kept = [one.span_id for one in answer.batch.spans]
    assert (kept[0], kept[-1]) == ("0000000000000001", "0000000000000002")
    assert answer.items + answer.rejected == 3
    assert bool(answer.message) == bool(answer.rejected)


def test_the_full_span_itself_is_good() -> None:
    """Else the property above would hold for nothing."""
    tree = json_tree(traces())
    tree["resourceSpans"][0]["scopeSpans"] = [{"spans": [FULL]}]
    assert _decoded(tree, Signal.TRACES).items == 1
    assert len(list(_places(FULL))) == 40


@pytest.mark.parametrize("depth", [300, 900, 1100, 5000, 200_000])
def test_nesting_of_any_depth_is_refused_within_bounds(depth: int) -> None:
    """In an attribute's value, in a field that is ignored, and with broken text beside it."""
    value = '{"arrayValue":{"values":[' * depth + "]}}" * depth
    unknown = "[" * depth + "]" * depth
    for spoilt in ("", "\udcff"):
        for field in (f'"attributes":[{{"key":"k","value":{value}}}]', f'"future":{unknown}'):
            good = '{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"}'
            body = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{good},{{"name":"{spoilt}",{field}}}]}}]}}]}}'
            try:
                answer = decode(Signal.TRACES, Encoding.JSON, body.encode(errors="surrogateescape"), received_at=1)
            except PermanentError:
                continue
            assert (answer.items, answer.rejected) == (1, 1)


def _decoded(tree: Any, signal: Signal) -> Decoded:
    return decode(signal, Encoding.JSON, json.dumps(tree).encode(), received_at=1)


def _places(tree: Any) -> Any:
    """Every (container, key) of a tree."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)
