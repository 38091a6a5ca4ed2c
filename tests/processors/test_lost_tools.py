"""Calls whose tools' spans are lost: requests, sub-agents' runs and later messages still tell of them."""

from __future__ import annotations

import json
from typing import Any

from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace

KIND = "openinference.span.kind"
Sent = tuple[str, str, str]  # role, text, id of the call that a result is of


def llm(name: str, parent: str, start: int, *sent: Sent, said: str = "", **asked: tuple[str, Any]) -> dict[str, Any]:
    """An LLM call; `asked`: call id to the tool's name and arguments."""
    attributes: dict[str, Any] = {KIND: "LLM", "llm.output_messages.0.message.role": "assistant"}
    for at, (role, text, call_id) in enumerate(sent):
        message = f"llm.input_messages.{at}.message"
        attributes |= {f"{message}.role": role, f"{message}.content": text}
        attributes |= {f"{message}.tool_call_id": call_id} if call_id else {}
    attributes["llm.output_messages.0.message.content"] = said
    for at, (call_id, (tool, arguments)) in enumerate(asked.items()):
        prefix = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        attributes |= {f"{prefix}.id": call_id, f"{prefix}.function.name": tool}
        attributes[f"{prefix}.function.arguments"] = json.dumps(arguments)
    return {"id": name, "parent": parent, "start": start, "end": start + 2, "attributes": attributes}


def span(name: str, kind: str, parent: str, start: int, end: int, called: str = "") -> dict[str, Any]:
    attributes = {KIND: kind} | ({"agent.name": called} if called else {})
    return {"id": name, "name": name, "parent": parent, "start": start, "end": end, "attributes": attributes}


def built(*spans: dict[str, Any]) -> Trace:
    found = normalise_all(fixture_spans({"spans": list(spans)})[0])
    trace = rebuild(found)
    assert rebuild(found[::-1]) == trace
    return trace


def calls(run: AgentRun | None) -> list[ToolCall]:
    assert run is not None
    return [call for turn in run.turns for call in turn.tool_calls]


ASKED = ("user", "Which river is longer?", "")


def test_two_records_of_a_request_start_one_sub_agent() -> None:
    """The next sub-agent of that name was started by the next request."""
    spans = [span("flow", "CHAIN", "", 0, 90), span("chief", "AGENT", "flow", 1, 80, "chief")]
    for at, call_id in ((10, "call_one"), (40, "call_two")):
        asked = {call_id: ("clerk", {"task": f"Task {at}"})}
        spans += [llm(f"m{at}", "chief", at, ASKED, **asked), llm(f"n{at}", f"m{at}", at, ASKED, **asked)]
        spans += [span(f"clerk{at}", "AGENT", "flow", at + 3, at + 9, "clerk")]
        spans += [llm(f"c{at}", f"clerk{at}", at + 4, ("user", f"Task {at}", ""), said="Done.")]
    found = [(c.arguments, c.sub_run_id) for c in calls(built(*spans).run("chief"))]
    assert found == [({"task": "Task 10"}, "clerk10"), ({"task": "Task 40"}, "clerk40")]


def test_a_step_beside_an_empty_agent_is_that_agents_below_a_lost_tool_too() -> None:
    spans = [
        span("chief", "AGENT", "", 1, 80, "chief"),
        llm("m", "chief", 2, ASKED, call_one=("ask_clerk", {"task": "Look."})),
        span("clerk", "AGENT", "lost", 10, 11, "clerk"),
        span("work clerk", "CHAIN", "lost", 12, 20),
        llm("c", "work clerk", 13, ("user", "Look.", ""), said="Done."),
    ]
    trace = built(*spans)
    assert [(run.id, run.name) for run in trace.runs] == [("chief", "chief"), ("work clerk", "clerk")]
    assert [(c.name, c.sub_run_id) for c in calls(trace.run("chief"))] == [("ask_clerk", "work clerk")]


def test_who_is_handed_the_conversation_reads_the_hand_offs_result() -> None:
    told = ("tool", '{"assistant": "clerk"}', "call_over")
    spans = [
        span("flow", "CHAIN", "", 0, 90),
        span("chief", "AGENT", "flow", 1, 9, "chief"),
        llm("m", "chief", 2, ASKED, call_over=("transfer_to_clerk", {})),
        span("clerk", "AGENT", "flow", 10, 20, "clerk"),
        llm("c", "clerk", 11, ASKED, told, call_back=("look", {"q": "Rhine"})),
    ]
    (call,) = calls(built(*spans).run("chief"))
    assert (call.sub_run_id, call.result, call.executed) == ("clerk", told[1], True)


def test_a_result_that_is_retold_without_its_call_counts_where_no_tool_has_a_span() -> None:
    """smolagents; beside tools with spans a call without one did not run, whatever is retold."""
    failed = ("tool-response", "Error:\nno such river", "")
    agent, asks = span("a", "AGENT", "", 1, 80, "a"), {"call_one": ("look", {"q": "x"})}
    spans = [agent, llm("m", "a", 2, ASKED, **asks), llm("n", "a", 9, ASKED, failed, said="None.")]
    (call,) = calls(built(*spans).run("a"))
    assert (call.executed, call.result, call.error) == (True, failed[1], failed[1])
    ran = span("t", "TOOL", "a", 15, 16)
    ran["attributes"] |= {"tool.name": "count", "tool_call.id": "call_two"}
    later = llm("o", "a", 12, ASKED, call_two=("count", {}))
    unseen = next(c for c in calls(built(*spans, later, ran).run("a")) if c.name == "look")
    assert (unseen.executed, unseen.result) == (False, None)
