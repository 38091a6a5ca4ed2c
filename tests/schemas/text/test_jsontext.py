"""JSON of span values is always valid, whatever the values."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.schemas.text.jsontext import MAX_DEPTH, bytes_of, text_of

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4),
    max_leaves=20,
)


@given(_values)
def test_any_value_becomes_strict_json_in_utf8(value: object) -> None:
    """No NaN, no lone surrogate, no number beyond 64 bits: any parser reads it."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(bytes_of(value).decode("utf-8", "strict"), parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "x\ud800y"}, '{"a":"x\ufffdy"}'),
        ([float("nan"), float("inf"), 1.5], "[null,null,1.5]"),
        ([2**63 - 1, 2**63, -(2**63) - 1], f'[{2**63 - 1},{2**63},"{-(2**63) - 1}"]'),
        ([2**64], f'["{2**64}"]'),
        (MappingProxyType({"k": (1, True, None)}), '{"k":[1,true,null]}'),
        ({1: "x"}, '{"1":"x"}'),
    ],
)
def test_what_json_cannot_say_is_replaced(value: object, text: str) -> None:
    """Surrogates become U+FFFD, NaN and infinities null, numbers that JSON readers cut become text."""
    assert text_of(value) == text


@pytest.mark.parametrize("depth", [40, 100, MAX_DEPTH, 5_000])
def test_deep_nesting_is_written_or_cut(depth: int) -> None:
    """Down to the limit all is kept; a hostile depth is cut and does not raise."""
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    text = text_of(value)
    assert ("bottom" in text) == (depth <= MAX_DEPTH)
    assert ("…" in text) == (depth > MAX_DEPTH)
