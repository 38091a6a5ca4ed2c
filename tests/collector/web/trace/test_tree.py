"""The tree of a trace: bounded, complete step by step, its bars within their lanes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from large_trace import large_trace
from small_traces import Did, Said, run, trace
from store_parts import a_finding
from trajectories import TRAIL, load

from tracejury.collector.queries.trace.trace_index import REST, TraceIndex
from tracejury.collector.web.trace.shown_errors import ShownError, in_reading_order, worst
from tracejury.collector.web.trace.tree import MOST, WINDOW, Branch, Node, TreeOptions, TreeView
from tracejury.judges.grouping import group
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.processors.trace_outline import from_json, outline_of, to_json
from tracejury.schemas.agent_errors import ErrorRole
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace


def nodes(branch: Branch) -> Iterator[Node]:
    """All nodes that a page shows."""
    for node in branch.nodes:
        yield node
        yield from nodes(Branch(node.children, None, None))


def everything(trace_index: TraceIndex, key: str = "", start: int = 0) -> Iterator[str]:
    """All keys, as one who opens and pages through everything sees them."""
    branch = TreeView(trace_index, TreeOptions()).branch(key, start)
    for node in branch.nodes:
        yield node.key
        if node.below:
            yield from everything(trace_index, node.key)
    if branch.after:
        yield from everything(trace_index, key, branch.after.start)


@cache
def large() -> Trace:
    """A trace of thousands of spans."""
    return rebuild([normalize(span) for span in large_trace(4000)])


def delegating() -> Trace:
    """A manager whose second turn's call started a sub-agent."""
    manager = run(
        "m1",
        Said("a1", "thinking"),
        Said("a2", "asking", [Did("helper", {"task": "x"}, span_id="t1", sub_run_id="s1")]),
    )
    helper = run("s1", Said("b1", "done", [Did("search", {"q": 1}, None, "no such page", "t2")]), role="sub-agent",
                 parent_id="m1", name="helper")  # fmt: skip
    return trace(manager, helper)


def test_a_sub_agent_stands_below_the_call_that_started_it() -> None:
    """Its turns stand below it, and each span has its place."""
    trace_index = TraceIndex(outline_of(delegating()))
    assert trace_index.path(trace_index.key_of_span("t2") or "") == [
        "run:m1", "turn:1:m1", "call:0:1:m1", "run:s1", "turn:0:s1", "call:0:0:s1",
    ]  # fmt: skip
    assert trace_index.key_of_span("s1") == "run:s1"
    assert trace_index.key_of_span("none") is None


def shown_at(span_id: str, **facts: Any) -> ShownError:
    """An error of one finding."""
    (error,) = group([a_finding(span_id=span_id, **facts)], ())
    return ShownError(error, error.severity())


def test_an_error_is_pinned_at_its_span_and_counted_above() -> None:
    """Closed nodes say what is below them."""
    trace_index = TraceIndex(outline_of(large()))
    run_id = trace_index.outline.runs[-1].id
    span = trace_index.outline.runs[-1].turns[3].span_id
    error = shown_at(span, agent_run_id=run_id)
    shown = list(nodes(TreeView(trace_index, TreeOptions("", [error])).top()))
    closed = next(n for n in shown if n.key == f"run:{run_id}")
    assert not closed.is_open
    assert dict(closed.beneath) == {error.severity: 1}
    opened = list(nodes(TreeView(trace_index, TreeOptions(trace_index.key_of_span(span) or "", [error])).top()))
    assert [n.key for n in opened if n.errors] == [trace_index.key_of_span(span)]


def test_a_page_is_bounded_and_everything_can_be_reached() -> None:
    """Thousands of nodes show some hundred; opening and paging shows each once."""
    trace_index = TraceIndex(outline_of(large()))
    shown = list(nodes(TreeView(trace_index, TreeOptions()).top()))
    assert len(shown) <= MOST + WINDOW
    reached = list(everything(trace_index))
    assert len(reached) == len(set(reached)) == len(trace_index.items) - (REST in trace_index.items)


def test_what_is_selected_is_shown_wherever_it_is() -> None:
    """The way to it is open, and long lists begin near it."""
    trace_index = TraceIndex(outline_of(large()))
    for one in (trace_index.outline.runs[0].turns[-1], trace_index.outline.runs[20].turns[30]):
        key = trace_index.key_of_span(one.span_id) or ""
        assert [n.key for n in nodes(TreeView(trace_index, TreeOptions(key)).top()) if n.selected] == [key]


def test_the_other_spans_of_an_error_have_its_role_and_count_nothing() -> None:
    """Each node once, with the first of its roles; what is decided below a closed node counts."""
    trace_index = TraceIndex(outline_of(delegating()))
    error = shown_at("a2", tool_span_id="t2", seen_by_span_id="b1", also_at=("a1", "nowhere"))
    roles = {
        n.key: [role for _, role in n.errors] for n in nodes(TreeView(trace_index, TreeOptions("", [error])).top())
    }
    assert {key: found for key, found in roles.items() if found} == {
        "turn:1:m1": [ErrorRole.DECIDED],
        "call:0:0:s1": [ErrorRole.SHOWN],
        "turn:0:s1": [ErrorRole.READ],
        "turn:0:m1": [ErrorRole.REPEATED],
    }


def test_errors_come_in_reading_order() -> None:
    """By place in the tree, the worst first at one place; those of unknown spans last."""
    trace_index = TraceIndex(outline_of(delegating()))
    spans = ["t2", "nowhere", "a1", "b1"]
    found = in_reading_order([shown_at(s).error for s in spans], trace_index, 0.0)
    assert [shown.error.lead.span_id for shown in found] == ["a1", "b1", "t2", "nowhere"]


def test_the_worst_error_has_a_place_the_highest_severity_and_the_highest_confidence() -> None:
    """Of equal ones the first; the severity is that of the profile."""
    trace_index = TraceIndex(outline_of(delegating()))
    made = (
        ("nowhere", Severity.HIGH, 0.9), ("a1", Severity.MEDIUM, 0.9), ("t2", Severity.HIGH, 0.5),
        ("b1", Severity.HIGH, 0.5), ("a2", Severity.HIGH, 0.4),
    )  # fmt: skip
    errors = [shown_at(span, severity=severity, confidence=sure).error for span, severity, sure in made]
    found = worst(in_reading_order(errors, trace_index, 0.0), trace_index)
    assert found is not None
    assert found.error.lead.span_id == "b1"
    assert worst([], trace_index) is None


@pytest.mark.trail
@pytest.mark.skipif(not TRAIL.exists(), reason="the shared TRAIL traces are absent")
def test_real_traces_survive_the_way_through_json() -> None:
    """An outline is the same after it was kept; every span that a run has is found in the tree; bars fit."""
    for file in sorted(TRAIL.iterdir())[:15]:
        for spans in load(file).values():
            rebuilt = rebuild(spans)
            outline = outline_of(rebuilt)
            assert from_json(to_json(outline)) == outline
            trace_index = TraceIndex(outline)
            assert all(trace_index.key_of_span(span_id) is not None for span_id in rebuilt.spans)
            for node in nodes(TreeView(trace_index, TreeOptions()).top()):
                assert node.bar is None or (0 <= node.bar.left <= 100 and node.bar.left + node.bar.width <= 100.01)


def test_an_outline_of_another_form_is_not_used() -> None:
    """It is made anew."""
    assert from_json(b"[0, []]") is None
    data = to_json(outline_of(delegating()))
    assert from_json(data) == outline_of(delegating())
