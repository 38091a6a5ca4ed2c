"""Copies of spans as they are sent: announcements of what still runs, and finished ones with what they lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from .identity import Identity
from .names import PENDING


def announcement(span: ReadableSpan, identity: Identity, now: int) -> ReadableSpan:
    """The span as it is by now (unix nanos), marked as pending; its end is `now`, the last time it was seen alive."""
    start = span.start_time or now
    return _copy(span, {**_attributes(span), **identity.attributes, PENDING: True}, max(start, now))


def finished(span: ReadableSpan, identity: Identity) -> ReadableSpan:
    """The span, its plain attributes restored where a limit on attributes pushed them out: the oldest go first."""
    said = identity.attributes
    attributes = span.attributes or {}
    if all(key in attributes for key in said):
        return span
    return _copy(span, {**_attributes(span), **said}, span.end_time)


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    # Key by key: the agent's thread may change them meanwhile.
    found: Mapping[str, Any] = span.attributes or {}
    return {key: value for key in tuple(found) if (value := found.get(key)) is not None}


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
