"""Success and the five modes of failure, by hand: what holds, which mode comes first, and where it is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from oracles import call, case

from tracejury.judges.packs.rut.calls import OracleCall
from tracejury.judges.packs.rut.oracle_case import OracleCase
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import Mode, broken

LOOK, REFUND, NOTE = call("get_order", id=7), call("refund", id=7, eur=20), call("update_note", text="x")
ORACLE: dict[str, Any] = {
    "steps": [
        {"id": "look", "tool": "get_order", "arguments": {"id": 7}},
        {"id": "pay", "tool": "refund", "arguments": {"id": 7, "eur": 20}, "write": True},
        {"id": "note", "tool": "update_note", "arguments": {"text": "x"}, "write": True},
    ],
    "order": [["look", "pay"]],
    "exclusive": [["refund", "exchange_item"]],
    "forbidden": [{"tool": "delete_account"}, {"tool": "get_order", "arguments": {"id": 8}}],
}


def outcome(oracle: dict[str, Any], *calls: OracleCall, **more: Any) -> tuple[bool | None, Mode | None, str]:
    """Success, mode, and the span of the mode ("" for the answer)."""
    found = judge(case(oracle, *calls, **more))
    return found.success, found.mode, found.call.span_id if found.call else ""


@pytest.mark.parametrize(
    ("calls", "mode", "at"),
    [
        ((LOOK, REFUND, NOTE), None, ""),
        ((NOTE, LOOK, REFUND), None, ""),
        ((LOOK, LOOK, REFUND, NOTE, call("get_user", id=1)), None, ""),
        ((LOOK, REFUND, NOTE, call("delete_account")), Mode.UNAUTHORISED, "s4"),
        ((LOOK, REFUND, NOTE, call("delete_account", ok=False)), Mode.UNAUTHORISED, "s4"),
        ((call("delete_account"),), Mode.UNAUTHORISED, "s1"),
        ((call("get_order", id=8, full=True), LOOK, REFUND, NOTE), Mode.UNAUTHORISED, "s1"),
        ((), Mode.PREMATURE, ""),
        ((LOOK,), Mode.PREMATURE, ""),
        ((LOOK, REFUND), Mode.PARTIAL, ""),
        ((LOOK, call("refund", id=7, eur=21)), Mode.PARTIAL, ""),
        ((REFUND, LOOK, NOTE), Mode.SEQUENCE, "s1"),
        ((LOOK, REFUND, NOTE, call("exchange_item", id=7)), Mode.SEQUENCE, "s4"),
        ((call("exchange_item", id=7), LOOK, REFUND, NOTE), Mode.SEQUENCE, "s3"),
        ((LOOK, REFUND, NOTE, call("exchange_item", ok=False)), None, ""),
        ((call("get_order", id=6), REFUND, NOTE), Mode.SEQUENCE, "s2"),
        ((REFUND, NOTE), Mode.SEQUENCE, "s1"),
        ((LOOK, call("refund", id=7, eur=21), NOTE), Mode.PARAMETER, "s2"),
        ((LOOK, call("refund", id=7, eur=20, ok=False), NOTE), Mode.PARAMETER, "s2"),
        ((LOOK, call("refund", id=7, eur=20, ok=False), REFUND, NOTE), None, ""),
        ((call("refund", id=7, eur=21), LOOK, NOTE), Mode.SEQUENCE, "s1"),
    ],
    ids=[
        "success",
        "another order",
        "further reads",
        "forbidden",
        "forbidden, though it failed",
        "forbidden before all else",
        "forbidden with arguments",
        "no call",
        "no write",
        "a write too few",
        "a wrong write and one too few",
        "edge",
        "pair",
        "pair, earlier",
        "a pair of which one failed",
        "read without a match",
        "no read",
        "parameter",
        "failed write",
        "repeated after an error",
        "edge by a call that stands in",
    ],
)
def test_the_first_mode_whose_condition_holds(calls: tuple[OracleCall, ...], mode: Mode | None, at: str) -> None:
    assert outcome(ORACLE, *calls) == (mode is None, mode, at)


def test_a_refused_call_was_made_but_did_not_run() -> None:
    """It is no premature end, breaks no rule, and wrote nothing; nor did one that failed."""
    refused = replace(REFUND, ok=False, ran=False)
    assert outcome(ORACLE, refused, LOOK, NOTE) == (False, Mode.PARAMETER, "s1")
    assert outcome(ORACLE, LOOK, refused) == (False, Mode.PREMATURE, "")
    assert outcome(ORACLE, LOOK, replace(REFUND, ok=False)) == (False, Mode.PREMATURE, "")
    assert outcome(ORACLE, LOOK, REFUND, NOTE, replace(call("delete_account"), ran=False, ok=False))[0]


def test_a_missing_read_is_reported_at_the_first_write_else_at_the_answer() -> None:
    oracle = {"steps": [{"id": "look", "tool": "get_order", "arguments": {"id": 7}}]}
    assert outcome(oracle, call("get_user"), REFUND) == (False, Mode.SEQUENCE, "s2")
    assert outcome(oracle, call("get_user")) == (False, Mode.SEQUENCE, "")


def test_a_wrong_parameter_quotes_the_value_that_differs_of_the_nearest_call() -> None:
    wrong = call("refund", id=8, eur=21), call("refund", id=7, eur=21)
    found = judge(case(ORACLE, LOOK, *wrong, NOTE))
    assert found.call is not None
    assert (found.call.span_id, found.argument) == ("s3", "eur")
    assert found.reason == "The call of pay (refund) needs another value of eur."
    assert found.sure


def test_a_premature_end_names_the_tool() -> None:
    assert "refund" in judge(case(ORACLE, LOOK)).reason


@pytest.mark.parametrize(
    ("calls", "mode", "at"),
    [
        ((LOOK, REFUND, NOTE), None, ""),
        ((LOOK, REFUND, REFUND, NOTE), Mode.UNAUTHORISED, "s3"),
        ((LOOK, REFUND, NOTE, call("refund", id=8, eur=20)), Mode.UNAUTHORISED, "s4"),
        ((LOOK, REFUND, NOTE, call("create_order", id=9)), Mode.UNAUTHORISED, "s4"),
        ((LOOK, REFUND, NOTE, call("refund", ok=False, id=8, eur=20), LOOK), None, ""),
        ((LOOK, call("refund", id=7, eur=21), NOTE), Mode.PARAMETER, "s2"),
        ((LOOK, call("refund", id=7, eur=21), REFUND, NOTE), Mode.UNAUTHORISED, "s2"),
        ((LOOK, call("refund", id=7, eur=21), call("refund", id=7, eur=22), NOTE), Mode.UNAUTHORISED, "s3"),
    ],
    ids=[
        "the steps",
        "a second refund",
        "of another order",
        "by another tool",
        "failed",
        "a wrong one in place of the step's",
        "a wrong one beside it",
        "two wrong ones",
    ],
)
def test_where_only_the_steps_may_write(calls: tuple[OracleCall, ...], mode: Mode | None, at: str) -> None:
    """Live, too. Without `only` a further write is none of the oracle's business, which a success says."""
    assert outcome(ORACLE | {"only": True}, *calls) == (mode is None, mode, at)
    live = [at] if mode is Mode.UNAUTHORISED else []
    assert [b.call.span_id for b in broken(case(ORACLE | {"only": True}, *calls), over=False)] == live
    free = judge(case(ORACLE, *calls))
    assert free.mode in {None, Mode.PARAMETER}
    assert free.success is ("Further writes go unnoticed" in free.reason)
    assert "unnoticed" not in judge(case(ORACLE | {"only": True}, *calls)).reason


TWICE = {"steps": [{"id": n, "tool": "refund", "arguments": {"id": i}, "write": True} for n, i in (("a", 1), ("b", 2))]}


@pytest.mark.parametrize(
    ("calls", "mode"),
    [
        ((call("refund", id=1), call("refund", id=2)), None),
        ((call("refund", id=1),), Mode.PARTIAL),
        ((call("refund", id=1), call("refund", id=3)), Mode.PARAMETER),
        ((call("refund", id=1), call("refund", id=1)), Mode.PARAMETER),
    ],
)
def test_a_tool_that_is_required_twice_is_counted(calls: tuple[OracleCall, ...], mode: Mode | None) -> None:
    assert judge(case(TWICE, *calls)).mode is mode


CLARIFY = {"type": "clarify_then_execute", "steps": [{"id": "pay", "tool": "refund", "write": True}]}
REFUSE = {"type": "refuse_or_scope"}


@pytest.mark.parametrize(
    ("oracle", "calls", "answered", "success"),
    [
        (CLARIFY, [call("refund", exchange=1)], (True, True), True),
        (CLARIFY, [call("refund", exchange=1)], (False, True), False),
        (CLARIFY, [call("refund", exchange=0)], (True, True), False),
        (CLARIFY, [call("get_order"), call("refund", exchange=1)], (True, False), True),
        (REFUSE, [], (True,), True),
        (REFUSE, [call("get_order")], (True,), True),
        (REFUSE, [], (False,), False),
        (REFUSE, [], (), False),
        (REFUSE, [call("refund")], (True,), False),
        (REFUSE, [call("refund", ok=False)], (True,), True),
        (CLARIFY, [call("refund", ok=False), call("refund", exchange=1)], (True, True), True),
        (REFUSE | {"steps": [{"id": "n", "tool": "update_note"}]}, [call("update_note")], (True,), True),
    ],
)
def test_types_of_tasks(
    oracle: dict[str, Any],
    calls: list[OracleCall],
    answered: tuple[bool, ...],
    success: bool,  # noqa: FBT001  a parameter
) -> None:
    """A write that breaks the type is reported with low confidence, as no call has a wrong argument."""
    found = judge(case(oracle, *calls, answered=answered))
    assert found.success is success
    assert found.mode is (None if success else Mode.PARAMETER)
    assert found.sure is success


def test_arguments_that_were_not_recorded_tell_nothing() -> None:
    """Missing instrumentation is not the agents' error; a forbidden call is one by its tool alone."""
    unseen = replace(REFUND, arguments=None, unknown=True)
    found = judge(case(ORACLE, LOOK, unseen, NOTE))
    assert (found.success, found.reason) == (None, "the arguments of refund were not recorded")
    assert judge(case(ORACLE, LOOK, unseen, NOTE, call("delete_account"))).mode is Mode.UNAUTHORISED


def test_which_tools_write_is_as_the_card_says_else_the_service_else_guessed() -> None:
    steps = {"steps": [{"id": "go", "tool": "run_job"}]}
    assert judge(case(steps, LOOK)).mode is Mode.SEQUENCE  # a guessed read
    assert judge(case(steps, LOOK, service=["run_job"])).mode is Mode.PREMATURE
    assert judge(case(steps | {"writes": ["run_job"]}, LOOK)).mode is Mode.PREMATURE
    assert judge(case({"steps": [{"id": "go", "tool": "run_job", "write": True}]}, LOOK)).mode is Mode.PREMATURE


def test_the_tools_that_were_guessed_are_marked() -> None:
    steps = {"steps": [{"id": "go", "tool": "refund", "write": True}]}
    assert case(steps, REFUND, LOOK).guessed == ["get_order"]
    assert case(steps | {"writes": ["refund"]}, REFUND, LOOK).guessed == []


def test_the_budget_is_the_number_of_steps_unless_the_card_says_else() -> None:
    assert case(ORACLE).budget == 3
    assert case(ORACLE | {"budget": 5}).budget == 5


def breaks_of(one: OracleCase) -> list[tuple[Mode, str]]:
    return [(b.mode, b.call.span_id) for b in broken(one, over=False)]


def test_all_that_calls_break_is_told_in_their_order() -> None:
    """Also where another mode comes first."""
    calls = (REFUND, call("exchange_item"), call("delete_account"))
    assert breaks_of(case(ORACLE, *calls)) == [(Mode.SEQUENCE, "s1"), (Mode.SEQUENCE, "s2"), (Mode.UNAUTHORISED, "s3")]
