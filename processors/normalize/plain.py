"""Spans that stand for nothing an agent did: of no recognised convention, or mere announcements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...schemas.normalized import Kind, NormalizedSpan
from ...schemas.spans import LogRecord, Span
from .convention import exceptions, unread_log_text

_ANNOUNCED_PARENT: Final = "logfire.pending_parent_id"


def is_announcement(span: Span) -> bool:
    """Whether the span only says that another one, its parent, has begun: Logfire sends such, with all attributes."""
    return span.pending and _ANNOUNCED_PARENT in span.attributes


def normalize_plain(span: Span, logs: Sequence[LogRecord]) -> NormalizedSpan:
    """A span without any agent meaning."""
    return NormalizedSpan(
        raw=span,
        kind=Kind.OTHER,
        convention="",
        exceptions=exceptions(span, logs),
        log_text=unread_log_text(logs),
    )
