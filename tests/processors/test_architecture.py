"""The description of a service, derived from its trajectories: right, stable, bounded, and safe to show."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from small_traces import Did, Said, run, tool, trace
from trajectories import TRAIL, load

from tracejury.processors.architecture import DerivedArchitecture
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import Trace, TurnKind

PLAN = Said("p", "1. Search.", kind=TurnKind.PLAN)


def describe(traces: Iterable[Trace]) -> str:
    """The description of the service that `traces` show."""
    architecture = DerivedArchitecture()
    for one in traces:
        architecture = architecture.add(one)
    return architecture.text


def acted(number: int, name: str = "search") -> Said:
    return Said(f"a{number}", "", [Did(name, {"q": "x"}, "y", span_id=f"t{number}")])


def service(acts: int = 3, replans: int = 1) -> Trace:
    """A manager that plans again after every `acts` calls, with a helper, ending by its answer tool."""
    turns = [Said("f", "Facts.", kind=TurnKind.FACTS), PLAN]
    for i in range(replans + 1):
        turns += [*(acted(10 * i + j) for j in range(acts)), *([PLAN] if i < replans else [])]
    turns.append(Said("e", "", [Did("final_answer", {"answer": "42"}, None, executed=False)]))
    manager = run("m", *turns, name="boss", managed=("helper",), max_steps=12)
    sub = run("s", Said("l", "Found."), role="sub-agent", parent_id="m", name="helper", goal="Answer only in JSON.")
    return trace(manager, sub)


def test_what_a_service_is_made_of() -> None:
    """Who delegates to whom, tools, the pace of plans, limits, how runs end, what instructions say of the answer."""
    assert describe([service()]) == (
        "boss (manager); delegates to helper; tools: search; begins with facts, plan; "
        "plans again every 3 acting turns; at most 12 steps; ends by calling final_answer.\n"
        'helper (sub-agent); ends by a last reply without calls; its instructions say: "Answer only in JSON.".\n'
    )


def test_uneven_plans_are_given_as_a_range() -> None:
    """No pace is claimed where there is none."""
    text = describe([service(acts=1), service(acts=3), service(acts=5)])
    assert "plans again after 1 to 5 acting turns" in text


def test_a_tool_that_only_a_model_named_is_none() -> None:
    """What was given or ran counts."""
    one = trace(
        run("m", Said("l", "", [Did("made_up", {"a": 1}, None, executed=False)], tools=[]), tools=[tool("read")])
    )
    assert "tools: read." in describe([one])
    assert "made_up" not in describe([one])


def test_nothing_seen_nothing_said() -> None:
    """Before the first run there is no description."""
    assert describe([]) == ""
    assert describe([trace()]) == ""


@settings(max_examples=sized(20, 60))
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), max_size=8),
    st.randoms(use_true_random=False),
    st.integers(0, 8),
)
def test_neither_order_nor_grouping_matters(shapes: list[tuple[int, int]], chance: random.Random, cut: int) -> None:
    """Any split of the traces, taken apart and merged, says the same."""
    traces = [service(*shape) for shape in shapes]
    text = describe(traces)
    chance.shuffle(traces)
    left, right = DerivedArchitecture(), DerivedArchitecture()
    for one in traces[:cut]:
        left = left.add(one)
    for one in traces[cut:]:
        right = right.add(one)
    assert left.merge(right).text == right.merge(left).text == describe(traces) == text


def test_more_of_the_same_changes_nothing() -> None:
    """So that answers of judges stay in their cache."""
    assert describe([service()] * 3) == describe([service()] * 40) == describe([service()])


def test_a_rare_oddity_is_not_told() -> None:
    """One run in forty that ended otherwise does not change the text."""
    odd = trace(run("m", acted(1), acted(2, "once"), name="boss", max_steps=3))
    assert describe([*[service()] * 40, odd]) == describe([service()])


@settings(max_examples=sized(20, 100))
@given(
    st.lists(
        st.text(st.sampled_from('a\n\r\u2028\u202e\u200b<|>\ud800"S1 ') | st.characters(), max_size=300),
        min_size=1,
        max_size=6,
    )
)
def test_names_are_shown_on_one_line(names: list[str]) -> None:
    """Nothing that a name holds starts a line, hides, or passes for a token."""
    runs = [run(f"r{i}", acted(i, n), name=n, managed=(n,), goal=n) for i, n in enumerate(names)]
    text = describe([trace(one) for one in runs])
    assert len(text.splitlines()) <= len({n[:120] for n in names})
    assert text.isascii() or not any(c in text for c in "\u2028\u202e\u200b")
    assert "<|" not in text
    text.encode()


def test_it_stays_small_whatever_comes() -> None:
    """Thousands of agents and tools, long names: bounded in memory and text."""
    whole = DerivedArchitecture()
    for i in range(40):
        runs = [
            run(f"r{j}", acted(1, f"tool{i}-{j}" * 50), name=f"agent{i}-{j}" * 50, managed=("x" * 9000,))
            for j in range(40)
        ]
        whole = whole.add(trace(*runs))
    assert len(whole.agents) <= 24
    assert len(whole.text) <= 6_000
    many = whole.add(trace(run("r", tools=[tool(f"t{i}") for i in range(5_000)], name="a")))
    assert all(len(agent.facts) < 600 for agent in many.agents.values())


@pytest.mark.trail
def test_the_description_of_a_real_service() -> None:
    """What TRAIL's authors say of it: a code agent that plans, and a search agent that plans again every 4 steps."""
    if not TRAIL.exists():
        pytest.skip("the shared TRAIL traces are absent")
    traces = [rebuild(spans) for file in sorted(TRAIL.iterdir()) for spans in load(file).values()]
    text = describe(traces)
    manager, sub, outside = text.splitlines()
    assert manager.startswith("CodeAgent (manager); delegates to search_agent; acts by code that it writes; tools: ")
    assert "plans again every 4 acting turns" in sub
    assert "at most 20 steps" in sub
    assert 'stop sequences of plan calls: "<end_plan>"' in manager
    assert outside == "After the agents, an LLM call outside any agent words the final answer."
    assert len(text) < 1_600
    texts = [describe(traces[:n]) for n in range(10, len(traces) + 1)]
    assert len(set(texts)) < 6
