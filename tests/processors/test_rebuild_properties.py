"""Rebuilding any set of spans: nothing lost, nothing twice, no order, no depth limit."""

from __future__ import annotations

from typing import Any

import pytest
from forests import entries
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from trajectories import fixture_spans, misplaced, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import TraceState


def normalised(spans: list[dict[str, Any]]) -> list[NormalizedSpan]:
    return normalise_all(fixture_spans({"spans": spans})[0])


@settings(max_examples=sized(60, 300))
@given(st.lists(entries(), max_size=14), st.randoms(use_true_random=False), st.sampled_from(TraceState))
def test_any_forest_in_any_order(spans: list[dict[str, Any]], chance: Any, state: TraceState) -> None:
    """Cycles, duplicates, lost parents, ends before starts: one outcome, and every span has one place."""
    given_order = normalised(spans)
    trace = rebuild(given_order, state=state)
    assert set(trace.spans) == {s["id"] for s in spans}
    assert misplaced(trace) == []
    mixed = given_order + given_order[:3]
    chance.shuffle(mixed)
    assert rebuild(mixed, state=state) == trace


@settings(max_examples=sized(40, 200))
@given(st.lists(entries(), max_size=14))
def test_runs_form_a_forest(spans: list[dict[str, Any]]) -> None:
    """Each run stands after the one that started it, in that one's turns once, and is a sub-agent exactly then."""
    trace = rebuild(normalised(spans))
    known: set[str] = {""}
    for run in trace.runs:
        assert run.parent_id in known
        assert (run.role == "sub-agent") == bool(run.parent_id)
        known.add(run.id)
        above = trace.run(run.parent_id)
        places = [t.index for t in above.turns for i in t.sub_run_ids if i == run.id] if above else []
        assert places == ([run.parent_turn] if above else [])
        assert [t.index for t in run.turns] == list(range(len(run.turns)))
        calls = [c for t in run.turns for c in t.tool_calls]
        assert all(c.executed for c in calls if c.span is not None or c.sub_run_id)
    assert len(known) == len(trace.runs) + 1


@pytest.mark.parametrize("kind", ["CHAIN", "LLM", "TOOL", "AGENT", "EVALUATOR"])
def test_depth_has_no_limit(kind: str) -> None:
    """Ten thousand spans, each the parent of the next: walked, not recursed into."""
    spans = [
        {"id": f"s{i}", "parent": f"s{i - 1}", "attributes": {"openinference.span.kind": kind}} for i in range(10_000)
    ]
    spans[0]["attributes"] = {"openinference.span.kind": "AGENT", "agent.name": "a"}
    trace = rebuild(normalised(spans))
    assert misplaced(trace) == []
    assert len(trace.spans) == 10_000


@pytest.mark.parametrize("kinds", [("LLM",), ("AGENT", "LLM"), ("TOOL", "AGENT"), ("AGENT", "CHAIN", "LLM")])
def test_width_has_no_limit(kinds: tuple[str, ...]) -> None:
    """Six thousand spans side by side that all ask for one another: nothing is lost."""
    asked = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    prompt = "llm.input_messages.0.message"
    spans = [{"id": "root", "end": 9_000, "attributes": {"openinference.span.kind": "CHAIN"}}]
    for i in range(6_000):
        kind = kinds[i % len(kinds)]
        attributes = {"openinference.span.kind": kind, "agent.name": f"a{i % 5}", "tool.name": "ask_a1"}
        if kind == "LLM":
            attributes = {"openinference.span.kind": kind, f"{asked}.name": f"transfer_to_a{i % 3}"}
            attributes |= {f"{prompt}.role": "system", f"{prompt}.content": f"You are a{i % 3}."}
        spans.append({"id": f"s{i}", "parent": "root", "start": i, "attributes": attributes})
    trace = rebuild(normalised(spans))
    assert misplaced(trace) == []
    assert len(trace.spans) == 6_001


def test_nothing_gives_an_empty_trace() -> None:
    """Before the first span there is nothing, and that is no error."""
    trace = rebuild([], state=TraceState.OPEN)
    assert (trace.trace_id, trace.runs, trace.remainder, trace.spans) == ("", (), (), {})
