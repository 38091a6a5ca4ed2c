"""Log events that tell the reply of a request which another event, or a span, tells of under the same request id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .log_spans import MARK
from .span_tree import time_key


def join_replies(spans: Sequence[NormalizedSpan]) -> list[NormalizedSpan]:
    """The spans, each request with the reply that has its id; events that only tell that are of no kind.

    Of several events with a reply the one that says most counts. A reply without such a request stands for it.
    """
    told: dict[str, list[NormalizedSpan]] = {}
    for span in spans:
        if span.kind is Kind.LLM and (request := span.raw.attributes.get("request_id")):
            told.setdefault(request, []).append(span)
    new: dict[int, NormalizedSpan] = {}
    for same in told.values():
        replies = sorted(filter(_is_reply, same), key=lambda s: (-_said(s), time_key(s)))
        requests = [span for span in same if not _is_reply(span)]
        if not replies:
            continue
        for span in requests:
            if not span.output_messages and not span.output_text:
                new[id(span)] = replace(span, output_messages=replies[0].output_messages)
        for reply in replies if requests else replies[1:]:
            new[id(reply)] = NormalizedSpan(reply.raw, Kind.OTHER, reply.convention, session_id=reply.session_id)
    return [new.get(id(span), span) for span in spans]


def _is_reply(span: NormalizedSpan) -> bool:
    return MARK in span.raw.attributes and span.output_tokens is None and not span.is_error


def _said(span: NormalizedSpan) -> int:
    return sum(len(m.text) + len(m.tool_requests) for m in span.output_messages)
