"""Spans that never came: what is below them keeps the id of a parent that nobody sent.

Truth: calls that the spans left still tell of. An agent's span bears names and goals, a tool's its duration; name,
arguments and outcome of a call stand in the messages around it where those are captured.
"""

from __future__ import annotations

from collections.abc import Callable

from tracejury.schemas.batch import Batch
from tracejury.schemas.normalized import Kind, NormalizedSpan

from .recording import Recording


def without_agents(of: Recording) -> Batch | None:
    """All spans of agents are lost; not where the calls themselves would be gone."""
    return _without(of, lambda span: span.kind is Kind.AGENT)


def without_tools(of: Recording) -> Batch | None:
    """All spans of tools are lost."""
    return _without(of, lambda span: span.kind is Kind.TOOL)


def without_roots(of: Recording) -> Batch | None:
    """Roots are lost that have something below them and are no calls themselves."""
    parents = {(span.raw.trace_id, span.raw.parent_span_id) for span in of.spans}
    return _without(
        of,
        lambda span: (
            span.raw.is_root and span.kind not in {Kind.LLM, Kind.TOOL} and (span.raw.trace_id, span.span_id) in parents
        ),
    )


def _without(of: Recording, lost: Callable[[NormalizedSpan], bool]) -> Batch | None:
    gone = {(span.raw.trace_id, span.span_id) for span in of.spans if lost(span)}
    if not gone or len(gone) == len(of.spans):
        return None
    spans = [span for span in of.raw if (span.trace_id, span.span_id) not in gone]
    return Batch(spans, [log for log in of.logs if (log.trace_id, log.span_id) not in gone])
