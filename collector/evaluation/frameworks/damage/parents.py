"""Parents that are wrong: nobody's, a sibling, or a span of another trace. Nothing else changes, so all is expected."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import Span

from .recording import Recording, new_id


def dangling(of: Recording) -> Batch | None:
    """Each parent's id is one that never comes; those below one parent still share it."""
    if not any(span.parent_span_id for span in of.raw):
        return None
    return Batch([_below(span, new_id("lost", span.parent_span_id)) for span in of.raw], of.logs)


def below_predecessor(of: Recording) -> Batch | None:
    """Each LLM span of a run hangs below the one before it."""
    above: dict[tuple[str, str], str] = {}
    for trace in of.traces:
        for run in trace.runs:
            calls = [turn.llm.raw for turn in run.turns if turn.llm is not None]
            pairs = ((a, b) for a, b in pairwise(calls) if a.trace_id == b.trace_id)
            above |= {(later.trace_id, later.span_id): earlier.span_id for earlier, later in pairs}
    if not above:
        return None
    return Batch(
        [replace(s, parent_span_id=above.get((s.trace_id, s.span_id), s.parent_span_id)) for s in of.raw], of.logs
    )


def of_another_trace(of: Recording) -> Batch | None:
    """What is right below a root names a parent that stands in another trace, which comes as well."""
    roots = {(span.trace_id, span.span_id) for span in of.raw if span.is_root}
    moved = {(s.trace_id, s.span_id) for s in of.raw if (s.trace_id, s.parent_span_id) in roots}
    if not moved:
        return None
    first = of.raw[0]
    other = Span(
        trace_id=new_id("other", first.trace_id, digits=32),
        span_id=new_id("other", first.span_id),
        parent_span_id="",
        name="earlier request",
        start=first.start - 2_000_000,
        end=first.start - 1_000_000,
        service=first.service,
        resource_attributes=first.resource_attributes,
        received_at=first.received_at,
        tenant=first.tenant,
    )
    spans = [_below(s, other.span_id) if (s.trace_id, s.span_id) in moved else s for s in of.raw]
    return Batch([other, *spans], of.logs)


def _below(span: Span, parent: str) -> Span:
    return replace(span, parent_span_id=parent) if span.parent_span_id else span
