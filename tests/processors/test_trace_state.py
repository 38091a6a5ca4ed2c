"""The state of a rebuilt trace: a settled one failed if the run of a manager did."""

from __future__ import annotations

from typing import Any

import pytest
from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import TraceState


def state_of(*spans: dict[str, Any], state: TraceState = TraceState.SETTLED) -> TraceState:
    """The state of a trace of these spans."""
    return rebuild(normalise_all(*fixture_spans({"spans": list(spans)})), state=state).state


def agent(span_id: str, parent: str = "", status: str = "unset") -> dict[str, Any]:
    """An agent's run."""
    attributes = {"openinference.span.kind": "AGENT", "agent.name": span_id}
    return {"id": span_id, "parent": parent, "attributes": attributes, "status": status, "start": 1, "end": 9}


def call(span_id: str, parent: str = "", status: str = "unset", start: int = 2, **more: Any) -> dict[str, Any]:
    """An LLM call."""
    attributes = {"openinference.span.kind": "LLM", "llm.model_name": "m"} | more
    return {"id": span_id, "parent": parent, "attributes": attributes, "status": status, "start": start}


def test_a_managers_failure_is_the_traces() -> None:
    """A sub-agent's alone is none: its manager went on."""
    assert state_of(agent("m"), agent("s", "m", "error")) is TraceState.SETTLED
    assert state_of(agent("m", status="error"), agent("s", "m", "error")) is TraceState.FAILED


@pytest.mark.parametrize("state", [TraceState.OPEN, TraceState.INCOMPLETE])
def test_what_is_not_known_to_its_end_keeps_its_state(state: TraceState) -> None:
    """An open trace may still recover, and of an incomplete one the end is unknown."""
    assert state_of(agent("m", status="error"), state=state) is state


def test_a_bare_clients_run_ends_as_its_last_call_did() -> None:
    """A call that failed and was repeated with success is no failed run."""

    def said(turn: int) -> dict[str, Any]:
        ask = "llm.output_messages.0.message.tool_calls.0.tool_call"
        return {
            f"{ask}.id": f"c{turn}",
            f"{ask}.function.name": "search",
            "llm.output_messages.0.message.role": "assistant",
            "session.id": "s",
        }

    assert state_of(call("a", status="error", **said(1)), call("b", start=5, **said(2))) is TraceState.SETTLED
    assert state_of(call("a", **said(1)), call("b", status="error", start=5, **said(2))) is TraceState.FAILED
