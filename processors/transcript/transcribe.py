"""One agent run as text for a judge: compact, labelled, each text once, append-only while the run goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, Turn, TurnKind
from tracejury.schemas.transcript import Transcript

from .closing import closing
from .header import header
from .limits import TranscriptLimits
from .memory import Memory
from .writer import Writer


def transcribe(trace: Trace, run: AgentRun, limits: TranscriptLimits | None = None) -> Transcript:
    """The transcript of `run` (one of `trace`) as far as its turns are closed.

    Cost is linear in the size of the run, the text's length is bounded by `limits` a value.
    """
    memory = Memory(limits or TranscriptLimits())
    writer = Writer(trace, memory)
    common, own = header(run, memory)
    write_turns(writer, run.turns)
    for span in calls_outside(trace, run):
        writer.write_outside(span, run.turns[-1].index)
    return Transcript(
        trace_id=trace.home(_first_span(run)),
        run_id=run.id,
        agent=run.name,
        role=run.role,
        header=common + own,
        common=common,
        steps=tuple(writer.steps),
        closing=closing(trace, run, memory),
    )


def outline(transcript: Transcript) -> str:
    """The step index: a line a step."""
    return "".join(f"{step.outline}\n" for step in transcript.steps)


def write_turns(writer: Writer, turns: Sequence[Turn]) -> None:
    """Write consecutive turns of a run, up to the first that is still open."""
    closed = takewhile(lambda t: t.closed, turns)
    for turn, after in zip(closed, following(turns), strict=False):
        writer.write(turn, after)


def calls_outside(trace: Trace, run: AgentRun) -> list[NormalizedSpan]:
    """Once the trace is settled, LLM calls outside any agent that came after `run`, the last manager before them."""
    if trace.state is TraceState.OPEN or run.role != "manager" or run.beside or not run.turns:
        return []
    calls = trace.outside
    if not calls:
        return []
    start = start_of(run, 0)
    starts = sorted((start_of(r, 0), r.id) for r in trace.agents if r.role == "manager" and r.turns)
    own = starts.index((start, run.id))
    until = starts[own + 1][0] if own + 1 < len(starts) else math.inf
    return [s for s in calls if start < s.raw.start <= until]


def start_of(run: AgentRun, index: int) -> int:
    """When a turn of the run began; -1 for none: when the run did."""
    if index < 0:
        return run.span.raw.start if run.span else 0
    turn = run.turns[index]
    spans = [turn.llm, *(c.span for c in turn.tool_calls), *turn.wrappers]
    return min((s.raw.start for s in spans if s is not None), default=run.span.raw.start if run.span else 0)


def _first_span(run: AgentRun) -> str:
    """The id of the span with which the run begins, "" for none."""
    spans = (run.span, *(turn.llm for turn in run.turns))
    return next((span.span_id for span in spans if span is not None), "")


def following(turns: Sequence[Turn]) -> list[Turn | None]:
    """For each turn the next one that holds a call of the agent's own."""
    found: list[Turn | None] = []
    after: Turn | None = None
    for turn in reversed(turns):
        found.append(after)
        if turn.llm is not None and turn.kind is not TurnKind.INNER:
            after = turn
    return found[::-1]
