"""Traces of which a detector sees one run alone, or that run up to one of its turns: what its scope promises is enough.

The structure of the other runs (ids, names, roles, order) stays; what they were sent, did and answered is taken out.
"""

from __future__ import annotations

from dataclasses import replace

from tracejury.schemas.trajectory import AgentRun, Trace


def only_run(trace: Trace, run: AgentRun) -> Trace:
    """The trace with the contents of its other runs taken out."""
    return _with(trace, run)


def until_turn(trace: Trace, run: AgentRun, turn: int) -> Trace:
    """The trace as `run` had it when this turn (by position) was over, without the contents of its other runs.

    The run's own span is still open then: it has neither an end nor an answer.
    """
    turns = run.turns[: turn + 1]
    known = {span.span_id for t in turns for span in t.spans}
    later = {span.span_id for t in run.turns for span in t.spans} - known
    span = run.span
    if span is not None:
        raw = replace(span.raw, end=0, pending=True, status_code=0, status_message="", events=())
        span = replace(span, raw=raw, output_text="", output_messages=(), exceptions=())
    return _with(trace, replace(run, span=span, turns=turns, answer="", status="unfinished"), frozenset(later))


def _with(trace: Trace, own: AgentRun, later: frozenset[str] = frozenset()) -> Trace:
    runs = tuple(own if run.id == own.id else _emptied(run) for run in trace.runs)
    kept = {span.span_id for turn in own.turns for span in turn.spans} | ({own.span.span_id} if own.span else set())
    inside = {span.span_id for run in trace.runs for turn in run.turns for span in turn.spans} | later
    inside |= {run.span.span_id for run in trace.runs if run.span}
    spans = {i: span for i, span in trace.spans.items() if i in kept or i not in inside}
    if own.span is not None:
        spans[own.span.span_id] = own.span
    return replace(trace, runs=runs, spans=spans)


def _emptied(run: AgentRun) -> AgentRun:
    return replace(run, span=None, goal="", system_prompt="", answer="", turns=(), tools=(), plans=(), max_steps=None)
