"""What holds of every oracle and every session."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from oracles import call, case

from tracejury.judges.packs.cards.oracle import Oracle
from tracejury.judges.packs.rut.calls import OracleCall
from tracejury.judges.packs.rut.oracle_case import OracleCase
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import broken

READS, WRITES = ("get_a", "get_b", "find_c"), ("set_a", "set_b", "add_c")


def made(tool: str, q: int, start: int, failed: int) -> OracleCall:
    return call(tool, start, ok=failed > 0, q=q)


CALLS = st.lists(
    st.builds(made, st.sampled_from(READS + WRITES), st.integers(0, 1), st.integers(1, 6), st.integers(0, 3)),
    max_size=7,
)


@st.composite
def oracles(draw: st.DrawFn) -> dict[str, Any]:
    """An oracle that is sound, of few tools, so that sessions often meet it."""
    tools = draw(st.lists(st.sampled_from(READS + WRITES), min_size=1, max_size=4))
    steps: list[dict[str, Any]] = [
        {"id": f"s{n}", "tool": tool, "arguments": {"q": draw(st.integers(0, 1))}} for n, tool in enumerate(tools)
    ]
    for step in steps:
        if step["tool"] in READS and draw(st.booleans()):
            step["equivalent"] = [{"tool": draw(st.sampled_from(READS)), "arguments": {"q": 1}}]
    pairs = list(combinations(draw(st.permutations([step["id"] for step in steps])), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    others = sorted({*READS, *WRITES} - {*tools})
    oracle: dict[str, Any] = {"steps": steps, "order": edges, "strict_edges": draw(st.booleans())}
    oracle["only"] = draw(st.booleans())
    if draw(st.booleans()) and others:
        oracle["forbidden"] = [{"tool": draw(st.sampled_from(others)), "arguments": {"q": 1}}]
        oracle["exclusive"] = [(draw(st.sampled_from(others)), tools[0])]
    return oracle


def judged(oracle: dict[str, Any], calls: list[OracleCall]) -> OracleCase:
    ordered = sorted((replace(c, span_id=f"s{n}") for n, c in enumerate(calls)), key=lambda c: c.order)
    return case(oracle, *ordered)


@given(oracles(), CALLS)
def test_a_success_has_no_mode_and_a_failure_has_one(oracle: dict[str, Any], calls: list[OracleCall]) -> None:
    found = judge(judged(oracle, calls))
    assert found.success is (found.mode is None)


@given(oracles(), CALLS, st.sampled_from(READS), st.integers(0, 1), st.integers(0, 7), st.booleans())
def test_a_read_that_is_allowed_never_turns_success_into_failure(
    oracle: dict[str, Any],
    calls: list[OracleCall],
    tool: str,
    q: int,
    at: int,
    to_the_letter: bool,  # noqa: FBT001  a parameter
) -> None:
    """Whether it is that of a step or not. The session is made of the steps, so that it often succeeds."""
    steps = Oracle.model_validate(oracle).ordered
    meant = [call(step.tool, n, **step.arguments) for n, step in enumerate(steps, 1)]
    session = meant if to_the_letter else calls
    before = judge(judged(oracle, session))
    forbidden = any(p["tool"] == tool for p in oracle.get("forbidden", ()))
    paired = any(tool in pair for pair in oracle.get("exclusive", ()))
    if before.success and not forbidden and not paired:
        assert judge(judged(oracle, [*session, call(tool, at, q=q)])).success


@given(oracles(), CALLS, st.randoms(use_true_random=False))
def test_the_order_of_the_card_changes_nothing(oracle: dict[str, Any], calls: list[OracleCall], any_: Random) -> None:
    shuffled = {**oracle}
    for key in ("steps", "order", "forbidden", "exclusive"):
        shuffled[key] = any_.sample(list(oracle.get(key, ())), len(oracle.get(key, ())))
    one, other = judged(oracle, calls), judged(shuffled, calls)
    assert judge(one) == judge(other)
    for over in (True, False):
        assert broken(one, over=over) == broken(other, over=over)


@given(oracles(), CALLS)
def test_forbidden_calls_and_broken_pairs_are_never_mended(oracle: dict[str, Any], calls: list[OracleCall]) -> None:
    """So a webhook stops the agent for nothing only where an edge is mended."""
    whole = judged(oracle | {"order": []}, calls)
    so_far = replace(whole, calls=whole.calls[: len(calls) // 2])
    assert {b.call.span_id for b in broken(so_far, over=False)} <= {b.call.span_id for b in broken(whole, over=True)}
