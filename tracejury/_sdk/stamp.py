"""The identity of a span: its agent and task, set at its start from the baggage of its context.

Inside an agent span that a framework opened nothing is written but the task: the span tree says who is at work there,
and what the program said around it is true of the framework's run as a whole only.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span

from .identity import NOBODY, Identity, read
from .kinds import AGENT, kind_of
from .names import SCOPE

MOST: Final = 20_000
"""Live spans that are remembered; programs that never end theirs must not fill the memory."""


class _Given(NamedTuple):
    """The identity in the baggage, the one set on the span, and whether a framework's agent runs it."""

    said: Identity
    given: Identity
    inside: bool


class SpanIdentities:
    """The identity given to each live span. Safe from any thread: each step is one operation on a dict."""

    def __init__(self) -> None:
        self._given: dict[tuple[int, int], _Given] = {}

    def give(self, span: Span, context: Context | None) -> Identity:
        """Set the attributes of a span that has just begun."""
        said = read(context)
        if said == NOBODY:
            return NOBODY
        parent = trace.get_current_span(context)
        above = self._given.get(_key(parent.get_span_context())) if isinstance(parent, Span) else None
        inside = above is not None and above.said == said and (above.inside or _of_framework(parent))
        given = Identity(task=said.task) if inside or _of_framework(span) else said
        if len(self._given) < MOST:
            self._given[_key(span.get_span_context())] = _Given(said, given, inside)
        span.set_attributes(given.attributes)
        return given

    def take(self, span: ReadableSpan) -> Identity:
        """The identity of a span that has ended."""
        context = span.context
        found = self._given.pop(_key(context), None) if context else None
        return found.given if found else NOBODY


def _of_framework(span: trace.Span) -> bool:
    """Whether an instrumentation, not `agent`, says that this span is an agent."""
    if not isinstance(span, Span) or kind_of(span.attributes) != AGENT:
        return False
    return span.instrumentation_scope is None or span.instrumentation_scope.name != SCOPE


def _key(context: trace.SpanContext) -> tuple[int, int]:
    return (context.trace_id, context.span_id)
