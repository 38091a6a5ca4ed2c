"""What others say of a span, as events beside it: no part of what its agent did, nor evidence of anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejury.schemas.given_scores import EVALUATION, is_evaluation
from tracejury.schemas.spans import LogRecord, Span


def without_evaluations(span: Span, logs: Sequence[LogRecord]) -> tuple[Span, Sequence[LogRecord]]:
    """The span and its joined log records without results of evaluators; the same objects where there are none."""
    if span.events and any(event.name == EVALUATION for event in span.events):
        span = replace(span, events=tuple(event for event in span.events if event.name != EVALUATION))
    if any(map(is_evaluation, logs)):
        logs = [log for log in logs if not is_evaluation(log)]
    return span, logs
