"""Group chats: agents' outcomes in the order of time, what another carried out, and who lists no tools."""

from __future__ import annotations

from typing import Any

from trajectories import fixture_spans, normalise_all
from transcribed import AGENT, llm

from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import UNCUT, transcribe
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.transcript import Transcript

CODE = "```python\nprint(sum(int(digit) for digit in '7731'))\n```\nTerminal, please run this code."


def span(span_id: str, parent: str, start: int, end: int, kind: str, **attributes: Any) -> dict[str, Any]:
    return {
        "id": span_id,
        "parent": parent,
        "start": start,
        "end": end,
        "attributes": {"openinference.span.kind": kind, **attributes},
    }


def chat() -> Trace:
    """A manager's call below which an expert writes code, a terminal runs it, and the expert concludes."""
    asked = {"input.value": "Add the digits of 7731 up, by code.", "output.value": CODE}
    ran = {"input.value": CODE, "output.value": "exitcode: 0 (execution succeeded)\n18"}
    done = {"input.value": ran["output.value"], "output.value": "The sum of the digits is 18, says the code."}
    given = {
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "seek_help",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"task": "Add the digits up."}',
    }
    spans = [
        AGENT,
        llm("l1", 1, [("user", "What is the sum of the digits of 7731?")], **given),
        span("help", "agent", 10, 80, "TOOL", **{"tool.name": "seek_help", "output.value": "TERMINATE: it is 18."}),
        span("expert1", "help", 11, 20, "AGENT", **{"agent.name": "Expert", **asked}),
        {**llm("l2", 12, [("user", asked["input.value"])], CODE), "parent": "expert1"},
        span("terminal", "help", 21, 30, "AGENT", **{"agent.name": "Terminal", **ran}),
        span("ran", "terminal", 22, 29, "TOOL", **{"tool.name": "terminal", **ran}),
        span("expert2", "help", 31, 40, "AGENT", **{"agent.name": "Expert", **done}),
        {**llm("l3", 32, [("user", ran["output.value"])], done["output.value"]), "parent": "expert2"},
    ]
    return rebuild(normalise_all(fixture_spans({"spans": spans})[0]), state=TraceState.SETTLED)


def of(trace: Trace, run_id: str) -> Transcript:
    (run,) = [r for r in trace.runs if r.span is not None and r.span.span_id == run_id]
    return transcribe(trace, run)


def test_a_manager_sees_outcomes_in_the_order_of_time() -> None:
    """The agents below a call are steps before its result, which came last."""
    steps = of(chat(), "agent").steps
    assert [step.span_id for step in steps] == ["l1", "expert1", "terminal", "expert2", "help"]
    assert "its answer:\n exitcode: 0" in steps[2].text
    assert "TERMINATE" in steps[-1].text
    assert "TERMINATE" not in "".join(step.text for step in steps[:-1])


def test_what_a_terminal_carried_out_is_shown_to_who_wrote_it() -> None:
    """At the end of the writer's run, for its own next call never came; the other run has none."""
    trace = chat()
    assert (
        "outcome of what the last step wrote, carried out by Terminal:\n exitcode: 0 (execution succeeded)\n 18\nEnd of"
    ) in of(trace, "expert1").closing
    assert "carried out" not in of(trace, "expert2").closing


def test_an_agent_without_tools_is_said_to_have_none() -> None:
    """Neutrally; not of managers, nor of agents to which tools are given."""
    trace = chat()
    assert "no tools are listed with its calls; others may carry out what it writes\n" in of(trace, "expert1").common
    assert "no tools" not in of(trace, "agent").header


def test_the_uncut_record_has_the_same_labels() -> None:
    """Of every run."""
    trace = chat()
    for run in trace.runs:
        assert transcribe(trace, run).spans == transcribe(trace, run, UNCUT).spans
