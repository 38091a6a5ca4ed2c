"""Calls that a tool's wrapping turned down for their arguments, apart from those that failed on their way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.processors.refusals import refused

SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
}
LONE: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


@pytest.mark.parametrize(
    ("complaint", "arguments"),
    [
        ("pydantic_core._pydantic_core.ValidationError: 1 validation error for search\nquery\n  Field required", {}),
        ("2 validation errors:\n```json", {"phrase": "Elbe"}),
        ("TypeError: search() missing 1 required positional argument: 'query'", {"limit": 3}),
        ("TypeError: search() got an unexpected keyword argument 'phrase'", {"query": "Elbe", "phrase": "Elbe"}),
        ("Error: Argument parsing failed.", {"query": 5}),
        ("Invalid JSON input for tool search: {", "{"),
        ("'query' is a required property", {"limit": 3}),
        ("Missing required parameter: query", {}),
        ("Invoking `search()` failed: the following mandatory input parameters are not present: query", {}),
        ("Invalid input for tool search: Type validation failed: Value", {"query": 5}),
        ("Parameter query is expected to be parsed to string but is not.", {"query": 5}),
        ("ValueError: Arg phrase is not in the tool's args.", {"phrase": "Elbe"}),
        ("Invalid arguments for tool search: limit", {"query": "Elbe", "limit": "three"}),
    ],
)
def test_a_complaint_of_arguments_that_do_not_fit_is_a_refusal(complaint: str, arguments: Any) -> None:
    """With the tool's parameters and without them."""
    assert refused(complaint, arguments, SEARCH)
    assert refused(complaint, arguments, None)


@pytest.mark.parametrize(
    ("complaint", "arguments"),
    [
        ("ValidationError: 1 validation error for Response", {"query": "Elbe", "limit": 3}),
        ("TypeError: parse() missing 1 required positional argument: 'page'", {"query": "Elbe"}),
        ("SearchBackendError: search backend returned 503", {"phrase": "Elbe"}),
        ("Error details are redacted", {}),
        ("", {}),
    ],
)
def test_a_tool_that_failed_at_something_else_ran(complaint: str, arguments: Any) -> None:
    """A tool may itself call what it should not; and a text that does not speak of arguments says nothing of them."""
    assert not refused(complaint, arguments, SEARCH)


def test_a_bare_text_is_the_only_argument() -> None:
    """Some record a lone argument without its name; what begins as JSON was meant as all arguments."""
    assert not refused("ValidationError: 1 validation error for Response", "Elbe", LONE)
    assert refused("Invalid JSON input for tool search", '{"query": ', LONE)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(arguments=_JSON, schema=_JSON)
def test_no_schema_and_no_arguments_make_it_raise(arguments: Any, schema: Any) -> None:
    """What is recorded as a schema may be anything."""
    assert refused("1 validation error", arguments, schema) in {True, False}
