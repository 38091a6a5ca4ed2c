"""The edges of the graph of agents and tools: who calls whom in a rebuilt trace, and what nobody called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_parts import a_judged_trace, a_run
from trajectories import span

from tracejury.processors.call_edges import MOST_EDGES, edges_of
from tracejury.processors.normalize import normalize
from tracejury.processors.trace_outline import from_json, outline_of, to_json
from tracejury.schemas.call_graph import CallEdge, CalleeKind, CallGraph
from tracejury.schemas.normalized import ToolDefinition
from tracejury.schemas.text.naming import MOST
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn, TurnKind

ENTRY, AGENT, TOOL = CalleeKind


def call(name: str, **changes: Any) -> ToolCall:
    """A call that ran well."""
    fields: dict[str, Any] = {
        "name": name, "arguments": {}, "result": "ok", "requested": True, "executed": True, "error": None,
    }  # fmt: skip
    return ToolCall(**fields | changes)


def a_turn(*calls: ToolCall) -> Turn:
    """A turn of an agent."""
    return Turn(0, TurnKind.ACT, None, calls)


def traced(*runs: AgentRun) -> Trace:
    """A trace of these runs."""
    return a_judged_trace(runs=runs).trace


def tools(*names: str) -> tuple[ToolDefinition, ...]:
    """Definitions."""
    return tuple(map(ToolDefinition, names))


def test_calls_failures_and_what_was_available_are_counted() -> None:
    """A manager with a sub-agent: each call is one of its caller; a delegating call is the sub-agent's run alone."""
    manager = a_run(
        id="m", name="planner", tools=tools("search", "mail", "ask_writer"), managed_agents=("writer", "critic"),
        turns=(
            a_turn(call("search"), call("search", error="no route"), call("erase", executed=False)),
            a_turn(call("ask_writer", sub_run_id="w")),
        ),
    )  # fmt: skip
    writer = a_run(id="w", name="writer", parent_id="m", status="error", turns=(a_turn(call("search")),))
    assert set(edges_of(traced(manager, writer))) == {
        CallEdge(ENTRY, "", "planner", 1, 0, 1, 1),
        CallEdge(TOOL, "planner", "search", 2, 1, 1, 1),
        CallEdge(TOOL, "planner", "erase", 1, 1, 1, 1),
        CallEdge(AGENT, "planner", "writer", 1, 1, 1, 1),
        CallEdge(TOOL, "writer", "search", 1, 0, 1, 1),
        CallEdge(TOOL, "planner", "ask_writer", 0, 0, 1, 1),
        CallEdge(TOOL, "planner", "mail", 0, 0, 1, 0),
        CallEdge(AGENT, "planner", "critic", 0, 0, 1, 0),
    }


def test_runs_of_one_agent_add_up() -> None:
    """How many of its runs had a tool, and how many of these called it."""
    one = a_run(id="1", name="a", tools=tools("x", "y"), turns=(a_turn(call("x"), call("x")),))
    other = a_run(id="2", name="a", tools=tools("x"), turns=(a_turn(),))
    assert set(edges_of(traced(one, other))) == {
        CallEdge(ENTRY, "", "a", 2, 0, 2, 2),
        CallEdge(TOOL, "a", "x", 2, 0, 2, 1),
        CallEdge(TOOL, "a", "y", 0, 0, 1, 0),
    }


@pytest.mark.parametrize(
    ("given_tools", "called", "never"),
    [
        (("search",), "researcher.search", []),
        (("mcp-search",), "mcp_search", []),
        (("search", "web_search"), "search", ["web_search"]),
        (("web_search", "search"), "web_search", ["search"]),
    ],
)
def test_a_tool_that_is_called_by_another_form_of_its_name_was_called(
    given_tools: tuple[str, ...], called: str, never: list[str]
) -> None:
    """Instrumentations write names differently; of two tools that are both there each is its own."""
    run = a_run(tools=tools(*given_tools), turns=(a_turn(call(called)),))
    graph = CallGraph(edges_of(traced(run)))
    assert [edge.callee for edge in graph.never_called] == never


def test_tools_that_only_the_agent_span_names_are_available() -> None:
    """Some conventions list them there, and in no call."""
    own = normalize(span("s", attributes={"gen_ai.operation.name": "invoke_agent"}))
    assert not own.tool_names
    named = a_run(span=type(own)(raw=own.raw, kind=own.kind, convention="x", tool_names=("mail",)), turns=())
    assert [edge.callee for edge in CallGraph(edges_of(traced(named))).never_called] == ["mail"]


def test_a_trace_without_agents_has_no_edge() -> None:
    """Runs beside the agents are no request of their own."""
    assert edges_of(traced()) == ()
    assert edges_of(traced(a_run(beside=True))) == ()


def test_a_run_whose_parent_is_not_there_is_an_entry() -> None:
    """Late or lost parents leave no run out."""
    assert edges_of(traced(a_run(name="a", parent_id="gone", turns=()))) == (CallEdge(ENTRY, "", "a", 1, 0, 1, 1),)


def test_edges_and_names_are_bounded() -> None:
    """A hostile trace has a tool a call, of endless names."""
    calls = [call("x" * 1000), *(call(f"tool-{n}") for n in range(2 * MOST_EDGES)), call("tool-7")]
    found = edges_of(traced(a_run(turns=(a_turn(*calls),))))
    assert len(found) == MOST_EDGES
    assert found[0].callee == "tool-7"
    assert max(len(edge.callee) for edge in found) <= MOST


NAMES = st.sampled_from(["", "a", "b", "c"])
CALLS = st.lists(st.builds(call, NAMES, error=st.sampled_from([None, "", "broken"])), max_size=4)


@st.composite
def forests(draw: st.DrawFn) -> list[AgentRun]:
    """Runs, each below an earlier one or none."""
    runs: list[AgentRun] = []
    for number in range(draw(st.integers(0, 6))):
        parent = draw(st.sampled_from(["", *(run.id for run in runs)]))
        runs.append(
            a_run(
                id=str(number), name=draw(NAMES), parent_id=parent, status=draw(st.sampled_from(["ok", "error"])),
                turns=(a_turn(*draw(CALLS)),), tools=tools(*draw(st.lists(NAMES, max_size=3))),
            )
        )  # fmt: skip
    return runs


@given(forests())
def test_the_sums_are_those_of_the_runs(runs: list[AgentRun]) -> None:
    """Each run and each named call is in one edge; a graph in an outline stays the same when it is kept."""
    trace = traced(*runs)
    edges = edges_of(trace)
    agents = [edge for edge in edges if edge.kind is not TOOL]
    calls = [one for run in runs for turn in run.turns for one in turn.tool_calls if one.name]
    assert sum(edge.calls for edge in agents) == len(runs)
    assert sum(edge.failed for edge in agents) == sum(run.status == "error" for run in runs)
    assert sum(edge.calls for edge in edges if edge.kind is TOOL) == len(calls)
    assert sum(edge.failed for edge in edges if edge.kind is TOOL) == sum(one.error is not None for one in calls)
    assert all(edge.used <= edge.given and edge.failed <= edge.calls for edge in edges)
    assert sum(node.calls for node in CallGraph(edges).nodes) == len(runs) + len(calls)
    kept = from_json(to_json(outline_of(trace)))
    assert kept is not None
    assert kept.edges == tuple(edge for edge in edges if edge.shown)
