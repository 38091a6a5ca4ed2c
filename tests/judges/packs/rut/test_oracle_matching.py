"""Calls matched to steps: arguments, one to one, the earliest calls; and edges of order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import call, case

from tracejury.judges.packs.cards.oracle import MOST_STEPS, OracleStep, ToolPattern
from tracejury.judges.packs.cards.writes import guess
from tracejury.judges.packs.rut.calls import OracleCall
from tracejury.judges.packs.rut.matching import assign, fitting, matches
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import Mode, broken

SCHEMA = {"type": "object", "properties": {"id": {}, "limit": {"default": 10}, "tags": {}}, "required": ["id"]}


def fits(wanted: dict[str, Any], given_: Any, *, schema: dict[str, Any] | None = None, **more: Any) -> bool:
    step = OracleStep.model_validate({"id": "s", "tool": "get", "arguments": wanted} | more)
    made = OracleCall("get", given_, 1, schema=schema or {})
    return matches(step, made)


@pytest.mark.parametrize(
    ("wanted", "given_", "same"),
    [
        ({"id": 1}, {"id": 1.0}, True),
        ({"id": 1.0}, {"id": 1}, True),
        ({"id": 1}, {"id": "1"}, False),
        ({"id": 1}, {"id": True}, False),
        ({"id": False}, {"id": 0}, False),
        ({"id": {"a": [1, {"b": 2}]}}, {"id": {"a": [1.0, {"b": 2}]}}, True),
        ({"id": {"a": 1}}, {"id": {"a": 1, "b": 2}}, False),
        ({"id": [1, 2]}, {"id": [2, 1]}, False),
        ({"id": "Ada"}, {"id": "ada"}, False),
        ({"id": 1}, {}, False),
        ({"id": None}, {}, True),
        ({"id": ""}, {}, True),
        ({"id": []}, {"id": None}, True),
        ({"id": 0}, {}, False),
        ({"id": False}, {}, False),
        ({}, {"id": None}, True),
        ({}, {"id": 1}, False),
        ({}, {}, True),
        ({"note": "x"}, {"note": "y"}, True),
        ({"reason": "x"}, {}, True),
        ({}, {"comment": "y", "message": "z", "changed_by": "me"}, True),
        ({"requested_at": "10:00"}, {"requested_at": "10:01"}, True),
        ({"requested_at": "10:00"}, {}, False),
        ({}, {"requested_at": "10:01"}, True),
        ({"id": 1}, None, False),
        ({}, None, False),
    ],
)
def test_arguments_without_a_schema(wanted: dict[str, Any], given_: Any, same: bool) -> None:  # noqa: FBT001  a parameter
    """None: no JSON object."""
    assert fits(wanted, given_) is same


@pytest.mark.parametrize(
    ("wanted", "given_", "same"),
    [
        ({"id": 1, "limit": 10}, {"id": 1}, True),
        ({"id": 1}, {"id": 1, "limit": 10}, True),
        ({"id": 1}, {"id": 1, "limit": 10.0}, True),
        ({"id": 1, "limit": 5}, {"id": 1}, False),
        ({"id": 1}, {"id": 1, "limit": 5}, False),
        ({"id": 1, "limit": 10}, {"id": 1, "limit": None}, False),
        ({"id": None}, {}, False),
        ({"id": None}, {"id": None}, True),
        ({"id": ""}, {"id": None}, False),
        ({"id": 1, "tags": []}, {"id": 1, "tags": None}, True),
    ],
)
def test_arguments_by_the_schema_of_the_tool(wanted: dict[str, Any], given_: Any, same: bool) -> None:  # noqa: FBT001  a parameter
    assert fits(wanted, given_, schema=SCHEMA) is same


@pytest.mark.parametrize("schema", [{"required": "id", "properties": []}, {"properties": {"id": None}}, {}])
def test_a_schema_that_is_none_says_nothing(schema: dict[str, Any]) -> None:
    assert fits({"id": 1, "tags": None}, {"id": 1}, schema=schema)


@pytest.mark.parametrize(
    ("rule", "given_", "same"),
    [
        ("ignore", {"q": "b"}, True),
        ("ignore", {}, True),
        ("present", {"q": "b"}, True),
        ("present", {"q": ""}, False),
        ("present", {}, False),
        ("equal", {"q": "b"}, False),
        ("equal", {"q": "a"}, True),
    ],
)
def test_a_rule_for_an_argument(rule: str, given_: dict[str, Any], same: bool) -> None:  # noqa: FBT001  a parameter
    assert fits({"q": "a"}, given_, match={"q": rule}) is same


def test_a_rule_overrides_what_a_name_says() -> None:
    assert not fits({"note": "x"}, {"note": "y"}, match={"note": "equal"})
    assert fits({}, {"limit": 3}, match={"limit": "ignore"})


def test_a_call_that_failed_or_is_of_another_tool_matches_nothing() -> None:
    step = OracleStep(id="s", tool="get", equivalent=({"tool": "find", "arguments": {"q": 1}},))  # type: ignore[arg-type]
    assert matches(step, call("get"))
    assert not matches(step, call("get", ok=False))
    assert not matches(step, call("Get"))
    assert matches(step, call("find", q=1))
    assert not matches(step, call("find", q=2))


def steps(*patterns: tuple[str, str, dict[str, Any]]) -> list[OracleStep]:
    return [OracleStep(id=name, tool=tool, arguments=arguments) for name, tool, arguments in patterns]


def assigned(wanted: list[OracleStep], made: list[OracleCall]) -> dict[str, int]:
    return {wanted[step].id: at for step, at in assign(fitting(wanted, made)).items()}


ANY = {"id": "any", "tool": "get", "arguments": {"q": 1}, "match": {"q": "ignore"}}


def test_as_many_steps_as_possible_have_a_call_and_the_earliest_calls_win() -> None:
    narrow, wide = OracleStep(id="b", tool="get", arguments={"q": 1}), OracleStep.model_validate(ANY | {"id": "a"})
    assert assigned([wide, narrow], [call("get", q=1), call("get", q=2)]) == {"a": 1, "b": 0}
    assert assigned([wide, narrow], [call("get", q=2), call("get", q=1)]) == {"a": 0, "b": 1}
    assert assigned([wide], [call("get", q=3), call("get", q=4)]) == {"a": 0}
    assert assigned([narrow], [call("get", q=3), call("get", q=1), call("get", q=1)]) == {"b": 1}
    assert assigned([narrow, wide], []) == {}


@given(st.lists(st.integers(0, 3), max_size=5), st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=4))
def test_no_assignment_is_larger_and_none_as_large_has_earlier_calls(made: list[int], wanted: list[set[int]]) -> None:
    """Against all assignments there are."""
    tools = [
        OracleStep.model_validate({"id": str(n), "tool": "-", "equivalent": [{"tool": str(t)} for t in sorted(w)]})
        for n, w in enumerate(wanted)
    ]
    found = assigned(tools, [call(str(t)) for t in made])
    assert all(made[at] in wanted[int(step)] for step, at in found.items())
    assert len(set(found.values())) == len(found)

    def all_sets(at: int, free: frozenset[int]) -> set[tuple[int, ...]]:
        if at == len(made):
            return {()}
        rest = set(all_sets(at + 1, free))
        for step in free:
            if made[at] in wanted[step]:
                rest |= {(at, *more) for more in all_sets(at + 1, free - {step})}
        return rest

    best = min(all_sets(0, frozenset(range(len(wanted)))), key=lambda used: (-len(used), used))
    assert tuple(sorted(found.values())) == best


READ_TWICE = {
    "steps": [
        {"id": "a_check", "tool": "get", "arguments": {"q": 1}},
        {"id": "b_pay", "tool": "pay", "write": True},
        {"id": "z_look", "tool": "get", "arguments": {"q": 1}},
    ],
    "order": [["z_look", "b_pay"], ["b_pay", "a_check"]],
}


def test_of_equal_steps_the_one_that_must_come_first_has_the_first_call() -> None:
    assert judge(case(READ_TWICE, call("get", q=1), call("pay"), call("get", q=1))).success


EDGE: dict[str, Any] = {
    "steps": [{"id": "a", "tool": "get", "arguments": {"q": 1}}, {"id": "b", "tool": "pay", "write": True}],
    "order": [["a", "b"]],
}
WRITES: dict[str, Any] = {
    "steps": [
        {"id": "a", "tool": "add", "arguments": {"q": 1}, "write": True},
        {"id": "b", "tool": "pay", "arguments": {"q": 1}, "write": True},
    ],
    "order": [["a", "b"]],
}


@pytest.mark.parametrize(
    ("oracle", "calls", "breaks"),
    [
        (EDGE, [call("get", 1, q=1), call("pay", 2)], False),
        (EDGE, [call("get", 2, q=1), call("pay", 1)], True),
        (EDGE, [call("get", 1, q=1), call("pay", 1)], True),
        (EDGE, [call("pay", 1)], True),
        (EDGE, [call("get", 1, q=2), call("pay", 2)], False),
        (EDGE, [call("get", 1, ok=False, q=1), call("pay", 2)], False),
        (EDGE, [call("get", 1, q=1)], False),
        (EDGE, [], False),
        (EDGE, [call("get", 1, q=1), call("pay", 2), call("get", 3, q=1)], False),
        (WRITES, [call("add", 1, q=2), call("pay", 2, q=1), call("add", 3, q=1)], True),
        (WRITES, [call("pay", 1, q=2), call("add", 2, q=1), call("pay", 3, q=1)], False),
        (WRITES, [call("pay", 1, q=2), call("add", 2, q=1)], True),
        (WRITES, [call("add", 1, q=2), call("pay", 2, q=2)], False),
    ],
    ids=[
        "kept",
        "broken",
        "at the same time",
        "never before",
        "another read stands in",
        "a failed read stands in",
        "no after",
        "no call",
        "read again afterwards",
        "a write has one call",
        "the call that matches counts",
        "a wrong after stands in",
        "both stand in",
    ],
)
def test_edges(oracle: dict[str, Any], calls: list[OracleCall], breaks: bool) -> None:  # noqa: FBT001  a parameter
    assert bool(broken(case(oracle, *calls), over=False)) is breaks


def test_a_call_is_not_that_of_two_steps() -> None:
    """The search is the only call of `b`, so that `a` has none before the payment."""
    oracle = {
        "steps": [
            {"id": "a", "tool": "get", "arguments": {"q": 1}, "equivalent": [{"tool": "find"}]},
            {"id": "b", "tool": "find"},
            {"id": "c", "tool": "pay", "write": True},
        ],
        "order": [["a", "c"]],
    }
    found = judge(case(oracle, call("find", 1), call("pay", 2), call("get", 3, q=1)))
    assert (found.mode, found.reason) == (Mode.SEQUENCE, "pay (c) comes before get (a).")
    assert judge(case(oracle, call("find", 1), call("get", 2, q=1), call("pay", 3))).success


@pytest.mark.parametrize(
    "calls", [[call("get", 1, q=2), call("pay", 2, q=1)], [call("get", 1, q=1), call("pay", 2, q=2)]]
)
def test_strict_edges_need_a_match_at_both_ends(calls: list[OracleCall]) -> None:
    oracle = EDGE | {"steps": [EDGE["steps"][0], {"id": "b", "tool": "pay", "arguments": {"q": 1}, "write": True}]}
    assert not broken(case(oracle, *calls), over=True)
    assert broken(case(oracle | {"strict_edges": True}, *calls), over=True)
    assert not broken(case(oracle | {"strict_edges": True}, *calls), over=False)


def test_parallel_calls_break_no_edge_by_being_listed_in_another_order() -> None:
    first, second = call("get", 1, q=1), replace(call("pay", 2), start=2)
    assert judge(case(EDGE, first, second)).success
    assert judge(case(EDGE, second, first)).success


@pytest.mark.parametrize(
    ("tool", "writes"),
    [(f"{verb}_order", True) for verb in ("add", "assign", "block", "cancel", "complete", "create", "delete", "force")]
    + [(f"{verb}Order", True) for verb in ("release", "remove", "reschedule", "schedule", "set", "unassign", "update")]
    + [(name, False) for name in ("get_schedule", "list_blocks", "search", "order_status", "", "x")]
    + [("shop.refund", True), ("delete-user", True)],
)
def test_writes_guessed_by_verb(tool: str, writes: bool) -> None:  # noqa: FBT001  a parameter
    assert guess(tool) is writes


def test_an_endless_agent_and_the_longest_card_are_matched() -> None:
    """Each call that comes takes the way of all others: as deep as there are steps."""
    wide = [
        OracleStep(id=f"{n:03}", tool=f"t{n}", equivalent=(ToolPattern(tool=f"t{n + 1}"),)) for n in range(MOST_STEPS)
    ]
    calls = [call(f"t{n}", n) for n in range(MOST_STEPS, 0, -1)]
    assert len(assigned(wide, [*calls, call("t0"), *[call("t1")] * 3000])) == MOST_STEPS
