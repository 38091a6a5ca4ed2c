"""A trace while it arrives: what is known when, and what late spans change."""

from __future__ import annotations

from typing import Any

from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import Trace, TraceState


def spans(*entries: dict[str, Any]) -> list[NormalizedSpan]:
    return normalise_all(fixture_spans({"spans": list(entries)})[0])


def arrived(*entries: dict[str, Any]) -> Trace:
    return rebuild(spans(*entries), state=TraceState.OPEN)


def llm(span_id: str, parent: str, start: int, said: str = "", *sent: str) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": said}
    for i, text in enumerate(sent):
        role = "assistant" if i % 2 else "user"
        attributes |= {f"llm.input_messages.{i}.message.role": role, f"llm.input_messages.{i}.message.content": text}
    return {"id": span_id, "parent": parent, "start": start, "attributes": attributes}


def step(span_id: str, parent: str, start: int) -> dict[str, Any]:
    return {"id": span_id, "parent": parent, "start": start, "attributes": {"openinference.span.kind": "CHAIN"}}


AGENT = {"id": "agent", "end": 90, "attributes": {"openinference.span.kind": "AGENT", "agent.name": "a"}}
REPLY = "I shall look that up, then."


def test_a_run_keeps_its_id_when_its_own_span_arrives() -> None:
    """The run is known by the span that its calls name as parent; the late span adds name and status."""
    before = arrived(llm("l1", "agent", 2))
    after = arrived(llm("l1", "agent", 2), AGENT)
    assert [(r.id, r.name, r.status) for r in before.runs] == [("agent", "", "unfinished")]
    assert [(r.id, r.name, r.status) for r in after.runs] == [("agent", "a", "ok")]


def test_a_root_above_the_agent_changes_nothing() -> None:
    """Plain spans around an agent may come last."""
    below = {**AGENT, "parent": "main"}
    main = {"id": "main", "end": 99}
    before = arrived(llm("l1", "agent", 2), below)
    after = arrived(llm("l1", "agent", 2), below, main)
    assert before.runs == after.runs
    assert [s.span_id for s in after.remainder] == ["main"]


def test_a_turn_closes_with_the_next_call() -> None:
    """Also when the next call's step is still running: what it was sent shows whose it is."""
    first = arrived(llm("l1", "step1", 2, REPLY, "task"), step("step1", "agent", 1))
    assert [t.closed for t in first.runs[0].turns] == [False]
    second = arrived(
        llm("l1", "step1", 2, REPLY, "task"), step("step1", "agent", 1), llm("l2", "step2", 6, "", "task", REPLY)
    )
    assert [(r.id, [t.closed for t in r.turns]) for r in second.runs] == [("agent", [True, False])]


def test_a_turn_closes_with_the_runs_own_span() -> None:
    """Nothing more is expected of a finished run; an announced one is not finished."""
    assert [t.closed for t in arrived(llm("l1", "agent", 2), AGENT).runs[0].turns] == [True]
    pending = {**AGENT, "pending": True}
    assert [t.closed for t in arrived(llm("l1", "agent", 2), pending).runs[0].turns] == [False]


def test_every_turn_closes_when_the_trace_settles() -> None:
    """Whether or not the run's own span ever came."""
    for state in (TraceState.SETTLED, TraceState.INCOMPLETE):
        assert [t.closed for t in rebuild(spans(llm("l1", "agent", 2)), state=state).runs[0].turns] == [True]


def test_a_step_is_known_by_the_requests_in_its_history() -> None:
    """Also where a framework writes the earlier call into a message's text, with its id."""
    first = llm("l1", "step1", 2, "", "task")
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    first["attributes"] |= {f"{call}.id": "call_36f65e504b6f", f"{call}.function.name": "search"}
    second = llm("l2", "step2", 6, "", "task", "Calling tools:\n[{'id': 'call_36f65e504b6f', 'type': 'function'}]")
    assert [r.id for r in arrived(first, second).runs] == ["step1", "step2"]
    second["attributes"]["llm.input_messages.1.message.role"] = "tool-call"
    assert [r.id for r in arrived(first, second).runs] == ["step1"]


def test_another_agents_history_is_not_ones_own() -> None:
    """An agent that was handed the conversation, under another system prompt, is a run of its own."""
    one = llm("l1", "step1", 2, REPLY, "task")
    one["attributes"] |= {"llm.input_messages.0.message.role": "system"}
    other = llm("l2", "step2", 6, "", "another prompt", REPLY)
    other["attributes"] |= {"llm.input_messages.0.message.role": "system"}
    assert [r.id for r in arrived(one, other).runs] == ["step1", "step2"]


def test_a_finished_run_is_not_continued() -> None:
    """What comes after the end of a run is not its step, even with all its history."""
    late = llm("l2", "elsewhere", 95, "", "task", REPLY)
    assert [r.id for r in arrived(AGENT, llm("l1", "agent", 2, REPLY, "task"), late).runs] == ["agent", "elsewhere"]
    lost = llm("l2", "lost-step", 50, "", "task", REPLY)
    (run,) = arrived(AGENT, llm("l1", "agent", 2, REPLY, "task"), lost).runs
    assert [t.llm.span_id for t in run.turns if t.llm] == ["l1", "l2"]


def test_a_sub_agent_is_known_by_its_task() -> None:
    """Before any span says so, the arguments of the request show who started it: for code, too."""
    manager = llm("l1", "step1", 2, 'r = researcher(task="Find the length of the Rhine in km")', "Which is longer?")
    sub = llm("s1", "sub", 5, "", "You are asked: Find the length of the Rhine in km. Be brief.")
    runs = arrived(manager, sub).runs
    assert [(r.id, r.role, r.parent_id, r.parent_turn) for r in runs] == [
        ("step1", "manager", "", None),
        ("sub", "sub-agent", "step1", 0),
    ]


def test_a_request_that_may_still_run_is_not_called_unexecuted() -> None:
    """Only when the turn is over and the trace shows tools that run did a request not run."""
    asked = llm("l1", "agent", 2)
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    asked["attributes"] |= {f"{call}.name": "search", f"{call}.arguments": "{}"}
    other = {"id": "t0", "parent": "agent", "start": 1, "attributes": {"openinference.span.kind": "TOOL"}}

    def executed(*entries: dict[str, Any]) -> bool | None:
        return arrived(*entries).runs[0].turns[-1].tool_calls[0].executed

    assert executed(other, asked) is None
    assert executed(other, asked, AGENT) is False
    assert executed(asked, AGENT) is None
