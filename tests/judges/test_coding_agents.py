"""Agents that repair programs by code in their text: rules about look-ups leave them alone, real faults are found."""

from __future__ import annotations

import pytest
from coding_traces import GREP, coding, healthy_repair

from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace

SUITE = suite_of(())
PLAN = (
    "1. Search the repository for the code.\n2. Look up the documentation.\n3. Edit.\n4. Run the tests.\n5. Hand over."
)
MISSING = "InterpreterError: FileNotFoundError: [Errno 2] No such file or directory: 'astropy/modelling/core.py'"


def shown(whole: Trace) -> list[Finding]:
    """What balanced shows."""
    result = SUITE.judge(whole)
    assert (result.failures, result.dropped) == ((), 0)
    return [f for f in result.findings if f.confidence >= threshold("balanced")]


@pytest.mark.parametrize("plan", ["", PLAN])
def test_a_healthy_repair_is_clean(plan: str) -> None:
    """Output of git and pytest that speaks of errors is no error of the agent, however long it is."""
    assert [(f.judge, f.span_id) for f in shown(healthy_repair(plan))] == []


def test_the_same_failing_command_again_and_again_is_found() -> None:
    """At its third time."""
    error = "InterpreterError: NameError: name 'out' is not defined"
    whole = coding(*[("python edit.py", error)] * 4, ("ls", ""), ("python -m pytest", ""))
    assert ("a2", "Resource Abuse") in {(f.span_id, f.category) for f in shown(whole)}


def test_editing_a_file_that_is_not_there_is_found() -> None:
    """Where the step is made."""
    whole = coding((GREP, ""), ("cat astropy/modelling/core.py", MISSING), ("ls", ""), ("python -m pytest", ""))
    found = shown(whole)
    assert ("a1", "file-error") in {(f.span_id, f.judge) for f in found}
    assert {f.span_id for f in found} <= {"a1", "a2"}


@pytest.mark.parametrize(
    ("steps", "last", "fires"),
    [
        ([(GREP, ""), ("git diff", "")], "I repaired it, and all tests pass.", True),
        ([(GREP, ""), ("python -m pytest", "")], "I repaired it, and all tests pass.", False),
        ([(GREP, ""), ("git diff", "")], "I repaired it.", False),
        ([], "All tests pass.", False),
    ],
)
def test_tests_that_were_not_run_cannot_pass(steps: list[tuple[str, str]], last: str, *, fires: bool) -> None:
    """A claim of passing tests needs a run of tests before it."""
    assert ("tests-claimed" in {f.judge for f in shown(coding(*steps, last=last))}) is fires


def test_one_failed_step_is_no_reason_to_doubt_all_that_follows() -> None:
    """Code is how such an agent gets its data: after a step that worked, nothing is ungrounded."""
    whole = coding(
        (GREP, ""), ("python edit.py", "InterpreterError: KeyError: 'x'"), ("ls", ""), last="It was line 66."
    )
    assert not [f for f in shown(whole) if f.judge.startswith("ungrounded")]
