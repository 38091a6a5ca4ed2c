"""Hostile text: JSON parsing never raises, and never gives what a later walk could not survive."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracejury.processors.normalize.values import NOT_JSON, as_index, as_int, as_text, parse_json

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", NOT_JSON),
        ("   ", NOT_JSON),
        ("12", NOT_JSON),
        ('"quoted"', NOT_JSON),
        ("null", NOT_JSON),
        ("{", NOT_JSON),
        ("{'single': 1}", NOT_JSON),
        ("{} trailing", NOT_JSON),
        ("{}", {}),
        (" \n[1] ", [1]),
        ('{"a": NaN, "b": -Infinity}', None),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a": "\\ud800"}', {"a": "\ud800"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_json_objects_and_arrays_only(text: str, expected: Any) -> None:
    """Objects and arrays are parsed, in Python's dialect too; bare scalars are what somebody said."""
    found = parse_json(text)
    if expected is None:
        assert isinstance(found, dict)
    else:
        assert found is expected if expected is NOT_JSON else found == expected


@pytest.mark.parametrize(("depth", "parsed"), [(99, True), (100, True), (101, False), (100_000, False)])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_is_bounded(depth: int, opening: str, closing: str, parsed: bool) -> None:  # noqa: FBT001 - a table
    """100 levels are read, more are text: whoever walks or compares the value may recurse."""
    levels = depth // (opening.count("[") + opening.count("{"))
    text = opening * levels + '"x"' + closing * levels
    deep = levels * (opening.count("[") + opening.count("{"))
    assert (parse_json(text) is not NOT_JSON) == (parsed or deep <= 100)


@given(st.integers(0, 40), st.integers(-(10**24), 10**24), st.sampled_from(["", "1234567 ", "2024-01-02T03:04:05 "]))
def test_long_integers_keep_their_digits(before: int, number: int, more: str) -> None:
    """Wherever they stand in a text, and whatever other digits do."""
    text = json.dumps({"a": "x" * before + more, "b": number, "c": [number, f"{more}{number}"]})
    assert parse_json(text) == json.loads(text)


def test_size_is_bounded() -> None:
    """Parsed JSON takes many times the memory of its text, so texts over 8 million characters stay text."""
    assert parse_json("[" + " " * 7_999_998 + "]") == []
    assert parse_json("[" + " " * 7_999_999 + "]") is NOT_JSON


@settings(deadline=None)
@given(JSON_VALUES.filter(lambda v: isinstance(v, dict | list)))
def test_what_python_writes_is_read(value: Any) -> None:
    """Whatever json.dumps writes of objects and arrays is read back (NaN included, which equals nothing)."""
    found = parse_json(json.dumps(value))
    assert json.dumps(found) == json.dumps(value)


@settings(deadline=None)
@given(st.text() | st.text(alphabet='{}[]":,\\ \n0123456789eE+-.truefalsn\ud800'))
def test_garbage_never_raises(text: str) -> None:
    """Any text gives an object, an array, or the mark that it is none; and goes back to text."""
    found = parse_json(text)
    assert found is NOT_JSON or isinstance(found, dict | list)
    if found is not NOT_JSON:
        assert isinstance(as_text(found), str)


@settings(deadline=None)
@given(JSON_VALUES)
def test_any_value_has_a_text(value: Any) -> None:
    """Strings stay as they are, None is empty, everything else is JSON."""
    text = as_text(value)
    assert text == value if isinstance(value, str) else (text == "" if value is None else isinstance(text, str))


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("17", 17), ("999999999", 999999999), ("9999999999", None), ("-1", None), ("", None), ("²", None)],
)
def test_indices(text: str, number: int | None) -> None:
    """At most nine ASCII digits are an index."""
    assert as_index(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("12", 12), ("-3", -3), (None, None), ("", None), ("1.5", None), ("9" * 18, int("9" * 18)), ("9" * 19, None)),
        *(("30.0", 30), ("5e2", 500), ("1e300", None), ("nan", None), ("inf", None), (f"{'9' * 18}.0", None)),
    ],
)
def test_whole_numbers(text: str | None, number: int | None) -> None:
    """At most 18 digits, decimals as far as they are exact; anything else is no number."""
    assert as_int(text) == number
