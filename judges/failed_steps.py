"""The failed steps around a turn's calls, by their spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import Turn


def failed_steps(turn: Turn) -> Iterator[NormalizedSpan]:
    """Those of the turn's other spans that tell of a failure of the step, in order of time.

    A request to another program, which a tool or a client may have sent again, tells of the step only if it holds one
    of the turn's calls.
    """
    holding = {s.raw.parent_span_id for s in (turn.llm, *(call.span for call in turn.tool_calls)) if s is not None}
    for span in reversed(turn.wrappers):
        if span.span_id in holding:
            holding.add(span.raw.parent_span_id)
    for span in turn.wrappers:
        told = span.kind is Kind.CHAIN or (span.kind is Kind.OTHER and span.raw.kind not in _BETWEEN_PROGRAMS)
        if span.is_error and (told or (span.kind is Kind.OTHER and span.span_id in holding)):
            yield span


_BETWEEN_PROGRAMS: Final = frozenset({2, 3, 4, 5})
"""opentelemetry.proto.trace.v1.Span.SpanKind: server, client, producer, consumer."""
