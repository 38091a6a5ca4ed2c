"""Which errors can still be mended where a run stopped."""

from __future__ import annotations

from small_traces import Did, Said, run, trace

from tracejury.judges.grouping import standing_errors
from tracejury.judges.mending import can_be_mended
from tracejury.judges.registry import suite_of
from tracejury.judges.suite import Suite
from tracejury.schemas.profiles import threshold

SUITE: Suite = suite_of(())
BALANCED = threshold("balanced")
TESTS = Did("bash", {"command": "pytest -q tests/test_total.py"}, "12 passed", None, "t1")
EDIT = Did("edit", {"path": "shop/total.py", "old": "paid", "new": "paid - refunded"}, "Changed.", None, "t2")
MISSING = Did("bash", {"command": "python shop/totals_2291.py"}, None, "exit code 2: No such file or directory", "t3")
FOUND = Did("bash", {"command": "python shop/total.py 2291"}, "total 2291", None, "t4")


def mended(*did: Did, answer: str = "Done: total counts refunds.") -> tuple[set[str], set[str]]:
    """The detectors whose errors a reader of the balanced profile sees, and those whose errors can be mended."""
    turns = [Said(f"a{n}", f"Step {n}.", [one]) for n, one in enumerate(did, 1)]
    whole = trace(run("r1", *turns, Said("z", answer), goal="Make total count refunds.", answer=answer))
    errors = standing_errors(SUITE.judge(whole).findings, whole.runs)
    shown = [error for error in errors if error.confidence() >= BALANCED]
    return (
        {error.lead.judge for error in shown},
        {error.lead.judge for error in shown if can_be_mended(error, whole, BALANCED)},
    )


def test_what_was_not_done_can_still_be_done() -> None:
    """An edit that nothing checked; once it is checked, there is nothing to mend."""
    assert mended(TESTS, EDIT)[1] == {"edit-unchecked"}
    assert mended(EDIT, TESTS) == (set(), set())


def test_a_failure_can_be_mended_until_something_makes_up_for_it() -> None:
    """A later call about the same that works makes it LOW."""
    assert mended(TESTS, MISSING)[1]
    shown, can = mended(MISSING, FOUND)
    assert can == set(), shown


def test_waste_is_past() -> None:
    """The same call again and again cost time, and nothing brings that back."""
    shown, can = mended(*[TESTS] * 7)
    assert shown
    assert can == set(), shown
