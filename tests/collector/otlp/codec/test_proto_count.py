"""Counting messages before they are parsed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from otlp_parts import spans, traces

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.proto_count import count_messages
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import PermanentError, TooLargeError


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
    assert count_messages(request.SerializeToString(), 1000) == expected


@given(body=st.binary(max_size=200))
def test_any_bytes_can_be_counted(body: bytes) -> None:
    """What is no protobuf ends the count, not the process."""
    assert 0 <= count_messages(body, 50) <= 51


@pytest.mark.parametrize("body", [b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x05", b"\x80" * 50, b"\x0b"])
def test_broken_frames_end_the_count(body: bytes) -> None:
    """A length beyond the end, a cut one, an endless number, a group: all left to the parser, which refuses them."""
    assert count_messages(body, 50) == 0
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
