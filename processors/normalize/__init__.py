"""Conventions to one vocabulary: one module a convention, recognised by evidence on the span.

To add one: a module with a `Convention`, its line in `CONVENTIONS`, and fixtures of what it sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span

from .adk import Adk
from .combine import combine
from .convention import Convention, Fields, MarkedConvention, exceptions, is_announcement, unread_log_text
from .genai import GenAI
from .langfuse import Langfuse
from .openinference import OpenInference
from .openllmetry import OpenLLMetry
from .pydantic_ai import PydanticAI
from .raw_calls import RawCalls
from .replies import keep_reply
from .runtime import Runtime
from .stated import add_stated
from .stored_bytes import with_log_texts, with_texts
from .vercel import Vercel

CONVENTIONS: Final[tuple[Convention, ...]] = (
    OpenInference(),
    Vercel(),
    OpenLLMetry(),
    Langfuse(),
    Adk(),
    PydanticAI(),
    Runtime(),
    GenAI(),
    RawCalls(),
)
"""In order of preference where a span carries the marks of several: those that say more first."""

_FIRST, *_OTHERS = CONVENTIONS
_OTHER_MARKS: Final = frozenset[str]().union(*(c.marks for c in _OTHERS))
_UNMARKED: Final = tuple(c for c in _OTHERS if not isinstance(c, MarkedConvention))
_make: Final = maker(NormalizedSpan)


def normalize(span: Span, logs: Sequence[LogRecord] = ()) -> NormalizedSpan:
    """The span in the one vocabulary. Depends on the span and its joined log records only; never raises."""
    recognised = () if is_announcement(span) else _recognised(span, logs)
    if not recognised:
        return _normalized(span, logs, "", {"kind": Kind.OTHER})
    sent, logs = with_texts(span), with_log_texts(logs)
    found = combine([convention.read(sent, logs) for convention in recognised])
    return _normalized(span, logs, recognised[0].name, found)


def _recognised(span: Span, logs: Sequence[LogRecord]) -> Sequence[Convention]:
    """The conventions that the span carries; most spans carry the first and no key of another."""
    first = _FIRST.recognises(span, logs)
    no_marks = not logs and _OTHER_MARKS.isdisjoint(span.attributes)
    if first and no_marks:
        return (_FIRST,)
    others = tuple(c for c in (_UNMARKED if no_marks else _OTHERS) if c.recognises(span, logs))
    return (_FIRST, *others) if first else others


def _normalized(span: Span, logs: Sequence[LogRecord], convention: str, found: Fields) -> NormalizedSpan:
    if "log_text" not in found:
        found["log_text"] = unread_log_text(logs)
    if found["kind"] is Kind.LLM and any(message.text for message in found.get("input_messages", ())):
        found["input_text"] = ""  # the same once more, and as long
    keep_reply(found)
    add_stated(found, span.attributes)
    return _make(raw=span, convention=convention, exceptions=exceptions(span, logs), **found)


__all__ = ["CONVENTIONS", "Convention", "normalize"]
