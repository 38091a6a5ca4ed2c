"""What a turn did, in the order in which the agent came to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall, Turn

SHOWN: Final = (Kind.RETRIEVER, Kind.RERANKER, Kind.GUARDRAIL)
"""Kinds of spans besides tools and agents whose outcome is a step."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A call, a sub-agent's run (also one that a call asked for) or another span with an outcome."""

    call: ToolCall | None = None
    run_id: str = ""
    span: NormalizedSpan | None = None


def happened(turn: Turn, runs: Mapping[str, AgentRun]) -> list[Happened]:
    """The turn's calls, sub-agents and other outcomes, as asked for; by their ends where agents ran beside the calls.

    A call below which several agents ran brings its result after theirs, each of which is a step of its own.
    """
    called = {c.sub_run_id for c in turn.tool_calls}
    found = [entry for call in turn.tool_calls for entry in _of_call(call, turn, runs)]
    beside = [Happened(run_id=run) for run in turn.sub_run_ids if run not in called]
    found += beside
    found += [Happened(span=s) for s in turn.wrappers if s.kind in SHOWN and (s.output_text or s.is_error)]
    moved = beside or any(entry.run_id and entry.call is None for entry in found)
    if moved and all(_end(entry, runs) for entry in found):
        found.sort(key=lambda entry: _end(entry, runs))
    return found


def _of_call(call: ToolCall, turn: Turn, runs: Mapping[str, AgentRun]) -> Iterator[Happened]:
    span = call.span
    if not call.sub_run_id:
        if span is not None:
            yield Happened(call)
    elif span is not None and any(r != call.sub_run_id and _within(runs.get(r), span) for r in turn.sub_run_ids):
        yield Happened(run_id=call.sub_run_id)
        yield Happened(call)
    else:
        yield Happened(call, call.sub_run_id)


def _within(run: AgentRun | None, span: NormalizedSpan) -> bool:
    times = _times(run)
    return bool(times) and span.raw.start <= times[0] and times[-1] <= span.raw.end


def _end(entry: Happened, runs: Mapping[str, AgentRun]) -> int:
    """When it was over, 0 where that is not known."""
    span = entry.span or (entry.call.span if entry.call else None)
    if span is not None:
        return span.raw.end
    return max(_times(runs.get(entry.run_id)), default=0)


def _times(run: AgentRun | None) -> list[int]:
    """Beginning and end of a run, in order; of its calls where its own span is not there."""
    if run is None:
        return []
    own = [run.span] if run.span is not None and not run.span.raw.pending else []
    spans = own or [s for t in run.turns for s in (t.llm, *(c.span for c in t.tool_calls)) if s is not None]
    return sorted(time for span in spans for time in (span.raw.start, span.raw.end))
