"""A call that failed and was made in another way, in a run that served its user, is LOW."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import suite_of
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun

ORDER = "W2378156"
CANCEL = tool("cancel_order", ("order", "reason"), order="string", reason="string")
RETURN = tool("return_order", ("order",), order="string")
LOOK_UP = tool("get_order", ("order",), order="string")
TOOLS = (CANCEL, RETURN, LOOK_UP)

FAILURES = {
    "refused": Did(
        "cancel_order", {"order": ORDER, "reason": "late"}, "Error: this call was denied by policy.", None, "t1"
    ),
    "answered no": Did(
        "cancel_order", {"order": ORDER, "reason": "late"}, "Error: the order has been delivered", None, "t1"
    ),
    "missing argument": Did("cancel_order", {"order": ORDER}, None, "missing required argument: reason", "t1"),
    "service": Did("get_order", {"order": ORDER}, None, "HTTP 503: Service Unavailable", "t1"),
    "time-out": Did("get_order", {"order": ORDER}, None, "TimeoutError: timed out", "t1"),
}
WAYS = {
    "another tool": Did("return_order", {"order": ORDER}, "The return is on its way.", None, "t2"),
    "a wider call": Did("find_orders", {"text": f"order {ORDER.lower()} of Ada"}, "Found one order.", None, "t2"),
}
ANSWER = "Your order W2378156 is being returned."


def severities(whole: AgentRun) -> set[Severity]:
    """Of the errors about the first call that a balanced reader sees."""
    seen = trace(whole)
    errors = standing_errors(suite_of(()).judge(seen).findings, seen.runs)
    shown = [e for e in errors if e.confidence() >= threshold("balanced") and {"a1", "t1"} & set(e.spans)]
    return {error.severity() for error in shown}


def served(*did: Did, answer: str = ANSWER, error: str = "") -> AgentRun:
    """A run that makes these calls, one a turn, and answers."""
    turns = [
        Said(f"a{n}", "", [one], sees=[(did[n - 2].error or did[n - 2].result or "")] if n > 1 else ())
        for n, one in enumerate(did, 1)
    ]
    last = Said("z", answer, sees=[did[-1].error or did[-1].result or ""])
    return run("r1", *turns, last, goal="Cancel my order.", answer=answer, tools=TOOLS, error=error)


@pytest.mark.parametrize(("failed", "way"), list(product(FAILURES, WAYS)))
def test_another_way_about_the_same_makes_it_slight(failed: str, way: str) -> None:
    """Whatever the first call failed by."""
    assert severities(served(FAILURES[failed], WAYS[way])) == {Severity.LOW}


@pytest.mark.parametrize(("fails", "expected"), [(2, Severity.LOW), (3, Severity.MEDIUM)])
def test_one_retry_that_failed_before_the_next_worked_is_slight(fails: int, expected: Severity) -> None:
    """Three in a row are a loop, whatever came of it."""
    tries = [replace(FAILURES["service"], span_id=f"t{n}") for n in range(1, fails + 1)]
    worked = Did("get_order", {"order": ORDER}, "The order is on its way.", None, "t9")
    assert max(severities(served(*tries, worked)), key=lambda one: one.rank) is expected


@pytest.mark.parametrize("failed", FAILURES)
def test_the_same_tool_with_other_arguments_makes_it_slight(failed: str) -> None:
    """As before."""
    first = FAILURES[failed]
    again = Did(first.name, {"order": ORDER, "reason": "no longer needed"}, "Done.", None, "t2")
    assert severities(served(first, again)) == {Severity.LOW}


@pytest.mark.parametrize("failed", FAILURES)
@pytest.mark.parametrize(
    "rest",
    [
        {"answer": ""},
        {"answer": "I am sorry, I was unable to do that."},
        {"error": "RuntimeError: out of hand"},
    ],
    ids=str,
)
def test_a_run_that_did_not_serve_its_user_leaves_it_as_it_is(failed: str, rest: dict[str, str]) -> None:
    """Without an answer, with one that gives up, or with a run that failed."""
    assert Severity.LOW not in severities(served(FAILURES[failed], WAYS["another tool"], **rest))


@pytest.mark.parametrize("failed", FAILURES)
def test_a_call_about_something_else_mends_nothing(failed: str) -> None:
    """Nor does one before which the failure came last."""
    other = Did("return_order", {"order": "W9999999"}, "The return is on its way.", None, "t2")
    assert severities(served(FAILURES[failed], other)) == {Severity.MEDIUM}
    earlier = Did("return_order", {"order": ORDER}, "The return is on its way.", None, "t0")
    late = served(earlier, FAILURES[failed])
    errors = standing_errors(suite_of(()).judge(trace(late)).findings, trace(late).runs)
    shown = [e for e in errors if e.confidence() >= threshold("balanced") and {"a2", "t1"} & set(e.spans)]
    assert Severity.LOW not in {e.severity() for e in shown}
