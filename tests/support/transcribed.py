"""Small runs as transcripts."""

from __future__ import annotations

from typing import Any

from small_traces import Said, run, trace
from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import transcribe
from tracejury.schemas.shown import folded
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.transcript import Transcript

FOUND = "The Rhine is 1,233 km long, says the atlas of rivers."


def text_of(transcript: Transcript) -> str:
    """All of a transcript."""
    return transcript.header + "".join(s.text for s in transcript.steps) + transcript.closing


def told(*turns: Said, **changes: Any) -> Transcript:
    one = run("r", *turns, **changes)
    return transcribe(trace(one), one)


def llm(span_id: str, start: int, sent: list[tuple[str, str]], said: str = "", **attributes: Any) -> dict[str, Any]:
    """An LLM span below "agent" that was sent these (role, text)."""
    stored: dict[str, Any] = {"openinference.span.kind": "LLM", **attributes}
    if said:
        stored["llm.output_messages.0.message.content"] = said
    for i, (role, text) in enumerate(sent):
        stored |= {f"llm.input_messages.{i}.message.role": role, f"llm.input_messages.{i}.message.content": text}
    return {"id": span_id, "parent": "agent", "start": start, "attributes": stored}


AGENT = {"id": "agent", "start": 0, "end": 90, "attributes": {"openinference.span.kind": "AGENT", "agent.name": "a"}}


def recorded(*entries: dict[str, Any], state: TraceState = TraceState.SETTLED) -> Transcript:
    whole = rebuild(normalise_all(fixture_spans({"spans": list(entries)})[0]), state=state)
    return transcribe(whole, whole.runs[0])


def loose(text: str) -> str:
    """As annotators quote: without regard to escapes, quotation marks and white space."""
    return "".join(c for c in folded(text.replace("\\n", " ").replace("\\u2019", "'")) if c.isalnum())
