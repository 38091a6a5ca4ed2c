"""Counting messages before they are parsed."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, EntityRef, KeyValue, KeyValueList
from otlp_parts import span, spans, traces

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.proto_count import LEAST_BYTES, count_messages, items_of, values_of
from tracejury.collector.otlp.codec.signals import SPANS, Encoding, Signal
from tracejury.schemas.errors import PermanentError, TooLargeError

ITEMS = items_of(SPANS.request.DESCRIPTOR, SPANS.resources, SPANS.scopes, SPANS.items)
VALUES = values_of(SPANS.request.DESCRIPTOR)
UNKNOWN_GROUP = b"\x7b\x7c"


@given(shape=st.lists(st.lists(st.integers(min_value=0, max_value=5), max_size=4), max_size=4))
def test_groups_and_items_are_counted(shape: list[list[int]]) -> None:
    """As many as the parser finds, however they are grouped."""
    request = traces()
    del request.resource_spans[:]
    for scopes in shape:
        group = request.resource_spans.add(schema_url="x")
        group.resource.dropped_attributes_count = 300
        for count in scopes:
            group.scope_spans.add().spans.extend(spans(*range(1, count + 1)))
    expected = len(shape) + sum(map(len, shape)) + sum(sum(scopes) for scopes in shape)
    assert count_messages(request.SerializeToString(), ITEMS, 1000) == expected


@given(body=st.binary(max_size=200))
def test_any_bytes_can_be_counted(body: bytes) -> None:
    """What is no protobuf ends the count, not the process."""
    assert all(0 <= count_messages(body, counted, 50) <= 51 for counted in (ITEMS, VALUES))


@pytest.mark.parametrize("body", [b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x05", b"\x80" * 50, b"\x0b"])
def test_broken_frames_end_the_count(body: bytes) -> None:
    """A length beyond the end, a cut one, an endless number, a group: all left to the parser, which refuses them."""
    assert count_messages(body, ITEMS, 50) <= 1
    with pytest.raises(PermanentError):
        decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1)


@pytest.mark.parametrize(("items", "refused"), [(3, False), (4, False), (5, True)], ids=["below", "at", "above"])
def test_items_are_bounded(items: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """The resource and the scope count, too."""
    body, limits = traces(*spans(*range(1, items - 1))).SerializeToString(), Limits(items=4)
    if refused:
        with pytest.raises(TooLargeError):
            decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=limits)
    else:
        assert decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=limits).items == items - 2


@pytest.mark.parametrize(("items", "refused"), [(9, True), (10, False)], ids=["above", "at"])
def test_no_message_is_too_small_to_count(items: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """A body that is too small to hold more items than the limit is not counted; ten empty resources are ten."""
    body, limits = b"\x0a\x00" * 10, Limits(items=items)
    assert len(body) == LEAST_BYTES * 10
    if refused:
        with pytest.raises(TooLargeError):
            decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=limits)
    else:
        assert decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=limits).items == 0


def any_values() -> st.SearchStrategy[AnyValue]:
    """Values of all kinds, nested."""
    leaves = st.one_of(
        st.just(AnyValue()),
        st.text(max_size=200).map(lambda text: AnyValue(string_value=text)),
        st.integers(min_value=0, max_value=2**60).map(lambda number: AnyValue(int_value=number)),
        st.floats(allow_nan=False).map(lambda number: AnyValue(double_value=number)),
    )

    def nested(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
        several = st.lists(values, max_size=4)
        return several.map(lambda own: AnyValue(array_value=ArrayValue(values=own))) | several.map(
            lambda own: AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="k", value=value) for value in own]))
        )

    return st.recursive(leaves, nested, max_leaves=12)


def messages_in(message: Message) -> int:
    """Messages within a message, and strings of its lists."""
    count = 0
    for field, value in message.ListFields():
        for item in value if field.is_repeated else [value]:
            if field.message_type is not None:
                count += 1 + messages_in(item)
            elif field.is_repeated and isinstance(item, str):
                count += 1
    return count


@given(values=st.lists(any_values(), max_size=4))
def test_messages_of_all_levels_are_counted(values: list[AnyValue]) -> None:
    """As many as the parser makes, however deep they stand."""
    attributes = [KeyValue(key=f"k{number}", value=value) for number, value in enumerate(values)]
    request = traces(span(attributes=attributes, events=[{"attributes": attributes}], links=[{}]))
    request.resource_spans[0].resource.entity_refs.append(EntityRef(id_keys=["a", "", "b"]))
    body, expected = request.SerializeToString(), messages_in(request)
    assert count_messages(body, VALUES, expected) == expected
    assert count_messages(body, VALUES, expected - 1) == expected


@pytest.mark.parametrize("hidden", [UNKNOWN_GROUP, b"\x8a\x80\x00\x00", b"\x09" + bytes(8), b"\x0d" + bytes(4)])
def test_what_the_parser_skips_hides_nothing(hidden: bytes) -> None:
    """Groups, long tags and fields of another type stand before what is counted; the parser takes such a body."""
    body = hidden + traces(*spans(1, 2)).SerializeToString()
    parsed = SPANS.request.FromString(body)
    assert len(parsed.resource_spans[-1].scope_spans[0].spans) == 2
    assert count_messages(body, ITEMS, 50) >= 4


@pytest.mark.parametrize(("values", "refused"), [(99, True), (100, False)], ids=["above", "at"])
def test_values_are_bounded(values: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """Empty array items cost two bytes each and are refused before anything is built."""
    array = AnyValue(array_value=ArrayValue(values=[AnyValue()] * 89))
    body = traces(span(attributes=[KeyValue(key="k", value=array)], status={})).SerializeToString()
    assert len(body) > LEAST_BYTES * values
    limits = Limits(values=values)
    if refused:
        with pytest.raises(TooLargeError, match=r"more than 99 values .*: send smaller batches"):
            decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=limits)
    else:
        decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=limits)
