"""The mark on spans of our own judge calls, an HMAC: an agent cannot forge it to hide its spans from the judges."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from tracejury.schemas.spans import Span

MARK: Final = "tracejury.judge.mark"
DIGITS: Final = 32


def mark_of(trace_id: str, span_id: str, secret: bytes) -> str:
    """The mark of a span (ids in lower-case hex): it fits this span alone, so a copy elsewhere is worth nothing."""
    return hmac.new(secret, f"{trace_id}:{span_id}".encode(), hashlib.sha256).hexdigest()[:DIGITS]


def is_ours(span: Span, secret: bytes) -> bool:
    """Whether the span is of a judge call of this installation."""
    mark = span.attributes.get(MARK)
    if mark is None:
        return False
    expected = mark_of(span.trace_id, span.span_id, secret)
    return hmac.compare_digest(mark.encode("utf-8", "replace"), expected.encode())
