"""LLM calls that failed themselves: the provider refused, timed out, or the context was too long.

LOW where another attempt at the same worked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.failure_text import FailureKind as F
from tracejury.judges.failure_text import failure_kind
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import Severity

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
_OTHERS: Final = tuple(kind for kind in F if kind not in _NAMED and kind is not F.CANCELLED)
"""Not where the call was cancelled: a hedged one beside its twin, or by a user."""


def _text(span: NormalizedSpan) -> str:
    """The error text of a failed span."""
    told = span.exceptions[-1] if span.exceptions else None
    error = f"{told.type}: {told.message}" if told else span.raw.status_message
    return error.strip(": ")


def _failed(facts: RunFacts, _: Context, *, kinds: tuple[F, ...], what: str) -> Iterator[Hit]:
    for llm, kind, mended in facts.once(_failures):
        if kind in kinds:
            text = llm.exceptions[-1].message if llm.exceptions else llm.raw.status_message
            severity = Severity.LOW if mended else None
            told = f"This LLM call failed: {what}{', but was made again and worked' if mended else ''}."
            yield Hit(llm.span_id, quote(text.strip()), told, tool_span_id=llm.span_id, severity=severity)


def _failures(facts: RunFacts) -> Iterator[tuple[NormalizedSpan, F, bool]]:
    """The LLM calls of a run that failed, with their kinds of failure, and whether an attempt after it worked.

    An attempt is sent the same messages, or directly follows where they were not recorded; it may go to another model.
    """
    calls = [turn.turn.llm for turn in facts.turns if turn.turn.llm is not None]
    mended = [False] * len(calls)
    for at in range(len(calls) - 1, -1, -1):
        llm, after, before = calls[at], calls[at + 1 : at + 2], calls[at - 1 : at]
        again = bool(after) and after[0].input_messages == llm.input_messages
        beside = bool(before and llm.input_messages) and before[0].input_messages == llm.input_messages
        mended[at] = (again and (not after[0].is_error or mended[at + 1])) or (beside and not before[0].is_error)
    for llm, worked in zip(calls, mended, strict=True):
        if llm.is_error:
            kind = failure_kind(_text(llm), llm)
            yield llm, kind, worked and kind is not F.LIMIT


RULES: Final = tuple(
    rule(
        f"model-{name}",
        category,
        "EE",
        "MEDIUM",
        partial(_failed, kinds=kinds, what=what),
        confidence=0.6,
        version=4,
        title=title,
        scope="run",
    )
    for name, kinds, category, what, title in (
        *_CLASSES,
        ("service", _OTHERS, "Service Errors", "the provider or its client raised an error", "Model call failed"),
    )
)
