"""A transcript while its run goes on: what was shown stays, more comes after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from small_traces import Did, Said, run, trace
from trajectories import TRAIL, load

from tracejury.processors.plans import planning_turns
from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import UNCUT, plan_views, transcribe
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, Turn, TurnKind
from tracejury.schemas.transcript import Transcript

TEXTS = (
    "",
    "42",
    "The Rhine is 1,233 km long, says the atlas of rivers.\nThe Danube is longer, at 2,850 km.",
    "1. Look for a list of rivers in an atlas.\n2. Sort it by length in kilometres.\n3. Answer.",
    "Error when executing tool search with arguments {}: TypeError: an argument is missing",
)
KINDS = (TurnKind.ACT, TurnKind.PLAN, TurnKind.FACTS, TurnKind.INNER)


def text_of(transcript: Transcript) -> str:
    return transcript.header + "".join(s.text for s in transcript.steps)


def views_of(whole: Trace, one: AgentRun) -> list[str]:
    return [f"{v.label} {v.turn} {v.replan}\n{text_of(v.transcript)}" for v in plan_views(one, transcribe(whole, one))]


@st.composite
def said(draw: st.DrawFn) -> Said:
    """A turn of any kind: calls that ran, failed, never ran; messages that repeat what stands in other turns."""
    calls = [
        Did(
            draw(st.sampled_from(["search", "read", "write_todos", "final_answer"])),
            {"q": draw(st.sampled_from(TEXTS))},
            draw(st.none() | st.sampled_from(TEXTS)),
            error=draw(st.none() | st.sampled_from(TEXTS[2:])),
            span_id=draw(st.sampled_from(["", "t"])),
        )
        for _ in range(draw(st.integers(0, 2)))
    ]
    texts = st.sampled_from(TEXTS)
    return Said("l", draw(texts), calls, sees=draw(st.lists(texts, max_size=3)), kind=draw(st.sampled_from(KINDS)),
                step_error=draw(texts), observed=draw(texts))  # fmt: skip


def numbered(turns: Iterable[Said]) -> list[Said]:
    """The same turns with ids of their own."""
    return [
        replace(t, span_id=f"l{i}", did=[replace(d, span_id=d.span_id and f"t{i}{j}") for j, d in enumerate(t.did)])
        for i, t in enumerate(turns)
    ]


@settings(max_examples=sized(30, 150))
@given(st.lists(said(), min_size=1, max_size=8))
def test_more_turns_change_nothing_that_was_shown(turns: list[Said]) -> None:
    """Header and steps of a run's beginning begin its later transcripts; views of plans stay; the run's end adds."""
    finished = run("r", *numbered(turns), answer=turns[-1].text)
    before, plans = "", list[str]()
    for count in range(1, len(turns) + 1):
        shown = _so_far(finished.turns[:count])
        plans_so_far = planning_turns(shown, means=False)
        part = replace(finished, turns=shown, span=None, status="unfinished", answer="", plans=plans_so_far)
        open_trace = trace(part, state=TraceState.OPEN)
        transcript = transcribe(open_trace, part)
        assert text_of(transcript).startswith(before)
        assert views_of(open_trace, part)[: len(plans)] == plans
        assert transcript.closing == ""
        before, plans = text_of(transcript), views_of(open_trace, part)
    whole = transcribe(trace(finished), finished)
    assert text_of(whole).startswith(before)
    assert transcribe(trace(finished), finished, UNCUT).spans == whole.spans
    assert views_of(trace(finished), finished)[: len(plans)] == plans


def _so_far(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """As rebuilding has it: a turn is closed by the agent's next own call."""
    last = max((t.index for t in turns if t.kind is not TurnKind.INNER), default=-1)
    return tuple(replace(t, closed=t.index < last) for t in turns)


Shape = list[tuple[str, TurnKind, tuple[tuple[str, str, str], ...], tuple[str, ...]]]


def shape(one: AgentRun) -> Shape:
    """What of a run's closed turns must stay for its transcript to stay: calls, kinds, actions."""
    found = []
    for turn in one.turns:
        if not turn.closed:
            break
        calls = tuple(
            (c.name if c.span else "", c.span.span_id if c.span else "", c.sub_run_id) for c in turn.tool_calls
        )
        found.append((turn.llm.span_id if turn.llm else "", turn.kind, calls, turn.sub_run_ids))
    return found


@pytest.fixture(scope="module")
def corpus() -> list[list[NormalizedSpan]]:
    if not TRAIL.exists():
        pytest.skip("the shared TRAIL traces are absent")
    return [spans for file in sorted(TRAIL.iterdir()) for spans in load(file).values()]


@pytest.mark.trail
def test_real_traces_as_they_arrive(corpus: list[list[NormalizedSpan]]) -> None:
    """Span by span in order of ends, the agent's own span last: text and plan views are only added to.

    Where rebuilding itself thinks again of a closed turn (a tool that called a model or an agent was not known for
    one before its own span came), the transcript does, too; that must stay rare.
    """
    compared = rethought = 0
    for spans in corpus[:: sized(28, 3)]:
        arrived = sorted(spans, key=lambda s: s.raw.end)
        before: dict[str, tuple[Shape, str, list[str]]] = {}
        for count in range(1, len(arrived) + 1):
            state = TraceState.OPEN if count < len(arrived) else TraceState.SETTLED
            whole = rebuild(arrived[:count], state=state)
            for one in (r for r in whole.runs if any(t.llm for t in r.turns)):
                now = shape(one), text_of(transcribe(whole, one)), views_of(whole, one)
                turns, text, plans = before.get(one.id, ([], "", []))
                before[one.id] = now
                if now[0][: len(turns)] != turns:
                    rethought += 1
                    continue
                compared += 1
                assert now[1].startswith(text)
                assert now[2][: len(plans)] == plans
    assert compared > sized(60, 700)
    assert rethought < 0.01 * compared
