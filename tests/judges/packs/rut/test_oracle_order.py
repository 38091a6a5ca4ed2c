"""The order of steps: of writes through the reads between them, against all assignments that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import call, case

from tracejury.judges.packs.cards.oracle import MOST_STEPS, Oracle
from tracejury.judges.packs.rut.calls import OracleCall
from tracejury.judges.packs.rut.matching import matches
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import Mode, broken


def step(name: str, tool: str, *equivalent: str, **more: Any) -> dict[str, Any]:
    found = {"id": name, "tool": tool, "equivalent": [{"tool": one} for one in equivalent]}
    return found | ({"write": True} if tool.startswith(("set", "pay", "approve")) else {}) | more


APPROVED: dict[str, Any] = {
    "steps": [step("approve", "approve"), step("check", "look"), step("pay", "pay")],
    "order": [["approve", "check"], ["check", "pay"]],
}
CARDS: dict[str, tuple[dict[str, Any], str]] = {
    "write, read, write": (APPROVED, "look look look approve pay pay approve"),
    "two equal reads around a write": (
        {
            "steps": [step("a", "look"), step("b", "look"), step("w", "set"), step("v", "pay")],
            "order": [["a", "w"], ["w", "b"], ["b", "v"]],
        },
        "look look look set pay find set",
    ),
    "reads that two calls serve": (
        {
            "steps": [step("a", "look", "find"), step("b", "find", "list"), step("c", "list"), step("w", "set")],
            "order": [["a", "w"], ["b", "w"], ["a", "c"]],
        },
        "look find find list list set look",
    ),
    "a write for two reads and a longer way": (
        {
            "steps": [*(step(n, "look") for n in "abc"), step("v", "set"), step("w", "pay")],
            "order": [["a", "v"], ["v", "b"], ["b", "c"], ["c", "w"]],
        },
        "look look look set pay approve look",
    ),
    "equal writes": (
        {
            "steps": [step("one", "set"), step("two", "set"), step("read", "look")],
            "order": [["two", "read"], ["read", "one"]],
        },
        "set set look look set find",
    ),
}


def assignments(fits: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """All ways to give each step a call of its own. `fits`: by step, its calls."""
    if not fits:
        yield ()
        return
    for rest in assignments(fits[1:]):
        yield from ((one, *rest) for one in fits[0] if one not in rest)


def covering(oracle: Oracle, calls: Sequence[OracleCall]) -> list[tuple[int, ...]]:
    """All assignments whose writes are the earliest."""
    fits = [[n for n, one in enumerate(calls) if matches(wanted, one)] for wanted in oracle.steps]
    writes = [oracle.writing()(one.tool) for one in oracle.steps]
    found = [(sorted(n for write, n in zip(writes, way, strict=True) if write), way) for way in assignments(fits)]
    earliest = min(used for used, _ in found) if found else []
    return [way for used, way in found if used == earliest]


def in_order(oracle: Oracle, calls: Sequence[OracleCall]) -> bool:
    """The plain reference: whether one of them keeps all edges."""
    numbers = {one.id: n for n, one in enumerate(oracle.steps)}
    edges = [(numbers[a], numbers[b]) for a, b in oracle.order]
    return any(all(calls[way[a]].start < calls[way[b]].start for a, b in edges) for way in covering(oracle, calls))


def session(tools: Sequence[str]) -> list[OracleCall]:
    return [call(tool, at) for at, tool in enumerate(tools, 1)]


def on_the_way(oracle: Oracle, calls: Sequence[OracleCall]) -> bool:
    """Whether the session can still succeed: with all reads again, and the writes that it lacks."""
    writes = [one.id for one in oracle.steps if oracle.writing()(one.tool)]
    for lacking in range(len(writes) + 1):
        endings = [
            [call(one.tool, at) for at, one in enumerate(oracle.ordered, 100) if one.id in left or one.id not in writes]
            for left in combinations(writes, lacking)
        ]
        if whole := [[*calls, *more] for more in endings if covering(oracle, [*calls, *more])]:
            return any(in_order(oracle, one) for one in whole)
    raise AssertionError("all steps as they stand cover them")


@pytest.mark.parametrize("card", CARDS)
def test_all_orders_of_up_to_seven_calls(card: str) -> None:
    """Success at the close, and live whether it can still come, as the plain reference has it."""
    raw, tools = CARDS[card]
    oracle, pool = Oracle.model_validate(raw), tools.split()
    outcomes = set[tuple[bool, bool]]()
    for number in range(len(pool) + 1):
        for made in {*permutations(pool, number)}:
            calls = session(made)
            one = replace(case(raw, *calls), oracle=oracle)
            wanted = in_order(oracle, calls), on_the_way(oracle, calls)
            assert (judge(one).success, not broken(one, over=False)) == wanted, made
            outcomes.add(wanted)
    assert len(outcomes) == 3


TOOLS = ("look", "find", "set", "pay")


@st.composite
def cards(draw: st.DrawFn) -> dict[str, Any]:
    """Few tools, so that reads and writes are often of several steps."""
    steps = [step(str(n), draw(st.sampled_from(TOOLS))) for n in range(draw(st.integers(1, 5)))]
    for one in steps:
        if one["tool"] in {"look", "find"} and draw(st.booleans()):
            one["equivalent"] = [{"tool": draw(st.sampled_from(("look", "find", "list")))}]
    pairs = [[str(a), str(b)] for a in range(len(steps)) for b in range(a + 1, len(steps))]
    edges = draw(st.lists(st.sampled_from(pairs), unique_by=tuple)) if pairs else []
    return {"steps": steps, "order": edges, "strict_edges": draw(st.booleans())}


@given(cards(), st.lists(st.tuples(st.sampled_from((*TOOLS, "list")), st.integers(1, 7)), max_size=7))
def test_any_card_and_calls_at_any_time(card: dict[str, Any], made: list[tuple[str, int]]) -> None:
    """Also at the same time."""
    oracle = Oracle.model_validate(card)
    calls = sorted((call(tool, at) for tool, at in made), key=lambda one: one.order)
    one = case(card, *calls)
    assert judge(one).success is in_order(oracle, calls)
    if in_order(oracle, calls):
        assert not broken(one, over=True)
    assert bool(broken(one, over=False)) is not on_the_way(oracle, calls)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ("look pay approve look", "s2 pay (pay) comes before approve (approve)."),
        ("look approve pay look", "s3 pay (pay) comes before look (check)."),
        ("pay approve look pay", "s1 pay (pay) comes before approve (approve)."),
        ("approve look pay look", ""),
    ],
)
def test_two_different_reads_are_no_chain(tools: str, told: str, strict: bool) -> None:  # noqa: FBT001  a parameter
    """And a payment before the approval stays one, though another follows."""
    one = case(APPROVED | {"strict_edges": strict}, *session(tools.split()))
    assert judge(one).mode is (Mode.SEQUENCE if told else None)
    for over in (False, True):
        assert [f"{b.call.span_id} {b.reason}" for b in broken(one, over=over)] == [told][: bool(told)]


def test_an_endless_session_of_equal_reads_is_judged_in_time() -> None:
    """Any of the longest card's reads may be that of any call, each before a write of its own."""
    many = MOST_STEPS // 2
    reads = [step(f"r{n}", "look") for n in range(many)]
    writes = [step(f"w{n}", "set", arguments={"q": n}) for n in range(many)]
    oracle = {"steps": [*reads, *writes], "order": [[f"r{n}", f"w{n}"] for n in range(many)]}
    looks, made = [call("look", at) for at in range(1, 1000)], [call("set", 1000 + n, q=n) for n in range(many)]
    before = process_time()
    assert judge(case(oracle, *looks, *made)).success
    assert judge(case(oracle, *looks[: many - 1], *made, call("look", 2000))).mode is Mode.SEQUENCE
    assert process_time() - before < 60
