"""Which agent run each span of a rebuilt trace belongs to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracejury.schemas.trajectory import AgentRun, Trace

MAX_DEPTH = 1000
"""Ancestors that are asked for a span that no run names; deeper ones are in no run."""


def span_runs(trace: Trace) -> Mapping[str, str]:
    """Run id by span id: of spans that a run is made of, and of those below them; absent: in no agent run."""
    named = {span_id: run.id for run in trace.runs for span_id in _own(run)}
    outside = {span.span_id for span in trace.remainder}
    return {i: run for i in trace.spans if i not in outside and (run := _nearest(trace, named, i))}


def _own(run: AgentRun) -> Iterator[str]:
    if run.span is not None:
        yield run.span.span_id
    for turn in run.turns:
        if turn.llm is not None:
            yield turn.llm.span_id
        yield from (call.span.span_id for call in turn.tool_calls if call.span is not None)
        yield from (wrapper.span_id for wrapper in turn.wrappers)


def _nearest(trace: Trace, named: Mapping[str, str], span_id: str) -> str:
    for _ in range(MAX_DEPTH):
        if span_id in named:
            return named[span_id]
        span = trace.spans.get(span_id)
        if span is None:
            return ""
        span_id = span.raw.parent_span_id
    return ""
