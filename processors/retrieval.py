"""A retriever's span as the call that it is: its query, and the documents that it found.

Sources: OpenInference (`retrieval.documents.N.document.content`) and OpenTelemetry's GenAI conventions
(`gen_ai.retrieval.query.text`, `gen_ai.retrieval.documents`, a list of documents).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan

_MOST: Final = 200  # documents
_QUERY: Final = "gen_ai.retrieval.query.text"
_FOUND: Final = "gen_ai.retrieval.documents"


def as_call(span: NormalizedSpan) -> NormalizedSpan:
    """The RETRIEVER span with the fields of a TOOL span filled, as far as it does not have them."""
    query = span.input_text or span.raw.attributes.get(_QUERY, "")
    result = span.tool_result
    if result is None:
        result = _documents(span) or span.output_text or span.raw.attributes.get(_FOUND) or None
    arguments = {"query": query} if span.tool_arguments is None and query else span.tool_arguments
    return replace(span, tool_name=span.tool_name or span.raw.name, tool_arguments=arguments, tool_result=result)


def _documents(span: NormalizedSpan) -> str:
    attributes = span.raw.attributes
    texts: list[str] = []
    for at in range(_MOST):
        prefix = f"retrieval.documents.{at}.document."
        text = attributes.get(f"{prefix}content")
        if text is None and f"{prefix}id" not in attributes:
            break
        texts.append(text or "")
    return "\n".join(texts)
