"""Copies of spans as they are sent: announcements of what still runs, and finished ones with what they lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from .identity import Identity
from .kinds import plain
from .names import PENDING


def announcement(span: ReadableSpan, identity: Identity, now: int) -> ReadableSpan:
    """The span as it is by now (unix nanos), marked as pending; its end is `now`, the last time it was seen alive."""
    start = span.start_time or now
    return _copy(span, {**plain(span.attributes), **identity.attributes, PENDING: True}, max(start, now))


def finished(span: ReadableSpan, identity: Identity) -> ReadableSpan:
    """The span, its plain attributes restored where a limit on attributes pushed them out: the oldest go first."""
    if not span.dropped_attributes:
        return span
    found = plain(span.attributes)
    said = identity.attributes
    return span if said.keys() <= found.keys() else _copy(span, {**found, **said}, span.end_time)


def _copy(span: ReadableSpan, attributes: Mapping[str, Any], end: int | None) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=end,
        instrumentation_scope=span.instrumentation_scope,
    )
