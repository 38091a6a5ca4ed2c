"""Real traces: the TRAIL corpus and captures of agent frameworks, whatever the order their spans come in."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from trajectories import FRAMEWORKS, TRAIL, load, misplaced

from tracejury.processors.delegation import addressee, is_handoff
from tracejury.processors.joining import rebuild_joined
from tracejury.processors.names import canonical
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import ToolCall, Trace, TraceState, TurnKind

CAPTURES = sorted(FRAMEWORKS.glob("*/*.zip"))
LABELS = sorted({path.parent.name for path in CAPTURES})
UNSTATED = {
    "langgraph_graph": "the manager's name",  # a graph's own name is all that is said of it
    "raw_oi": "which agent a call is of",
    "raw_v2": "which agent a call is of",
    "remote_noprop": "who called the remote agent",
}
"""What no capture of a program says, whatever is made of it."""

KILLED_UNNAMED = frozenset(
    {"autogen", "autogen_oi", "openai_agents", "raw_oi", "smolagents", "smolagents_code", "strands"}
)
"""Where only the agent span, which a killed program never sends, names the manager."""


@pytest.fixture(scope="module")
def corpus() -> list[list[NormalizedSpan]]:
    if not TRAIL.exists():
        pytest.skip("the shared TRAIL traces are absent")
    return [spans for file in sorted(TRAIL.iterdir()) for spans in load(file).values()]


@pytest.mark.trail
def test_the_corpus_has_84_agent_runs(corpus: list[list[NormalizedSpan]]) -> None:
    """56 managers with 28 sub-agents, each started in a turn of its manager."""
    runs = [run for spans in corpus for run in rebuild(spans).agents]
    assert Counter(run.role for run in runs) == {"manager": 56, "sub-agent": 28}
    assert all((run.parent_turn is not None) == (run.role == "sub-agent") for run in runs)
    assert Counter(run.name for run in runs if run.role == "sub-agent") == {"search_agent": 28}


@pytest.mark.trail
def test_each_run_has_goal_prompt_plan_and_answer(corpus: list[list[NormalizedSpan]]) -> None:
    """Every run of the corpus surveyed facts, planned, and acted; 47 re-plans follow."""
    runs = [run for spans in corpus for run in rebuild(spans).agents]
    assert all(run.goal and run.system_prompt and run.answer and run.tools for run in runs)
    kinds = Counter(turn.kind for run in runs for turn in run.turns)
    assert kinds[TurnKind.FACTS] == kinds[TurnKind.PLAN] == 84 + 47
    assert kinds[TurnKind.ACT] == 355
    assert (kinds[TurnKind.INNER], kinds[TurnKind.ANSWER]) == (5, 1)


@pytest.mark.trail
def test_every_llm_and_tool_span_has_one_place(corpus: list[list[NormalizedSpan]]) -> None:
    """Of 679 LLM spans 56 are of runs beside the agents; all 267 tool spans stand in a turn, 41 refused."""
    traces = [rebuild(spans) for spans in corpus]
    assert [i for trace in traces for i in misplaced(trace)] == []
    assert sum(s.kind is Kind.LLM for trace in traces for s in trace.remainder) == 0
    assert sum(run.inferred and run.beside and len(run.turns) == 1 for trace in traces for run in trace.runs) == 56
    calls = [c for t in traces for r in t.runs for turn in r.turns for c in turn.tool_calls]
    assert sum(c.span is not None for c in calls) == 267
    assert Counter(c.name for c in calls if c.executed is False) == {"final_answer": 27, "page_down": 41}


@pytest.mark.trail
@pytest.mark.parametrize("seed", range(3))
def test_arrival_order_does_not_matter(corpus: list[list[NormalizedSpan]], seed: int) -> None:
    """Any shuffle of a trace's spans, some sent twice, gives the same trace."""
    chance = random.Random(seed)  # noqa: S311 - arrival orders, no secrets
    for spans in corpus:
        mixed = spans + chance.sample(spans, len(spans) // 3)
        chance.shuffle(mixed)
        assert rebuild(mixed) == rebuild(spans)


@pytest.mark.trail
def test_runs_are_known_before_their_own_spans(corpus: list[list[NormalizedSpan]]) -> None:
    """While a trace arrives in order of ends, an LLM call stands in its final run, role and turn kind at once.

    Only what a tool does inside itself is known to be that when the tool's own span arrives.
    """
    for spans in corpus[:12]:
        arrived = sorted(spans, key=lambda s: s.raw.end)
        final = _places(rebuild(arrived))
        inner = {t.llm.span_id for r in rebuild(arrived).runs for t in r.turns if t.llm and t.kind is TurnKind.INNER}
        for count, span in enumerate(arrived, start=1):
            if span.kind is Kind.LLM and span.span_id in final.keys() - inner:
                live = _places(rebuild(arrived[:count], state=TraceState.OPEN))
                assert live[span.span_id] == final[span.span_id]


def _places(trace: Trace) -> dict[str, tuple[str, str, TurnKind]]:
    return {t.llm.span_id: (r.id, r.role, t.kind) for r in trace.agents for t in r.turns if t.llm}


@pytest.mark.skipif(not CAPTURES, reason="the shared framework captures are absent")
@pytest.mark.parametrize("path", CAPTURES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_no_span_of_a_framework_is_lost(path: Path) -> None:
    """Whatever a framework sends: nothing raises, nothing is lost or counted twice, and order does not matter."""
    chance = random.Random(7)  # noqa: S311 - arrival orders, no secrets
    for spans in load(path).values():
        trace = rebuild(spans)
        assert misplaced(trace) == []
        for count in range(len(spans)):
            assert misplaced(rebuild(spans[:count], state=TraceState.OPEN)) == []
        mixed = spans + spans[:3]
        chance.shuffle(mixed)
        assert rebuild(mixed) == trace


@pytest.mark.skipif(not CAPTURES, reason="the shared framework captures are absent")
@pytest.mark.parametrize("label", [label for label in LABELS if label not in UNSTATED])
def test_agents_and_calls_of_a_framework(label: str) -> None:
    """Agents, who started them, and the tools they called are what the program did; hand-backs start nothing."""
    for path in sorted((FRAMEWORKS / label).glob("*.zip")):
        if path.stem == "S9" and label in KILLED_UNNAMED:
            continue
        truth = _truth(path)
        agents: Counter[tuple[str, str | None]] = Counter()
        calls: dict[str, list[str]] = {}
        for trace in rebuild_joined(load(path)):
            for run in trace.runs:
                above = trace.run(run.parent_id)
                agents[run.name, above.name if above else None] += 1
                made = [c for t in run.turns for c in t.tool_calls if c.name != "final_answer"]
                made = [c for c in made if not above or not _hands_back(c, above.name)]
                calls.setdefault(run.name, []).extend(c.name for c in made)
        assert agents == truth.agents, path
        assert {name: found for name, found in calls.items() if found} == truth.calls, path


@pytest.mark.skipif(not CAPTURES, reason="the shared framework captures are absent")
@pytest.mark.parametrize("label", [label for label in LABELS if label != "remote_noprop"])
def test_nothing_is_invented(label: str) -> None:
    """No agent and no parent that the program does not have, also where an export says too little."""
    for path in sorted((FRAMEWORKS / label).glob("*.zip")):
        truth = _truth(path)
        names = {name for name, _ in truth.agents} | {"", "river_graph"}
        for trace in rebuild_joined(load(path)):
            assert {run.name for run in trace.runs if not run.inferred} <= names | {trace.service}, path
            assert all(run.name != "manager" or not run.parent_id for run in trace.runs), path
            assert len(trace.runs) <= truth.agents.total(), path


def _hands_back(call: ToolCall, name: str) -> bool:
    return is_handoff(call.name, call.arguments) and addressee(call.name, call.arguments) == canonical(name)


@dataclass(frozen=True)
class Truth:
    """What a captured program did: agents with the agent above, tool names by agent in order."""

    agents: Counter[tuple[str, str | None]]
    calls: dict[str, list[str]]


def _truth(path: Path) -> Truth:
    truth = json.loads(path.with_suffix(".meta.json").read_text())["ground_truth"]
    agents: Counter[tuple[str, str | None]] = Counter()
    for agent in truth["agents"]:
        agents[agent["name"], agent["parent"]] += agent.get("invocations", 1)
    by_agent = truth["tool_calls_by_agent"] or {}
    return Truth(agents, {name: [c["name"] for c in calls] for name, calls in by_agent.items() if calls})
