"""LLM calls that failed themselves: the provider refused, timed out, or the context was too long."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.failure_text import FailureKind as F
from tracejury.judges.failure_text import classify
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.normalized import NormalizedSpan

_CLASSES: Final[tuple[tuple[str, tuple[F, ...], str, str, str], ...]] = (
    ("rate", (F.RATE,), "Rate Limiting", "the provider limited the rate", "Model call rate limited"),
    ("timeout", (F.TIMEOUT,), "Timeout Issues", "the provider did not answer in time", "Model call timed out"),
    ("auth", (F.AUTH,), "Authentication Errors", "the provider refused access", "Model provider refused access"),
    (
        "limit",
        (F.LIMIT,),
        "Context Handling Failures",
        "what was sent exceeds a limit of the model",
        "Context longer than the model takes",
    ),
)
_NAMED: Final = frozenset(kind for _, kinds, *_ in _CLASSES for kind in kinds)
_OTHERS: Final = tuple(kind for kind in F if kind not in _NAMED)


def _text(span: NormalizedSpan) -> str:
    """The error text of a failed span."""
    told = span.exceptions[-1] if span.exceptions else None
    error = f"{told.type}: {told.message}" if told else span.raw.status_message
    return error.strip(": ")


def _failed(facts: RunFacts, _: Context, *, kinds: tuple[F, ...], what: str) -> Iterator[Hit]:
    for llm, kind in facts.once(_failures):
        if kind in kinds:
            text = llm.exceptions[-1].message if llm.exceptions else llm.raw.status_message
            yield Hit(llm.span_id, quote(text.strip()), f"This LLM call failed: {what}.", tool_span_id=llm.span_id)


def _failures(facts: RunFacts) -> Iterator[tuple[NormalizedSpan, F]]:
    """The LLM calls of a run that failed, with their kinds of failure."""
    calls = (turn.turn.llm for turn in facts.turns)
    return ((llm, classify(_text(llm))) for llm in calls if llm is not None and llm.is_error)


RULES: Final = tuple(
    rule(
        f"model-{name}",
        category,
        "EE",
        "MEDIUM",
        partial(_failed, kinds=kinds, what=what),
        confidence=0.6,
        version=3,
        title=title,
        scope="turn",
    )
    for name, kinds, category, what, title in (
        *_CLASSES,
        ("service", _OTHERS, "Service Errors", "the provider or its client raised an error", "Model call failed"),
    )
)
