"""A trace that grows: rebuilt from any of its spans, in any order, as if from scratch; unchanged runs stay the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_trace import large_trace
from sizes import sized
from trajectories import fixture_spans, normalise_all

from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, KnownRuns, TraceState

_OPERATION = "gen_ai.operation.name"


@st.composite
def long_runs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns of one agent: calls of a model and of tools, in steps or not, recorded twice, early, late, or nested."""
    above = draw(st.sampled_from(["gone", "agent", "agent", "chain"]))
    found = [{"id": "root", "start": 0, "end": 900, "attributes": _kind("CHAIN")}]
    if above == "agent":
        found.append({"id": "agent", "parent": "root", "start": 1, "end": 900, "attributes": _kind("AGENT", "manager")})
    if above == "chain":
        found.append({"id": "chain", "parent": "root", "start": 1, "end": 900, "attributes": _kind("CHAIN")})
    odd = draw(st.sampled_from([0, 0, 5, 30]))  # percentage of turns that are not like most
    steps = draw(st.integers(0, 2))
    for turn in range(draw(st.integers(6, 24))):
        found += _turn(draw, turn, above, odd, steps)
    return found


def _kind(kind: str, agent: str = "") -> dict[str, Any]:
    named = {"agent.name": agent, "input.value": "Find it out."} if agent else {}
    return {"openinference.span.kind": kind, **named}


def _turn(draw: st.DrawFn, turn: int, run: str, odd: int, steps: int) -> Iterator[dict[str, Any]]:
    """`steps`: how many that stand around the calls of a turn."""

    def rarely() -> bool:
        return draw(st.integers(0, 99)) < odd

    at, holder = 10 + turn * 10, run
    for number in range(steps if not rarely() else draw(st.integers(0, 2))):
        above, holder = holder, f"step{turn}.{number}"
        name = draw(st.sampled_from(["search", "researcher"])) if rarely() else "Step"
        attributes = _kind("CHAIN", draw(st.sampled_from(["", "manager", name])) if rarely() else "")
        yield {"id": holder, "parent": above, "name": name, "start": at, "end": at + 9, "attributes": attributes}
    call_id = f"call{turn if not rarely() else draw(st.integers(0, 24))}" if draw(st.booleans()) else ""
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    llm = {
        **_kind("LLM"),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": f"Now find number {turn}.",
        "llm.output_messages.0.message.content": draw(st.sampled_from(["", "I shall look that up."])),
        f"{call}.function.name": draw(st.sampled_from(["search", "researcher"])),
        f"{call}.function.arguments": '{"query": "Elbe"}',
        f"{call}.id": call_id,
    }
    if turn:
        sent = {"role": "tool", "content": f"found {turn - 1}", "tool_call_id": f"call{turn - 1}"}
        llm |= {f"llm.input_messages.1.message.{key}": value for key, value in sent.items()}
    outer = _kind("LLM") if rarely() else llm
    yield {"id": f"l{turn}", "parent": holder, "start": at, "end": at + 2, "scope_name": "one", "attributes": outer}
    if odd and draw(st.integers(0, 4)) == 0:  # the SDK's own record of the call, beside it or below it
        double: dict[str, Any] = {
            "id": f"d{turn}",
            "parent": draw(st.sampled_from([holder, f"l{turn}"])),
            "start": at + draw(st.integers(0, 4)),
        }
        yield {
            **double,
            "end": max(at + 2, double["start"] + 1),
            "scope_name": "two",
            "attributes": llm if draw(st.booleans()) else _kind("LLM"),
        }
    for number in range(draw(st.integers(0, 3))):
        start = at + 2 + number
        if rarely():
            start += draw(st.integers(-12, 40))
        kind = draw(st.sampled_from(["TOOL", "TOOL", "TOOL", "AGENT", "CHAIN", "LLM", "PLAN"])) if rarely() else "TOOL"
        below = f"l{draw(st.integers(0, turn))}" if rarely() else f"t{turn}.0" if number and rarely() else holder
        below = run if rarely() else below  # beside the step
        attributes = _kind(kind, "researcher" if kind == "AGENT" else "") if kind != "PLAN" else {_OPERATION: "plan"}
        if kind == "TOOL":
            attributes |= {"tool.name": "search", "input.value": '{"query": "Elbe"}', "output.value": "found"}
            attributes |= {"tool.id": call_id} if draw(st.booleans()) else {}
        end = start + draw(st.sampled_from([2, 2, 2, 30]))
        yield {"id": f"t{turn}.{number}", "parent": below, "start": start, "end": end, "attributes": attributes}


def _normalised(drawn: list[dict[str, Any]]) -> list[NormalizedSpan]:
    return normalise_all(fixture_spans({"spans": drawn})[0])


@settings(max_examples=sized(40, 2000), deadline=None)
@given(long_runs(), st.randoms(use_true_random=False), st.sampled_from([0, 4, 60, 1000]), st.integers(1, 17))
def test_batches_of_a_long_run(drawn: list[dict[str, Any]], chance: random.Random, late: int, size: int) -> None:
    """Spans late, in any order, replaced when they end, and moved below another: one outcome, at each pass."""
    whole = _normalised(drawn)
    begun = [
        replace(s, raw=replace(s.raw, pending=True, end=s.raw.start), output_messages=(), tool_result=None)
        for s in whole
        if chance.random() < 0.2
    ]
    moved = [replace(s, raw=replace(s.raw, parent_span_id=chance.choice(whole).span_id)) for s in whole[-2:]]
    arriving = sorted([*begun, *whole], key=lambda s: (s.raw.end + chance.randint(0, late), not s.raw.pending))
    known, spans, before = KnownRuns(), dict[str, NormalizedSpan](), dict[str, AgentRun]()
    for first in range(0, len(arriving) + len(moved), size):
        for span in [*arriving, *moved][first : first + size]:
            if not (span.raw.pending and span.span_id in spans):
                spans[span.span_id] = span
        for state in (TraceState.OPEN, TraceState.SETTLED)[: 1 + (first % 3 == 0)]:
            trace = rebuild(spans.values(), state=state, known=known)
            assert trace == rebuild([*spans.values()][::-1], state=state)
            after = {run.id: run for run in trace.runs}
            assert after == {run_id: one.run for run_id, one in known.items()}
            for run in trace.runs:
                below = [other for other in trace.runs if other.parent_id == run.id]
                assert before.get(run.id) is not run or all(before.get(other.id) is other for other in below)
            before = after


def test_only_the_run_that_changes_and_those_above_it_are_new_objects() -> None:
    """Also when the trace settles: a run that has ended is no other for it."""
    spans = [normalize(span) for span in sorted(large_trace(1000, text=20), key=lambda span: span.end)]
    known, before = KnownRuns(), dict[str, AgentRun]()
    for count in [*range(50, len(spans), 50), len(spans)]:
        runs = rebuild(spans[:count], state=TraceState.OPEN, known=known).runs
        assert sum(before.get(run.id) is not run for run in runs) <= 3
        before = {run.id: run for run in runs}
    assert len(before) == 11
    assert all(before[run.id] is run for run in rebuild(spans, known=known).runs)
    assert rebuild(spans[:50], known=known).runs == rebuild(spans[:50]).runs
    assert len(known) == 2, "those that are gone are forgotten"


@pytest.mark.parametrize("last", ["agent", "l4", ""])
@pytest.mark.parametrize(
    ("name", "agent", "asked", "runs"),
    [
        ("Step", "", "", {"manager"}),
        ("researcher", "researcher", "", {"manager", "researcher"}),  # hinted
        ("researcher", "", "researcher", {"manager", "researcher"}),  # called like an agent that was asked for
        ("researcher", "", "writer", {"manager"}),
    ],
)
def test_a_step_that_may_be_an_agent(name: str, agent: str, asked: str, runs: set[str], last: str) -> None:
    """One among many steps, also where it, its call or the agent comes last."""
    drawn: list[dict[str, Any]] = [{"id": "agent", "start": 0, "end": 900, "attributes": _kind("AGENT", "manager")}]
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    for turn in range(9):
        at, is_odd = 10 + 10 * turn, turn == 6
        step = {"id": f"s{turn}", "parent": "agent", "start": at, "end": at + 9, "name": name if is_odd else "Step"}
        tool = asked if turn == 4 and asked else "search"
        said = {"llm.output_messages.0.message.content": "Now.", f"{call}.name": tool, f"{call}.arguments": "{}"}
        drawn += [
            step | {"attributes": _kind("CHAIN", agent if is_odd else "")},
            {"id": f"l{turn}", "parent": f"s{turn}", "start": at, "end": at + 2, "attributes": _kind("LLM") | said},
            {"id": f"t{turn}", "parent": f"s{turn}", "start": at + 3, "end": at + 4, "attributes": _kind("TOOL")},
        ]
    drawn = [span for span in drawn if span["id"] != "t4"]  # without its call that step is empty
    spans, known = sorted(_normalised(drawn), key=lambda s: s.span_id == last), KnownRuns()
    for count in range(1, len(spans) + 1):
        assert rebuild(spans[:count], known=known) == rebuild(spans[:count])
    assert {run.name for run in rebuild(spans, known=known).runs} == runs


def _tools_by_call(drawn: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The call and the tool of each turn, the same for growing and whole."""
    spans, known = _normalised(drawn), KnownRuns()
    for count in range(1, len(spans) + 1):
        grown = rebuild(spans[:count], known=known)
        assert grown == rebuild(spans[:count])
    turns = grown.runs[0].turns
    return [(t.llm.span_id if t.llm else "", "".join(c.span.span_id for c in t.tool_calls if c.span)) for t in turns]


def test_a_call_recorded_twice_and_a_tool_before_the_record_that_counts() -> None:
    """The tool began before it, so it is of the turn before, though the outer record of the call had begun."""
    drawn: list[dict[str, Any]] = [{"id": "agent", "start": 0, "end": 900, "attributes": _kind("AGENT", "manager")}]
    said = {**_kind("LLM"), "llm.output_messages.0.message.content": "I shall look that up."}
    tool = {**_kind("TOOL"), "tool.name": "search", "output.value": "found"}
    for turn in range(12):
        at = 10 + 10 * turn
        drawn += [
            {"id": f"o{turn}", "parent": "agent", "start": at, "end": at + 5, "attributes": _kind("LLM")},
            {"id": f"i{turn}", "parent": f"o{turn}", "start": at + 3, "end": at + 4, "attributes": said},
            {"id": f"t{turn}", "parent": "agent", "start": at + 2, "end": at + 6, "attributes": tool},
        ]
    assert _tools_by_call(drawn) == [("", "t0"), *((f"i{i}", f"t{i + 1}") for i in range(11)), ("i11", "")]


@pytest.mark.parametrize(("step", "call"), [(0, 4), (4, 0)], ids=["after the step", "after the call, before the step"])
def test_a_tool_between_a_step_and_its_call(step: int, call: int) -> None:
    """It is of the turn whose call began last before it, also where clocks differ."""
    drawn: list[dict[str, Any]] = [{"id": "agent", "start": 0, "end": 900, "attributes": _kind("AGENT", "manager")}]
    tool = {**_kind("TOOL"), "tool.name": "search", "output.value": "found"}
    for turn in range(12):
        at = 10 + 10 * turn
        drawn += [
            {"id": f"s{turn}", "parent": "agent", "start": at + step, "end": at + 9, "attributes": _kind("CHAIN")},
            {"id": f"t{turn}", "parent": "agent", "start": at + 2, "end": at + 3, "attributes": tool},
            {"id": f"l{turn}", "parent": f"s{turn}", "start": at + call, "end": at + 6, "attributes": _kind("LLM")},
        ]
    of_the_turn_before = [("", "t0"), *((f"l{i}", f"t{i + 1}") for i in range(11)), ("l11", "")]
    assert _tools_by_call(drawn) == (of_the_turn_before if call else [(f"l{i}", f"t{i}") for i in range(12)])
