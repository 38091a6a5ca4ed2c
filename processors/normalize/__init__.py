"""Conventions to one vocabulary: one module a convention, recognised by evidence on the span.

To add one: a module with a `Convention`, its line in `CONVENTIONS`, and fixtures of what it sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...schemas.normalized import NormalizedSpan
from ...schemas.spans import LogRecord, Span
from .convention import Convention
from .genai import GenAI
from .openinference import OpenInference
from .plain import is_announcement, normalize_plain
from .stated import with_stated

CONVENTIONS: Final[tuple[Convention, ...]] = (OpenInference(), GenAI())
"""In order of preference where a span carries the marks of several."""


def normalize(span: Span, logs: Sequence[LogRecord] = ()) -> NormalizedSpan:
    """The span in the one vocabulary. Depends on the span and its joined log records only; never raises."""
    if is_announcement(span):
        return normalize_plain(span, logs)
    reader = next((c for c in CONVENTIONS if c.recognises(span, logs)), None)
    return with_stated(reader.normalize(span, logs) if reader else normalize_plain(span, logs))


__all__ = ["CONVENTIONS", "Convention", "normalize"]
