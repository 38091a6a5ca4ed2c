"""Transcripts of real traces: every annotated error has a step, and they are much smaller than other views."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from trajectories import FRAMEWORKS, TRAIL, load

from tracejury.judges.evidence import OwnText
from tracejury.judges.llm.verbatim import standing
from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import TranscriptLimits, outline, plan_views, split, transcribe
from tracejury.processors.transcript.paper import paper_view
from tracejury.processors.transcript.views import raw_view
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import Transcript

CAPTURES = sorted(FRAMEWORKS.glob("*/*.zip"))


def text_of(transcript: Transcript) -> str:
    return transcript.header + "".join(s.text for s in transcript.steps) + transcript.closing


@pytest.fixture(scope="module")
def corpus() -> list[Trace]:
    if not TRAIL.exists():
        pytest.skip("the shared TRAIL traces are absent")
    return [rebuild(spans) for file in sorted(TRAIL.iterdir()) for spans in load(file).values()]


@pytest.mark.trail
def test_every_annotated_error_has_a_step(corpus: list[Trace]) -> None:
    """A judge can name the span of each of them by a label."""
    missing = []
    for whole in corpus:
        spans = {step.span_id for one in whole.runs for step in transcribe(whole, one).steps}
        noted = json.loads((TRAIL.parent / "annotations" / f"{whole.trace_id}.json").read_text())["errors"]
        missing += [e["location"] for e in noted if e["location"] not in spans]
    assert missing == []


@pytest.mark.trail
def test_transcripts_and_plan_views_are_small(corpus: list[Trace]) -> None:
    """In characters: under half of the paper's preprocessing, plan views under a fifth, and far under what was sent."""
    raw = sum(len(raw_view(t)) for t in corpus)
    paper = sum(len(paper_view(t)) for t in corpus)
    made = [(t, r, transcribe(t, r)) for t in corpus for r in t.runs]
    ours = sum(t.characters for _, _, t in made)
    views = [v for t, r, made_of in made for v in plan_views(r, made_of)]
    assert ours < 0.5 * paper < 0.1 * raw
    assert sum(v.transcript.characters for v in views) < 0.2 * paper
    assert len(views) == sum(len(r.plans) for _, r, _ in made)
    assert all(v.transcript.steps[-1].label == v.label for v in views)


@pytest.mark.trail
def test_what_is_shown_can_be_quoted(corpus: list[Trace]) -> None:
    """The evidence gate finds every line of input and output, of results, errors, outcomes and errands, at its step."""
    refused = []
    for whole in corpus[::4]:
        own = OwnText(whole, told=True)
        for one in whole.runs:
            for step in transcribe(whole, one).steps:
                refused += [(step.label, line) for line in quotable(step.text) if not standing(own, step.span_id, line)]
    assert refused == []


def quotable(text: str) -> Iterator[str]:
    """Recorded lines of the parts of a step that judges quote."""
    title = ""
    for line in text.split("\n"):
        if not line.startswith((" ", "=", "[")):
            title = line
        elif (
            title.startswith(("input", "wrote", "reasoning", "result", "error", "outcome", "its "))
            and line.startswith(" ")
            and line.strip()
        ):
            yield line[1:200]


@pytest.mark.trail
def test_a_split_of_a_real_transcript_fits(corpus: list[Trace]) -> None:
    """The longest run, in chapters of a small model."""
    whole, one = max(((t, r) for t in corpus for r in t.runs), key=lambda found: transcribe(*found).characters)
    chapters = split(transcribe(whole, one, TranscriptLimits()), 3_000, lambda text: len(text) // 4)
    assert len(chapters) > 3
    assert all(len(c.text) // 4 <= 3_000 for c in chapters)


@pytest.mark.skipif(not CAPTURES, reason="the shared framework captures are absent")
@pytest.mark.parametrize("path", CAPTURES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_runs_of_every_framework_are_written(path: Path) -> None:
    """Each LLM call and each executed tool of a run is one step, and what a model wrote stands in its step."""
    for spans in load(path).values():
        whole = rebuild(spans)
        for one in whole.runs:
            transcript = transcribe(whole, one)
            texts: dict[str, str] = {}
            for step in transcript.steps:  # a sub-agent whose span was lost stands at the call that started it
                texts[step.span_id] = texts.get(step.span_id, "") + step.text
            assert [s.label for s in transcript.steps] == [f"S{i}" for i in range(1, len(transcript.steps) + 1)]
            assert outline(transcript).count("\n") == len(transcript.steps)
            for turn in one.turns:
                if turn.llm is not None:
                    said = turn.llm.output.strip().split("\n")[0]
                    assert said[:200] in texts[turn.llm.span_id]
                    requests = [r.name for m in turn.llm.output_messages for r in m.tool_requests]
                    assert texts[turn.llm.span_id].count("\ncalls ") >= len(requests)
                assert all(c.span.span_id in texts for c in turn.tool_calls if c.span)
