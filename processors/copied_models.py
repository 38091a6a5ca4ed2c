"""A model's name on spans that are no calls: gateways and baggage copy it onto all that is done for a request.

In a trace in which a call of the model says what was sent, written or used, a span that names the same model, and of a
call nothing else, is none. One that failed is left alone: a call that failed writes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .span_tree import SpanTree

_CONVENTION: Final = "genai"
_SAID: Final = ("gen_ai.operation.name", "gen_ai.request.", "gen_ai.response.")
_MODELS: Final = frozenset({"gen_ai.request.model", "gen_ai.response.model"})


def without_copied_models(tree: SpanTree) -> SpanTree:
    """The tree in which such spans are chains; the same tree where there are none."""
    calls = tree.llm_calls
    silent = [span for span in calls if span.convention == _CONVENTION and not (_tells(span) or _is_stated(span))]
    models = {span.model for span in calls if _tells(span)} if silent else set()
    return tree.changed({s.raw.span_id: replace(s, kind=Kind.CHAIN) for s in silent if s.model in models})


def _tells(span: NormalizedSpan) -> bool:
    """Whether something was sent, written or used."""
    used = span.input_tokens is not None or span.output_tokens is not None
    return used or bool(span.output_messages or span.input_messages or span.output_text or span.input_text)


def _is_stated(span: NormalizedSpan) -> bool:
    """Whether the span says itself that it is a call, beside the model's name, or failed or goes on."""
    if span.is_error or span.raw.pending or span.raw.events:
        return True
    return any(key.startswith(_SAID) and key not in _MODELS for key in span.raw.attributes)
