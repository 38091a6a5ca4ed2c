"""Spans of no recognised convention: kept as they are."""

from __future__ import annotations

from collections.abc import Sequence

from ...schemas.normalized import Kind, NormalizedSpan
from ...schemas.spans import LogRecord, Span
from .convention import exceptions, unread_log_text


def normalize_plain(span: Span, logs: Sequence[LogRecord]) -> NormalizedSpan:
    """A span without any agent meaning."""
    return NormalizedSpan(
        raw=span,
        kind=Kind.OTHER,
        convention="",
        exceptions=exceptions(span),
        log_text=unread_log_text(logs),
    )
