"""Conventions to one vocabulary: one module a convention, recognised by evidence on the span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...schemas.normalized import NormalizedSpan
from ...schemas.spans import LogRecord, Span
from .convention import Convention
from .genai import GenAI
from .openinference import OpenInference
from .plain import normalize_plain

CONVENTIONS: Final[tuple[Convention, ...]] = (OpenInference(), GenAI())
"""In order of preference where a span carries the marks of several."""


def normalize(span: Span, logs: Sequence[LogRecord] = ()) -> NormalizedSpan:
    """The span in the one vocabulary. Depends on the span and its joined log records only; never raises."""
    for convention in CONVENTIONS:
        if convention.recognises(span, logs):
            return convention.normalize(span, logs)
    return normalize_plain(span, logs)


__all__ = ["CONVENTIONS", "Convention", "normalize"]
