"""Calls of a model whose parent is unknown come to their agent; two records of one call are one all the same."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from trajectories import fixture_spans, misplaced, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.trajectory import Trace

KIND = "openinference.span.kind"


def entry(
    name: str, start: int, end: int, kind: str, parent: str = "", scope: str = "a", **said: str
) -> dict[str, Any]:
    """A span; `said`: attributes with "__" for a dot."""
    attributes = {KIND: kind} | {key.replace("__", "."): value for key, value in said.items()}
    return {"id": name, "parent": parent, "start": start, "end": end, "scope": scope, "attributes": attributes}


def llm(
    name: str, start: int, end: int, sent: str = "", said: str = "", parent: str = "", scope: str = "a"
) -> dict[str, Any]:
    """An LLM call of ten tokens in, two out."""
    made = entry(name, start, end, "LLM", parent, scope)
    made["name"] = "chat"
    made["attributes"] |= {"llm.token_count.prompt": 10, "llm.token_count.completion": 2}
    for side, role, text in (("input", "user", sent), ("output", "assistant", said)):
        if text:
            prefix = f"llm.{side}_messages.0.message"
            made["attributes"] |= {f"{prefix}.role": role, f"{prefix}.content": text}
    return made


def agent(name: str, start: int, end: int, sent: str = "", said: str = "", parent: str = "") -> dict[str, Any]:
    """An agent's span with its input and its answer."""
    return entry(name, start, end, "AGENT", parent, agent__name=name, input__value=sent, output__value=said)


def tool(name: str, start: int, end: int, scope: str, **said: str) -> dict[str, Any]:
    """The span of a tool `search`, a root."""
    return entry(name, start, end, "TOOL", "", scope, tool__name="search", output__value="1230 km", **said)


def built(*entries: Mapping[str, Any]) -> Trace:
    """The trace, the same in any order of arrival."""
    spans, _ = fixture_spans({"spans": [dict(one) for one in entries]})
    scoped = [replace(span, scope_name=one["scope"]) for span, one in zip(spans, entries, strict=True)]
    normalised = [*normalise_all(scoped)]
    trace = rebuild(normalised)
    for order in itertools.islice(itertools.permutations(normalised), 1, 7):
        assert rebuild(order) == trace
    assert misplaced(trace) == []
    return trace


def turns(trace: Trace) -> dict[str, list[str]]:
    """Run to the ids of its LLM calls."""
    return {run.id: [t.llm.span_id for t in run.turns if t.llm] for run in trace.runs}


@pytest.mark.parametrize("parent", ["", "gone"])
def test_a_call_comes_to_the_only_agent_at_work(parent: str) -> None:
    """Whether it is a root or its parent never came, and without a word of content."""
    assert turns(built(agent("mapper", 0, 9), llm("c", 2, 4, parent=parent))) == {"mapper": ["c"]}


def test_an_agent_is_not_started_by_its_own_sub_agent() -> None:
    """Though loose calls that are the agent's were sent what its sub-agent asked for."""
    goal, asked = "Add up the prices of the tickets.", "count the tickets of the group first"
    trace = built(
        agent("manager", 0, 20, goal),
        agent("checker", 2, 6, parent="manager"),
        llm("c1", 3, 5, "Check it.", f'search("{asked}")', parent="checker"),
        llm("c2", 8, 9, f"{goal} Now {asked}.", "Done.", parent="gone"),
    )
    assert turns(trace) == {"manager": ["c2"], "checker": ["c1"]}
    assert {run.id: run.parent_id for run in trace.runs} == {"manager": "", "checker": "manager"}


def test_texts_tell_which_of_two_agents_called() -> None:
    """Two agents at work at once: what each was asked stands in its own call."""
    agents = (agent("one", 0, 9, "length of the Rhine"), agent("two", 1, 8, "length of the Elbe"))
    calls = (llm("c", 2, 4, "length of the Elbe", parent="p"), llm("d", 3, 5, "length of the Rhine", parent="q"))
    assert turns(built(*agents, *calls)) == {"one": ["d"], "two": ["c"]}


@pytest.mark.parametrize(
    ("agents", "call"),
    [
        ((agent("one", 0, 6), agent("two", 1, 8)), llm("c", 2, 4)),
        ((agent("one", 0, 9, "length of the Rhine"),), llm("c", 2, 4, "a title for this chat")),
        ((agent("one", 0, 3),), llm("c", 2, 4)),
        ((agent("one", 0, 9), llm("own", 1, 2, parent="one")), llm("c", 3, 4)),
        ((agent("one", 0, 9),), entry("c", 3, 4, "LLM", agent__name="b")),
    ],
    ids=["two at work", "another question", "outside of its time", "has calls of its own", "states another agent"],
)
def test_what_does_not_fit_stays_a_run_of_its_own(agents: tuple[dict[str, Any], ...], call: dict[str, Any]) -> None:
    """Nobody gets it."""
    found = turns(built(*agents, call))
    assert found.pop("c") == ["c"]
    assert "c" not in itertools.chain.from_iterable(found.values())


@pytest.mark.parametrize("parents", [("", ""), ("x", "y"), ("x", "x")])
def test_two_records_of_one_call_are_one_without_their_nesting(parents: tuple[str, str]) -> None:
    """A framework's record around a client's; tokens count once."""
    reply = "The Rhine is 1230 km long."
    trace = built(
        llm("outer", 0, 9, "length?", reply, parents[0], "framework"),
        llm("inner", 1, 8, "length?", reply, parents[1], "client"),
    )
    assert sum(map(len, turns(trace).values())) == 1
    assert sum_tokens(trace.spans).input_tokens == 10


def test_two_calls_with_one_answer_are_two() -> None:
    """One instrumentation, one prompt sampled twice, one call longer than the other."""
    reply = "The Rhine is 1230 km long."
    trace = built(llm("one", 0, 90, "length?", reply), llm("two", 1, 50, "length?", reply))
    assert sum_tokens(trace.spans).input_tokens == 20


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ({"tool_call__id": "call_1"}, 1),
        ({"input__value": '{"q": "Rhine"}'}, 1),
        ({"input__value": '{"q": "Elbe"}'}, 2),
    ],
)
def test_records_of_tools_are_one_unless_they_differ(said: dict[str, str], calls: int) -> None:
    """By what both say, across instrumentations."""
    trace = built(
        agent("mapper", 0, 20),
        llm("c", 1, 2, parent="mapper"),
        tool("outer", 3, 9, "framework", input__value='{"q": "Rhine"}'),
        tool("inner", 4, 8, "library", **said),
    )
    assert sum(len(t.tool_calls) for run in trace.runs for t in run.turns) == calls
