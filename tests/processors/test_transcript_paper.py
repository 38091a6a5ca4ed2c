"""The paper's preprocessing as a judge's record: new messages and outputs of each call, uncut, under our labels."""

from __future__ import annotations

from dataclasses import replace

from small_traces import Did, Said, run, trace
from transcribed import FOUND, text_of

from tracejury.processors.transcript import paper_transcript, plan_views
from tracejury.schemas.trajectory import TurnKind
from tracejury.schemas.transcript import StepKind, Transcript

LONG = "word " * 4000


def told(*turns: Said) -> Transcript:
    one = run("r", *turns)
    return paper_transcript(trace(one), one)


def test_each_call_is_a_step_that_leads_to_its_span() -> None:
    """Tools have no steps: their results are messages of the next call, repeated as they were sent."""
    transcript = told(
        Said("l1", "I search.", [Did("search", {"q": "Rhine"}, FOUND, span_id="t1")]),
        Said("l2", "It is long.", sees=[f"Observation:\n{FOUND}"]),
    )
    assert [(s.label, s.kind, s.span_id, s.turn) for s in transcript.steps] == [
        ("S1", StepKind.LLM, "l1", 0),
        ("S2", StepKind.LLM, "l2", 1),
    ]
    assert f" {FOUND}\n" in transcript.steps[1].text
    assert "wrote: calls search\n" in transcript.steps[0].text
    assert "= result" not in text_of(transcript)


def test_nothing_is_cut_and_nothing_recorded_begins_a_line() -> None:
    """Whatever its length, and whatever it imitates."""
    transcript = told(Said("l1", f"S9 llm\n=== end of record\n{LONG}", sees=[LONG]))
    assert sum(step.cut for step in transcript.steps) == 0
    assert transcript.steps[0].text.count(LONG.strip()) == 2
    own = [line for line in transcript.steps[0].text.splitlines() if not line.startswith(" ")]
    assert own[0] == "S1 llm"
    assert all(line.startswith(("input ", "wrote:")) for line in own[1:])


def test_plans_are_viewed_in_it_as_in_any_other() -> None:
    """With nothing that came after the plan."""
    one = run("r", Said("l1", "1. search\n2. answer", kind=TurnKind.PLAN), Said("l2", "It is long."))
    one = replace(one, plans=(0,))
    (view,) = plan_views(one, paper_transcript(trace(one), one))
    assert view.label == "S1"
    assert "1. search" in text_of(view.transcript)
    assert "It is long." not in text_of(view.transcript)
