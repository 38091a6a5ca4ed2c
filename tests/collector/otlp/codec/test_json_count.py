"""Counting JSON values before they are parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from otlp_parts import json_tree, span, text, traces

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.json_decode import count_values
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import TooLargeError

STRINGS = st.text(alphabet=st.sampled_from('\\",[]{}a\né'), max_size=20)
TREES = st.recursive(
    STRINGS | st.integers() | st.none(),
    lambda trees: st.lists(trees, max_size=4) | st.dictionaries(STRINGS, trees, max_size=4),
    max_leaves=20,
)


def brackets_and_commas(tree: Any) -> int:
    """What a JSON text of the tree has of them outside its strings."""
    if not isinstance(tree, list | dict):
        return 0
    own = list(tree.values()) if isinstance(tree, dict) else tree
    return 1 + max(len(own) - 1, 0) + sum(map(brackets_and_commas, own))


@given(tree=TREES, piece=st.integers(min_value=1, max_value=9), ascii_only=st.booleans())
def test_what_stands_in_strings_is_not_counted(tree: Any, piece: int, ascii_only: bool) -> None:  # noqa: FBT001 - a property
    """However the text is cut into pieces, within escapes too."""
    body = json.dumps(tree, ensure_ascii=ascii_only).encode()
    expected = brackets_and_commas(tree)
    if expected < len(body):
        assert count_values(body, expected, piece) <= expected
    if expected:
        assert count_values(body, expected - 1, piece) > expected - 1


@given(body=st.binary(max_size=100), piece=st.integers(min_value=1, max_value=9))
def test_any_bytes_can_be_counted(body: bytes, piece: int) -> None:
    """What is no JSON is left to the parser."""
    assert 0 <= count_values(body, 5, piece) <= len(body)


@pytest.mark.parametrize("signal", Signal)
def test_values_are_bounded_before_they_are_parsed(signal: Signal) -> None:
    """Not even as JSON is the body looked at."""
    body = b'{"resourceSpans":[' + b"{}," * 100
    with pytest.raises(TooLargeError, match=r"more than 99 values .*: send smaller batches"):
        decode(signal, Encoding.JSON, body, received_at=1, limits=Limits(values=99))


def test_a_large_batch_of_wide_spans_is_within_the_bound() -> None:
    """8,192 spans of 40 attributes each, the largest batch that exporters are set to."""
    attributes = [text(f"key.{number}", "value") for number in range(40)]
    one, two = (brackets_and_commas(json_tree(traces(*[span(attributes=attributes)] * spans))) for spans in (1, 2))
    assert 8192 * (two - one) < Limits().values
