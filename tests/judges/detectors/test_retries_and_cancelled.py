"""A retry that worked is LOW, and what somebody cancelled is no error of a tool or a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from trajectories import span

from tracejury.judges.failure_text import FailureKind, failure_kind
from tracejury.judges.registry import suite_of
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import STATUS_ERROR, Span
from tracejury.schemas.taxonomy import Severity

SUITE = suite_of(())
MILLI = 1_000_000
RATE: dict[str, Any] = {"status_code": STATUS_ERROR, "status_message": "429 Too Many Requests"}
CANCELLED: dict[str, Any] = {"status_code": STATUS_ERROR, "status_message": "cancelled"}


def message(role: str, **part: Any) -> dict[str, Any]:
    return {"role": role, "parts": [part]}


ASKED = [message("user", type="text", content="Book a table for two.")]
CALL = message("assistant", type="tool_call", id="c", name="book", arguments={"n": 2})
RESULT = message("tool", type="tool_call_response", id="c", response="booked")
ANSWER = message("assistant", type="text", content="Your table is booked.")


def chat(at: int, sent: Sequence[Any], reply: Any = None, *, captured: bool = True, **changes: Any) -> Span:
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"} | changes.pop("stated", {})
    if captured:
        attributes |= {"gen_ai.input.messages": json.dumps(sent)}
        attributes |= {"gen_ai.output.messages": json.dumps([reply])} if reply else {}
    return span(f"l{at}", "a", attributes, start=at * MILLI + 7, end=(at + 1) * MILLI, **changes)


def book(at: int, result: str = "", call_id: str = "c", **changes: Any) -> Span:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book", "gen_ai.tool.call.id": call_id}
    attributes |= {"gen_ai.tool.call.arguments": '{"n": 2}'} | changes.pop("stated", {})
    attributes |= {"gen_ai.tool.call.result": result} if result else {}
    return span(f"t{at}", "a", attributes, start=at * MILLI + 7, end=(at + 1) * MILLI, **changes)


def severities(*below: Span, **agent: Any) -> dict[str, Severity]:
    """By rule, of what is found in a run of these spans."""
    stated = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "host"} | agent.pop("stated", {})
    whole = [span("a", attributes=stated, start=1, end=90 * MILLI, **agent), *below]
    return {f.judge: f.severity for f in SUITE.judge(rebuild(map(normalize, whole))).findings}


WORKED = (chat(9, ASKED, CALL), book(10, "booked"), chat(12, [*ASKED, CALL, RESULT], ANSWER))


@pytest.mark.parametrize("attempts", [1, 2, 4])
@pytest.mark.parametrize("captured", [True, False])
def test_a_model_call_that_was_made_again_and_worked_is_slight(attempts: int, *, captured: bool) -> None:
    """However many attempts there were, and whether or not contents were recorded."""
    failed = [chat(i, ASKED, captured=captured, **RATE) for i in range(1, attempts + 1)]
    after = WORKED if captured else (chat(9, ASKED, captured=False), book(10), chat(12, ASKED, captured=False))
    assert severities(*failed, *after)["model-rate"] is Severity.LOW


def test_attempts_that_all_failed_are_not_slight() -> None:
    """Nor is a call after which the run did something else."""
    assert severities(chat(1, ASKED, **RATE), chat(3, ASKED, **RATE))["model-rate"] is Severity.MEDIUM
    other = [message("user", type="text", content="Book a room.")]
    assert severities(chat(1, other, **RATE), *WORKED)["model-rate"] is Severity.MEDIUM
    long: dict[str, Any] = {"status_code": STATUS_ERROR, "status_message": "maximum context length is 8192 tokens"}
    assert severities(chat(1, ASKED, captured=False, **long), chat(3, ASKED, captured=False)) == {
        "model-limit": Severity.MEDIUM
    }


@pytest.mark.parametrize("at", [9, 8])
@pytest.mark.parametrize("stated", [{"error.type": "CancelledError"}, {"error.type": "AbortError"}, {}])
def test_a_hedged_call_that_was_cancelled_is_none(at: int, stated: dict[str, str]) -> None:
    """Its twin worked."""
    hedged = chat(at, ASKED, stated=stated, **CANCELLED)
    assert severities(*WORKED[1:], WORKED[0], hedged) == {}


@pytest.mark.parametrize("call_id", ["c", ""])
def test_a_tool_that_was_made_again_for_one_request_is_slight(call_id: str) -> None:
    """By its framework: the model asked once, and was told of the result alone."""
    asked, _, answered = WORKED
    assert set(
        severities(asked, book(10, call_id=call_id, **RATE), book(11, "booked", call_id), answered).values()
    ) == {Severity.LOW}
    found = severities(asked, book(10, call_id=call_id, **RATE), book(11, call_id=call_id, **RATE), answered)
    assert Severity.MEDIUM in found.values()


@pytest.mark.parametrize("text", ["cancelled", "Agent run was cancelled", "The user aborted a request."])
def test_what_a_user_stopped_is_no_tools_error(text: str) -> None:
    """The run's end is told, as slight; the tool did nothing wrong."""
    stopped: dict[str, Any] = {
        "stated": {"error.type": "CancelledError"},
        "status_code": STATUS_ERROR,
        "status_message": text,
    }
    found = severities(WORKED[0], book(10, **stopped), **stopped)
    assert found == {"run-cancelled": Severity.LOW}


@pytest.mark.parametrize(
    ("error", "cancelled"),
    [
        ("cancelled", True),
        ("CancelledError", True),
        ("asyncio.exceptions.CancelledError: Cancelled via cancel scope", True),
        ("The operation was canceled.", True),
        ("Request was aborted.", True),
        ("context canceled", True),
        ("The user cancelled it", True),
        ("Agent run was cancelled by the caller", True),
        ("AbortError: This operation was aborted", True),
        ("Order 17 was cancelled", False),
        ("cancelled orders cannot be changed", False),
        ("The request was canceled due to the configured Timeout of 100 seconds elapsing.", False),
        ("ConnectionAbortedError: software caused connection abort", False),
        ("", False),
    ],
)
def test_texts_of_cancellations(error: str, *, cancelled: bool) -> None:
    """Only an operation that was stopped, not what a tool says of an order."""
    assert (failure_kind(error, None) is FailureKind.CANCELLED) is cancelled
