"""Two spans side by side of one operation, which a framework's and an SDK's instrumentation both recorded."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.normalized import Kind, Message, NormalizedSpan

from .names import same_name
from .normalize.values import as_text

_LEAST_REPLY: Final = 16  # characters; shorter replies ("ok") identify nothing
_OWN: Final = ("assistant", "model", "ai")


def are_doubles(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Whether two LLM or two TOOL spans of one parent recorded the same.

    Their instrumentations differ, one stands within the other's time, and nothing that they say differs; or one is the
    reply that was streamed to the other.
    """
    a, b = one.raw, other.raw
    if one.kind is Kind.LLM and (_is_its_reply(one, other) or _is_its_reply(other, one)):
        return True
    if a.scope_name == b.scope_name or not a.scope_name or not b.scope_name or a.parent_span_id != b.parent_span_id:
        return False
    within = (a.start <= b.start and b.end <= a.end) or (b.start <= a.start and a.end <= b.end)
    if not within or a.end <= a.start or b.end <= b.start:
        return False
    return _same_tool(one, other) if one.kind is Kind.TOOL else _same_reply(one, other)


def is_same_call(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    """Whether a TOOL span inside another one is the same call, by its name or by its call id."""
    if same_name(outer.tool_name, inner.tool_name):
        return True
    return bool(inner.tool_call_id) and inner.tool_call_id == outer.tool_call_id


def goes_on_from(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    """Whether an LLM span below another records a later call, which was sent what came of the outer one.

    Most are the same call, recorded by a framework and by the client that it uses. A later one began when the outer one
    had ended, unless it only tells what was streamed; or was sent its requests or their results, or its reply; or both
    tell what was sent and what was said, and neither is the same.
    """
    if outer.raw.start < outer.raw.end <= inner.raw.start:
        return not _is_its_reply(outer, inner)
    ids = {r.call_id for r in outer.tool_requests if r.call_id}
    said = outer.output.strip()
    for message in inner.input_messages:
        if ids and (message.tool_call_id in ids or any(r.call_id in ids for r in message.tool_requests)):
            return True
        if len(said) >= _LEAST_REPLY and message.role in _OWN and message.text.strip() == said:
            return True
    if not (outer.input_messages and inner.input_messages) or _same(outer.input_messages[-1], inner.input_messages[-1]):
        return False
    asked = [[r.name for r in span.tool_requests] for span in (outer, inner)]
    words = [" ".join(span.output.split()) for span in (outer, inner)]
    if not all(text or names for text, names in zip(words, asked, strict=True)):
        return False
    return asked[0] != asked[1] or not (words[0] in words[1] or words[1] in words[0])


def _is_its_reply(call: NormalizedSpan, record: NormalizedSpan) -> bool:
    """Whether a span without a duration tells the reply, streamed after the call's own span, to the same messages."""
    a, b = call.raw, record.raw
    if b.start != b.end or b.start < a.end or a.start == a.end or call.is_error:
        return False
    if call.output or call.tool_requests or not (record.output or record.tool_requests):
        return False
    return bool(call.input_messages) and call.input_messages == record.input_messages


def _same(one: Message, other: Message) -> bool:
    return (one.role, " ".join(one.text.split())) == (other.role, " ".join(other.text.split()))


def _same_tool(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    if not same_name(one.tool_name, other.tool_name) or _differ(one.tool_call_id, other.tool_call_id):
        return False
    return not _differ(as_text(one.tool_arguments), as_text(other.tool_arguments))


def _same_reply(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    ids = [[r.call_id for r in span.tool_requests] for span in (one, other)]
    return not _differ(one.output, other.output) and not (ids[0] and ids[1] and ids[0] != ids[1])


def _differ(one: str, other: str) -> bool:
    return bool(one) and bool(other) and one != other
