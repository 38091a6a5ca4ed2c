"""Spans that stand for nothing an agent did: mere announcements."""

from __future__ import annotations

from typing import Final

from ...schemas.spans import Span

_ANNOUNCED_PARENT: Final = "logfire.pending_parent_id"


def is_announcement(span: Span) -> bool:
    """Whether the span only says that another one, its parent, has begun: Logfire sends such, with all attributes."""
    return span.pending and _ANNOUNCED_PARENT in span.attributes
