"""Requests of a model joined with executions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectories import span

from tracejury.processors.matching import match_requests
from tracejury.processors.names import canonical, same_name
from tracejury.processors.normalize import normalize
from tracejury.schemas.normalized import NormalizedSpan, ToolRequest


def tool(name: str, call_id: str = "", arguments: str = "") -> NormalizedSpan:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": name, "tool.id": call_id, "input.value": arguments}
    return normalize(span(name, attributes=attributes))


NAMES = st.sampled_from(["search", "web_search", "Search", "calc", ""])
IDS = st.sampled_from(["", "a", "b", "c"])


@settings(deadline=None)
@given(
    st.lists(st.builds(ToolRequest, NAMES, st.sampled_from([{}, {"q": "x"}, "x", None]), IDS), max_size=6),
    st.lists(st.builds(tool, NAMES, IDS, st.sampled_from(["{}", '{"q": "x"}', "x"])), max_size=6),
)
def test_every_execution_has_one_request_or_none(requests: list[ToolRequest], executed: list[NormalizedSpan]) -> None:
    """Nothing is used twice or lost, and different call ids are never joined."""
    matched, left = match_requests(requests, executed)
    used = [id(s) for s in matched.values()] + [id(s) for s in left]
    assert sorted(used) == sorted(id(s) for s in executed)
    for i, found in matched.items():
        assert not (requests[i].call_id and found.tool_call_id) or requests[i].call_id == found.tool_call_id


@given(
    st.builds(ToolRequest, NAMES, st.sampled_from([{}, {"q": "x"}, "x", None]), IDS),
    st.builds(tool, NAMES, IDS, st.sampled_from(["{}", '{"q": "x"}', "x"])),
)
def test_one_request_and_one_execution_are_joined_as_among_others(request: ToolRequest, ran: NormalizedSpan) -> None:
    """What all the ways of matching find is found without them."""
    by_all_ways = match_requests([request], [ran], elsewhere=[7])  # which is none of the requests
    assert match_requests([request], [ran]) == by_all_ways


def test_ids_count_more_than_order_and_names() -> None:
    """A call keeps its id whatever it is called and whenever it ran."""
    requests = [ToolRequest("search", {}, "a"), ToolRequest("search", {}, "b")]
    first, second = tool("x", "b"), tool("search", "a")
    matched, left = match_requests(requests, [first, second])
    assert (matched, left) == ({0: second, 1: first}, [])


def test_arguments_count_more_than_order() -> None:
    """Equal names without ids are told apart by what they were called with."""
    requests = [ToolRequest("search", {"q": "1"}), ToolRequest("search", {"q": "2"})]
    first, second = tool("search", arguments='{"q": "2"}'), tool("search", arguments='{"q":"1"}')
    assert match_requests(requests, [first, second])[0] == {0: second, 1: first}


def test_strangers_are_joined_only_one_to_one() -> None:
    """A hand-off's request and span have different names; two of one and one of the other stay apart."""
    hand_off = tool("handoff to expert")
    assert match_requests([ToolRequest("transfer", {}, "a")], [hand_off]) == ({0: hand_off}, [])
    two = [ToolRequest("transfer", {}, "a"), ToolRequest("other", {}, "b")]
    assert match_requests(two, [hand_off]) == ({}, [hand_off])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("search", "search", True),
        ("search", "Search", True),
        ("search", "search.run", True),
        ("search", "T-search", True),
        ("search", "researcher.search", True),
        ("search", "search.__call__", True),
        ("delegate_work_to_coworker", "Delegate work to coworker", True),
        ("search", "execute_tool search", True),
        ("search", "research", False),
        ("search", "search_web", False),
        ("search", "calculator", False),
    ],
)
def test_names_of_one_tool(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a table
    """Frameworks add owners, prefixes and suffixes, and change case and separators."""
    assert same_name(one, other) is same
    assert same_name(other, one) is same


@settings(deadline=None)
@given(st.text(max_size=30))
def test_canonical_names_are_stable(name: str) -> None:
    """A canonical name has no case and no separators but single underscores."""
    found = canonical(name)
    assert found == found.lower() or not found.isascii()
    assert "__" not in found
