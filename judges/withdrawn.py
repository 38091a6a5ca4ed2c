"""Why a detector's finding holds no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import Trace


def why_withdrawn(gone: Finding, found: Iterable[Finding], trace: Trace, since: int) -> str:
    """One sentence: it stands elsewhere now, what came after `since` contradicts it, or nothing did.

    `found`: what the detectors find in `trace` now; `since`: when they last looked (unix nanos), 0 where nobody knows.
    """
    calls = {gone.tool_span_id} - {""}
    for other in found:
        same = other.judge == gone.judge and other.agent_run_id == gone.agent_run_id
        if same and (other.tool_span_id in calls or (gone.turn is not None and other.turn == gone.turn)):
            return f"It stands at span {other.span_id} now."
    if not since:
        return "With all spans that the trace has now, and by the present rules, it does not hold."
    for what, spans in _around(gone, trace):
        came = max((s for s in spans if s.raw.received_at > since), key=lambda s: s.raw.received_at, default=None)
        if came is not None:
            return f"A span that came later shows otherwise: {came.span_id}, of the same {what}."
    return "No span has come since: the trace has settled, or the rules have changed."


def _around(gone: Finding, trace: Trace) -> Iterator[tuple[str, Collection[NormalizedSpan]]]:
    """The spans around a finding's place, the nearest first."""
    yield "call", [trace.spans[i] for i in (gone.span_id, gone.tool_span_id) if i in trace.spans]
    run = next((run for run in trace.runs if run.id == gone.agent_run_id), None)
    turns = run.turns if run is not None else ()
    own = [
        (turn.index, span)
        for turn in turns
        for span in (turn.llm, *(call.span for call in turn.tool_calls), *turn.wrappers)
        if span is not None
    ]
    yield "step", [span for index, span in own if index == gone.turn]
    yield "agent run", [span for _, span in own] + ([run.span] if run is not None and run.span is not None else [])
    yield "trace", list(trace.spans.values())
