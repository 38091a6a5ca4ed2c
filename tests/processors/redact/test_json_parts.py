"""Parts of JSON by their place."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracejury.processors.redact.json_parts import JsonPart, PartKind, parts, values_at

names = st.text('ab"\\\n,:[]{} é4', max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | names | names.map(json.dumps),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=10,
)
places = st.lists(st.tuples(st.integers(0, 80), st.integers(1, 9)).map(lambda at: (at[0], sum(at))), max_size=5).map(
    sorted
)


@given(values, st.booleans(), st.sampled_from([None, 1]), places)
def test_values_at_places_are_those_of_all_parts_that_meet_one(
    value: Any,
    escaped: bool,  # noqa: FBT001 - as json takes it
    indent: int | None,
    given_places: list[tuple[int, int]],
) -> None:
    """Quotes, backslashes and brackets in texts, and numbers that are no integers, do not mislead."""
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)
    kinds = (PartKind.KEY, PartKind.STRING, PartKind.INTEGER)
    expected = [
        JsonPart(part.kind, (), part.start, part.end)
        for part in parts(text)
        if part.kind in kinds and any(part.start < last and first < part.end for first, last in given_places)
    ]
    assert list(values_at(text, given_places)) == expected
