"""Attributes that were sent as bytes and are stored as base64: read as the text that they hold."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.spans import LogRecord, Span

_BYTES: Final = "bytes"


def with_texts(span: Span) -> Span:
    """The span with its byte values as texts where they are such; the same object where it has none."""
    events = span.events
    if not events and not span.attribute_types:
        return span
    if any(_BYTES in event.attribute_types.values() for event in events if event.attribute_types):
        events = tuple(replace(e, attributes=_texts(e.attributes, e.attribute_types)) for e in events)
    if events is span.events and _BYTES not in span.attribute_types.values():
        return span
    return replace(span, attributes=_texts(span.attributes, span.attribute_types), events=events)


def with_log_texts(logs: Sequence[LogRecord]) -> Sequence[LogRecord]:
    """As `with_texts`, of log records and their bodies."""
    if not any(log.body_type == _BYTES or _BYTES in log.attribute_types.values() for log in logs):
        return logs
    return [
        replace(
            log,
            attributes=_texts(log.attributes, log.attribute_types),
            body=_text(log.body) if log.body_type == _BYTES else log.body,
        )
        for log in logs
    ]


def _texts(attributes: Mapping[str, str], types: Mapping[str, str]) -> dict[str, str]:
    return {k: _text(v) if types.get(k) == _BYTES else v for k, v in attributes.items()}


def _text(stored: str) -> str:
    """The text of base64, unless the bytes are no text (or were cut)."""
    try:
        text = base64.b64decode(stored, validate=True).decode()
    except ValueError:
        return stored
    return text if "\0" not in text else stored
