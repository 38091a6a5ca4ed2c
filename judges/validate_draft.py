"""Whether what a detector yields can become a finding at all: its types, its span, its category."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tracejury.schemas.findings import Draft
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, Severity

Spans = Mapping[str, NormalizedSpan]


def validation_error(draft: object, spans: Spans) -> str:
    """Why `draft` cannot be a finding of a trace with these spans, in one line; "" if it can."""
    if not isinstance(draft, Draft):
        return f"yielded {type(draft).__name__}, not a Draft"
    for holds, why in _CHECKS:
        if not holds(draft, spans):
            return why
    return ""


def _texts(draft: Any, _spans: Spans) -> bool:
    texts = (draft.span_id, draft.category, draft.evidence, draft.explanation, draft.taxonomy, draft.title)
    return all(isinstance(text, str) for text in texts)


def _category(draft: Any, _spans: Spans) -> bool:
    return bool(draft.category) and (draft.taxonomy != TRAIL or draft.category in TRAIL_CATEGORIES)


def _dimensions(draft: Any, _spans: Spans) -> bool:
    return isinstance(draft.dimensions, tuple) and all(isinstance(d, Dimension) for d in draft.dimensions)


def _confidence(draft: Any, _spans: Spans) -> bool:
    number = draft.confidence
    return isinstance(number, int | float) and not isinstance(number, bool) and 0.0 <= number <= 1.0


def _references(draft: Any, spans: Spans) -> bool:
    if not isinstance(draft.also_at, tuple) or not isinstance(draft.linked, tuple):
        return False
    named = (draft.tool_span_id, draft.seen_by_span_id, *draft.also_at, *draft.linked)
    return all(isinstance(i, str) and (not i or i in spans) for i in named)


_CHECKS: Final[tuple[tuple[Callable[[Draft, Spans], bool], str], ...]] = (
    (_texts, "a draft's span id, category, evidence, explanation, taxonomy and title must be text"),
    (lambda draft, spans: draft.span_id in spans, "a draft's span is not in the trace"),
    (_category, "a draft's category is not one of its taxonomy"),
    (lambda draft, _: isinstance(draft.severity, Severity), "a draft's severity must be a Severity"),
    (_dimensions, "a draft's dimensions must be a tuple of Dimension"),
    (_confidence, "a draft's confidence must be a number from 0 to 1"),
    (_references, "a draft names a span that is not in the trace"),
)
