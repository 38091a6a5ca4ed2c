"""Calls that no agent claims have a run; tools' spans that lost their parent come to the run that called them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from trajectories import SHARED, fixture_spans, load, misplaced, normalise_all

from tracejury.processors.joining import rebuild_joined
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import Trace, TraceState

KIND = "openinference.span.kind"
ASIDE = (Kind.EVALUATOR, Kind.GUARDRAIL)
CALLS = (Kind.LLM, Kind.TOOL, Kind.RETRIEVER)


def llm(name: str, parent: str, start: int, sent: str, said: str = "", **asked: str) -> dict[str, Any]:
    """An LLM call; `asked`: call id to the name of the tool."""
    attributes = {
        KIND: "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": sent,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": said,
    }
    for at, (call_id, tool) in enumerate(asked.items()):
        prefix = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        attributes |= {f"{prefix}.id": call_id, f"{prefix}.function.name": tool, f"{prefix}.function.arguments": "{}"}
    return {"id": name, "parent": parent, "start": start, "end": start + 2, "attributes": attributes}


def tool(name: str, parent: str, start: int, of: str, call_id: str = "") -> dict[str, Any]:
    attributes = {KIND: "TOOL", "tool.name": of, "input.value": "{}", "output.value": "12"}
    attributes |= {"tool_call.id": call_id} if call_id else {}
    return {"id": name, "parent": parent, "start": start, "end": start + 1, "attributes": attributes}


def agent(name: str, start: int, end: int) -> dict[str, Any]:
    return {"id": name, "start": start, "end": end, "attributes": {KIND: "AGENT", "agent.name": name}}


def plain(
    name: str, parent: str = "", start: int = 0, kind: int = 1, attributes: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    return {
        "id": name,
        "parent": parent,
        "name": name,
        "start": start,
        "end": 90,
        "kind": kind,
        "attributes": dict(attributes),
    }


def built(*spans: dict[str, Any], state: TraceState = TraceState.SETTLED) -> Trace:
    """The trace, the same in any order of arrival."""
    found = normalise_all(fixture_spans({"spans": list(spans)})[0])
    trace = rebuild(found, state=state)
    mixed = found + found[:2]
    random.Random(len(spans)).shuffle(mixed)  # noqa: S311 - arrival orders, no secrets
    assert rebuild(mixed, state=state) == trace
    assert misplaced(trace) == []
    return trace


def calls_of(trace: Trace, run_id: str) -> list[str]:
    """Ids of the spans of the run's tool calls, in order."""
    run = trace.run(run_id)
    assert run is not None
    return [c.span.span_id for t in run.turns for c in t.tool_calls if c.span is not None]


def test_one_call_below_a_request_is_a_run_of_one_turn() -> None:
    """Its name is the request's; goal and answer are what the model was sent and wrote."""
    (run,) = built(plain("POST /ask"), plain("step", "POST /ask"), llm("a", "step", 1, "How much?", "12 EUR")).runs
    assert (run.id, run.name, run.goal, run.answer, run.status) == (
        "POST /ask",
        "POST /ask",
        "How much?",
        "12 EUR",
        "ok",
    )
    assert run.inferred
    assert not run.beside
    assert len(run.turns) == 1


def test_a_root_tells_goal_and_answer() -> None:
    """A chain without tools states both itself."""
    root = plain("rag", attributes={KIND: "CHAIN", "input.value": "How much?", "output.value": "12 EUR"})
    (run,) = built(root, llm("a", "rag", 1, "Context: 12 EUR. How much?", "It costs 12 EUR.")).runs
    assert (run.name, run.goal, run.answer, run.inferred) == ("rag", "How much?", "12 EUR", True)


def test_what_was_retrieved_for_a_call_is_its_turns() -> None:
    """The query and the documents are a call with its result; the model's words are still the answer."""
    found = {KIND: "RETRIEVER", "input.value": "price", "retrieval.documents.0.document.content": "It costs 12 EUR."}
    retriever = {"id": "look", "parent": "POST /ask", "start": 1, "end": 2, "attributes": found}
    (run,) = built(plain("POST /ask"), retriever, llm("a", "POST /ask", 3, "How much?", "12 EUR")).runs
    (turn,) = run.turns
    (call,) = turn.tool_calls
    assert (call.name, call.arguments, call.result) == ("look", {"query": "price"}, "It costs 12 EUR.")
    assert run.answer == "12 EUR"


def test_requests_of_one_trace_are_apart() -> None:
    """Two outermost spans, or two requests that a program's one span holds, are two runs."""
    two = built(plain("one"), llm("a", "one", 1, "x", "y"), plain("two", start=5), llm("b", "two", 6, "x", "y"))
    assert [run.id for run in two.runs] == ["one", "two"]
    server = [plain("main"), plain("one", "main", 0, 2), plain("two", "main", 5, 2)]
    served = built(*server, llm("a", "one", 1, "x", "y"), llm("b", "two", 6, "x", "y"))
    assert [run.id for run in served.runs] == ["one", "two"]
    assert [s.span_id for s in served.remainder] == ["main"]


def test_a_call_beside_an_agent_is_no_exchange() -> None:
    """What a program asks around its agents is a run, but no message of a user, and no agent of the service."""
    agents = [plain("main"), agent("clerk", 1, 9) | {"parent": "main"}, llm("a", "clerk", 2, "How much?", "12")]
    trace = built(*agents, llm("b", "main", 20, "Word it.", "FINAL: 12"))
    assert [(run.id, run.inferred, run.beside) for run in trace.runs] == [
        ("clerk", False, False),
        ("main", True, True),
    ]
    assert [e.run_id for e in trace.exchanges] == ["clerk"]
    assert [run.id for run in trace.agents] == ["clerk"]
    assert [s.span_id for s in trace.outside] == ["b"]


def test_what_evaluators_ask_is_nobodys_run() -> None:
    judge = plain("judge", attributes={KIND: "EVALUATOR"})
    trace = built(judge, llm("a", "judge", 1, "Is it right?", "yes"))
    assert trace.runs == ()
    assert len(trace.remainder) == 2


@pytest.mark.parametrize("convention", [{}, {KIND: "CHAIN"}])
def test_a_scope_below_a_missing_parent_is_a_run(convention: dict[str, str]) -> None:
    """Whatever its convention; the run is unfinished and has the id of the missing span."""
    step = plain("step", "gone", attributes=convention)
    (run,) = built(step, llm("a", "step", 1, "Find it.", "", c1="find"), tool("t", "step", 4, "find", "c1")).runs
    assert (run.id, run.status, run.goal) == ("gone", "unfinished", "Find it.")


@pytest.mark.parametrize("parent", ["", "gone"])
@pytest.mark.parametrize("call_id", ["", "c1"])
def test_a_tool_comes_to_the_run_that_asked_for_it(parent: str, call_id: str) -> None:
    """By its call id, else by its name; though another agent works at that time."""
    spans = [agent("clerk", 0, 20), agent("other", 0, 20), llm("b", "other", 1, "Wait.", "I wait.")]
    trace = built(*spans, llm("a", "clerk", 1, "How much?", "", c1="price"), tool("t", parent, 4, "price", call_id))
    assert calls_of(trace, "clerk") == ["t"]
    assert [run.id for run in trace.runs] == ["clerk", "other"]


def test_code_calls_its_tools() -> None:
    """A code agent's tool is of the run whose latest reply calls it."""
    spans = [agent("clerk", 0, 20), agent("other", 0, 20), llm("b", "other", 1, "x", "```python\nlook()\n```")]
    code = "Thought: ask.\n```python\nprint(price(city='Oslo'))\n```"
    trace = built(*spans, llm("a", "clerk", 1, "How much?", code), tool("t", "", 4, "price"))
    assert calls_of(trace, "clerk") == ["t"]


def test_the_only_run_at_work_called_it() -> None:
    trace = built(agent("clerk", 0, 9), llm("a", "clerk", 1, "x", "y"), tool("t", "", 4, "price"))
    assert calls_of(trace, "clerk") == ["t"]


def test_nobody_gets_what_two_runs_may_have_called() -> None:
    """Two at work, both asking for it, and call ids used twice: the span has a run of its own."""
    spans = [agent("one", 0, 20), agent("two", 0, 20)]
    same = [llm("a", "one", 1, "x", "", c1="price"), llm("b", "two", 1, "x", "", c1="price")]
    for asked in ([llm("a", "one", 1, "x", "y"), llm("b", "two", 1, "x", "y")], same):
        trace = built(*spans, *asked, tool("t", "", 4, "price", "c1"))
        assert calls_of(trace, "one") == calls_of(trace, "two") == []
        assert [(run.id, run.beside) for run in trace.runs[2:]] == [("t", True)]


def test_a_call_that_has_a_span_gets_no_other() -> None:
    """A call id that comes again is another agent's."""
    own = [agent("clerk", 0, 9), llm("a", "clerk", 1, "x", "", c1="price"), tool("t", "clerk", 4, "price", "c1")]
    trace = built(*own, tool("late", "", 40, "price", "c1"))
    assert calls_of(trace, "clerk") == ["t"]
    assert trace.runs[1].id == "late"


def test_a_later_call_below_an_earlier_one_is_a_turn() -> None:
    """It was sent the result of what the outer one asked for; a second record of the same call was not."""
    later = llm("b", "a", 6, "How much?", "It is 12 EUR.")
    later["attributes"] |= {
        "llm.input_messages.1.message.role": "tool",
        "llm.input_messages.1.message.tool_call_id": "c1",
        "llm.input_messages.1.message.content": "12",
    }
    first = llm("a", "clerk", 1, "How much?", "", c1="price")
    (run,) = built(agent("clerk", 0, 20), first, tool("t", "a", 4, "price", "c1"), later).runs
    assert [(t.llm.span_id if t.llm else "", len(t.tool_calls)) for t in run.turns] == [("a", 1), ("b", 0)]
    assert run.answer == "It is 12 EUR."
    (doubled,) = built(agent("clerk", 0, 20), first, llm("b", "a", 1, "How much?", "", c1="price")).runs
    assert len(doubled.turns) == 1


def test_many_loose_spans_stay_linear() -> None:
    """A thousand roots: each tool to its call, none to another's."""
    spans: list[dict[str, Any]] = []
    for at in range(500):
        spans += [llm(f"l{at}", "", 10 * at, f"Question {at}", "", **{f"call-{at}": "price"})]
        spans += [tool(f"t{at}", "", 10 * at + 4, "price", f"call-{at}")]
    trace = built(*spans)
    assert [s for s in trace.remainder if s.kind in CALLS] == []


def _aside(spans: Sequence[NormalizedSpan]) -> set[str]:
    found = {s.span_id for s in spans if s.kind in ASIDE}
    while more := {s.span_id for s in spans if s.raw.parent_span_id in found} - found:
        found |= more
    return found


@pytest.mark.parametrize("folder", ["trail", "frameworks", "steps", "shapes"])
def test_no_call_of_real_data_stands_outside_of_runs(folder: str) -> None:
    """Apart from what evaluators and guards do."""
    files = [*(SHARED / folder).rglob("*.traces.json"), *(SHARED / folder).rglob("*.zip")]
    files += (SHARED / folder).rglob("traces/*.json*")
    if not files:
        pytest.skip("the shared data is absent")
    for file in files:
        if "ids-base64" in str(file) or "byte-arrays" in str(file):  # bodies that are read at the door alone
            continue
        for trace in rebuild_joined(load(file)):
            aside = _aside(list(trace.spans.values()))
            assert [s.span_id for s in trace.remainder if s.kind in CALLS and s.span_id not in aside] == [], file


@pytest.mark.parametrize(
    ("above", "service", "name"),
    [
        ([], "shop", "shop"),
        ([], "unknown_service:python", ""),
        ([plain("ask")], "shop", "ask"),
        ([plain("program"), plain("POST /ask", "program", kind=2), plain("step", "POST /ask")], "shop", "POST /ask"),
    ],
)
def test_a_conversation_is_called_after_what_it_is_in(above: list[dict[str, Any]], service: str, name: str) -> None:
    """The outermost span, or the one that received the request; without one it is the service."""
    inner = above[-1]["id"] if above else ""
    calls = [llm("l1", inner, 2, "how far?", "", c1="map"), llm("l2", inner, 6, "how far?", "12 km")]
    calls[1]["attributes"] |= {
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "map",
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": "c1",
        "llm.input_messages.2.message.content": "12",
    }
    spans = [entry | {"service": service} for entry in (*above, *calls)]
    trace = rebuild(normalise_all(fixture_spans({"spans": spans})[0]))
    assert [(run.name, len(run.turns)) for run in trace.runs] == [(name, 2)]
