"""How runs end whose own span never came: by their last turn, once nothing more is expected of their trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import AgentRun, KnownRuns, TraceState

KIND = "openinference.span.kind"
ASKED = {"call_look": "look"}


def llm(start: int, said: str = "", asked: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """A call below a span that nobody sent; `asked`: call id to the name of the tool."""
    attributes: dict[str, Any] = {
        KIND: "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "How long is it?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": said,
    }
    for at, (call_id, name) in enumerate((asked or {}).items()):
        prefix = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        attributes |= {f"{prefix}.id": call_id, f"{prefix}.function.name": name}
        attributes[f"{prefix}.function.arguments"] = '{"answer": "12 km"}'
    return {"id": f"m{start}", "parent": "gone", "start": start, "end": start + 2, "attributes": attributes} | changes


def tool(start: int, name: str, call_id: str, **changes: Any) -> dict[str, Any]:
    attributes = {KIND: "TOOL", "tool.name": name, "tool_call.id": call_id, "input.value": '{"answer": "12 km"}'}
    attributes["output.value"] = "12 km"
    return {"id": f"t{start}", "parent": "gone", "start": start, "end": start + 1, "attributes": attributes} | changes


def run_of(spans: Sequence[dict[str, Any]], state: TraceState = TraceState.INCOMPLETE) -> AgentRun:
    """The one run; the same if the trace was open before."""
    found = normalise_all(fixture_spans({"spans": list(spans)})[0])
    known: KnownRuns = {}
    assert [r.status for r in rebuild(found, state=TraceState.OPEN, known=known).runs] == ["unfinished"]
    trace = rebuild(found, state=state, known=known)
    assert rebuild(found[::-1], state=state) == trace
    (run,) = trace.runs
    return run


LOOKED = [llm(1, asked=ASKED), tool(4, "look", "call_look")]


@pytest.mark.parametrize("state", [TraceState.SETTLED, TraceState.INCOMPLETE])
def test_words_that_ask_for_nothing_end_a_run(state: TraceState) -> None:
    """While the trace is open more may come."""
    run = run_of([*LOOKED, llm(7, "It is 12 km long.")], state)
    assert (run.status, run.answer, run.span) == ("ok", "It is 12 km long.", None)


def test_a_call_that_hands_over_the_answer_ends_a_run() -> None:
    asks = llm(7, asked={"call_end": "final_answer"})
    run = run_of([*LOOKED, asks, tool(10, "final_answer", "call_end")])
    assert (run.status, run.answer) == ("ok", "12 km")
    assert [[c.closing for c in t.tool_calls] for t in run.turns] == [[False], [True]]


@pytest.mark.parametrize(
    "last",
    [
        pytest.param([llm(7, asked={"call_more": "look"})], id="killed in a tool"),
        pytest.param([llm(7, "I look again.", {"call_more": "look"})], id="killed in a tool that words announce"),
        pytest.param([], id="killed after a tool"),
        pytest.param([llm(7, "Thought: look.\n<code>\nlook(again=True)\n</code>")], id="killed in code"),
        pytest.param([llm(7, "Thought: look.\nAction: look\nAction Input: {}")], id="killed in a call as text"),
        pytest.param([llm(7, "It is 12", status="error")], id="killed in the reply"),
        pytest.param([llm(7, asked={"call_end": "final_answer"})], id="killed while answering"),
    ],
)
def test_a_run_that_was_doing_something_is_unfinished(last: list[dict[str, Any]]) -> None:
    assert run_of([*LOOKED, *last]).status == "unfinished"


def test_a_reply_that_called_a_tool_without_saying_which_ends_nothing() -> None:
    """The request itself was not recorded."""
    going_on = llm(7, "I look once more.")
    going_on["attributes"]["llm.finish_reason"] = "tool_calls"
    assert run_of([*LOOKED, going_on]).status == "unfinished"
