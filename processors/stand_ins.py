"""Spans that log records stand for (`normalize/message_logs.py`), as calls where nothing else tells of these.

A real span of the same id replaces its stand-in before. Where the same service sent spans of model calls in that
trace, those are its calls, and what logs tell beside them is a record. Likewise a record of what is around a call: it
ends with the reply of a call before it, and was sent no more than that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .normalize.message_logs import is_stand_in
from .span_tree import time_key


def take_stand_ins(spans: Sequence[NormalizedSpan]) -> Sequence[NormalizedSpan]:
    """The spans with the stand-ins as finished ones, of no kind where they repeat; the same where there are none."""
    if not any(span.raw.pending and is_stand_in(span.raw) for span in spans):
        return spans
    real = [span for span in spans if not is_stand_in(span.raw)]
    came = {(s.raw.trace_id, s.span_id) for s in real}
    told = {(s.raw.trace_id, s.raw.service) for s in real if s.kind is Kind.LLM}
    replies: dict[tuple[object, ...], list[NormalizedSpan]] = {}
    taken = list(real)
    for span in sorted((s for s in spans if is_stand_in(s.raw)), key=time_key):
        if (span.raw.trace_id, span.span_id) in came:
            continue
        raw = replace(span.raw, pending=False)
        before = replies.setdefault((raw.trace_id, raw.service, span.output), []) if span.output else []
        if (raw.trace_id, raw.service) in told or any(_holds(call, span) for call in before):
            taken.append(NormalizedSpan(raw, Kind.OTHER, span.convention, session_id=span.session_id))
        else:
            before.append(span)
            taken.append(replace(span, raw=raw))
    return taken


def _holds(call: NormalizedSpan, around: NormalizedSpan) -> bool:
    """Whether `call` was sent all that `around` was, and more."""
    sent = {(m.role, m.text) for m in call.input_messages}
    return 0 < len(around.input_messages) < len(call.input_messages) and sent.issuperset(
        (m.role, m.text) for m in around.input_messages
    )
