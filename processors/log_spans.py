"""Spans of log events: agents that send log records tell with them of prompts, requests and tool calls.

Each event that stands for one of these becomes a span in the GenAI conventions, stored beside its record, so that a
session of events alone is rebuilt and judged like any other. Records without a trace id get one of their project,
service and session. Where spans of the same work come, too, theirs count (`told_twice.py`).

Sources: code.claude.com/docs/en/monitoring-usage (Claude Code), the documentation of OpenAI's Codex (`[otel]` of its
configuration), of Gemini CLI (docs/cli/telemetry.md) and of Qwen Code, which comes from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

import orjson

from tracejury.schemas.spans import STATUS_ERROR, LogRecord, Span

from .normalize.claude_code import stopped_by_user
from .normalize.message_logs import stand_in, tells_of_call
from .normalize.values import as_int, first, parse_object
from .trace_rows import log_identity


class Told(StrEnum):
    """What an event tells of: the operation of the span that it becomes."""

    PROMPT = "invoke_agent"
    REQUEST = "chat"
    TOOL = "execute_tool"


EVENTS: Final[Mapping[str, tuple[str, Told]]] = {
    "claude_code.user_prompt": ("claude-code", Told.PROMPT),
    "claude_code.api_request": ("claude-code", Told.REQUEST),
    "claude_code.api_error": ("claude-code", Told.REQUEST),
    "claude_code.assistant_response": ("claude-code", Told.REQUEST),
    "claude_code.api_response_body": ("claude-code", Told.REQUEST),
    "claude_code.tool_result": ("claude-code", Told.TOOL),
    "codex.user_prompt": ("codex", Told.PROMPT),
    "codex.api_request": ("codex", Told.REQUEST),
    "codex.sse_event": ("codex", Told.REQUEST),
    "codex.tool_result": ("codex", Told.TOOL),
    "gemini_cli.user_prompt": ("gemini-cli", Told.PROMPT),
    "gemini_cli.api_response": ("gemini-cli", Told.REQUEST),
    "gemini_cli.api_error": ("gemini-cli", Told.REQUEST),
    "gemini_cli.tool_call": ("gemini-cli", Told.TOOL),
    "qwen-code.user_prompt": ("qwen-code", Told.PROMPT),
    "qwen-code.api_response": ("qwen-code", Told.REQUEST),
    "qwen-code.api_error": ("qwen-code", Told.REQUEST),
    "qwen-code.tool_call": ("qwen-code", Told.TOOL),
}
"""Names of events that become spans: the agent, and what they tell of."""

MARK: Final = "tracejury.log_event"
"""The attribute with the event's name on each span that was made of one."""

PREFIXES: Final = tuple(dict.fromkeys(f"{name.partition('.')[0]}." for name in EVENTS))
"""How the names of these programs' events begin, and those of their own spans."""

_SESSION: Final = ("session.id", "conversation.id", "session_id", "gen_ai.conversation.id")
_COMPLETED: Final = "response.completed"  # the one of Codex's stream events that tells of a request's end
_USAGE: Final = {
    "gen_ai.usage.input_tokens": ("input_tokens", "input_token_count"),
    "gen_ai.usage.output_tokens": ("output_tokens", "output_token_count"),
    "gen_ai.usage.cache_read.input_tokens": ("cache_read_tokens", "cached_token_count", "cached_content_token_count"),
    "gen_ai.usage.cache_write.input_tokens": ("cache_creation_tokens",),
    "gen_ai.usage.reasoning.output_tokens": ("reasoning_token_count", "thoughts_token_count"),
}
_REDACTED: Final = ("<REDACTED>", "[REDACTED]")
_MILLISECOND: Final = 1_000_000


def with_log_spans(records: Sequence[LogRecord]) -> tuple[list[LogRecord], list[Span]]:
    """The records, those of sessions in a trace, and the spans of those that are events.

    A record without a trace id goes into its session's trace if its event is of a program whose events are known, or
    it holds what a model wrote (`normalize/message_logs.py`).
    """
    placed: list[LogRecord] = []
    spans: list[Span] = []
    calls: dict[tuple[str, str, str], Span] = {}
    for record in records:
        name = _event_name(record)
        if not name and not tells_of_call(record):
            placed.append(record)
            continue
        session = first(record.attributes, *_SESSION)
        trace_id = record.trace_id or (session_trace(record.tenant, record.service, session) if session else "")
        if not trace_id:
            placed.append(record)
            continue
        own = record.span_id
        if name:
            span = _span(record, name, session, trace_id)
            if span is not None:
                spans.append(span)
            own = own or (span.span_id if span and not record.trace_id else "")
        else:
            own = own or _hash(f"{trace_id}\0{_identity(record)}", 8)
            span = stand_in(record, trace_id, own)
            known = calls.get(key := (record.tenant, trace_id, own))
            calls[key] = span if known is None or span.beats(known) else known
        same = trace_id == record.trace_id and own == record.span_id
        placed.append(record if same else replace(record, trace_id=trace_id, span_id=own))
    return placed, [*spans, *calls.values()]


def session_trace(tenant: str, service: str, session: str) -> str:
    """Id of the trace of a session's log records."""
    return _hash(f"{tenant}\0{service}\0{session}", 16)


def _event_name(record: LogRecord) -> str:
    """The event's whole name, "" for a record of another kind; some senders have it in the body alone."""
    for name in (record.body, record.event_name):
        if name.startswith(PREFIXES):
            return name
    if record.event_name and record.scope_name.endswith("claude_code.events"):
        return f"claude_code.{record.event_name}"
    return ""


def _span(record: LogRecord, name: str, session: str, trace_id: str) -> Span | None:
    attributes = record.attributes
    agent, told = EVENTS.get(name, ("", None))
    if told is None or (name == "codex.sse_event" and attributes.get("event.kind") != _COMPLETED):
        return None
    found = {MARK: name, "gen_ai.operation.name": told.value, "gen_ai.agent.name": agent}
    if session:
        found["gen_ai.conversation.id"] = session
    title = agent
    if told is Told.PROMPT:
        prompt = attributes.get("prompt", "")
        if prompt and prompt not in _REDACTED:
            message = {"role": "user", "parts": [{"type": "text", "content": prompt}]}
            found["gen_ai.input.messages"] = orjson.dumps([message]).decode()
    elif told is Told.REQUEST:
        title = found["gen_ai.request.model"] = attributes.get("model", "")
        for key, names in _USAGE.items():
            if (figure := as_int(first(attributes, *names))) is not None:
                found[key] = str(figure)
        if cost := attributes.get("cost_usd"):
            found["gen_ai.usage.cost"] = cost
        if reply := _reply(attributes):
            found["gen_ai.output.messages"] = orjson.dumps([reply]).decode()
    else:
        title = found["gen_ai.tool.name"] = first(attributes, "tool_name", "function_name")
        found |= _tool(attributes)
    error = _error(name, attributes)
    duration = as_int(attributes.get("duration_ms")) or 0
    return Span(
        trace_id=trace_id,
        span_id=_hash(f"{trace_id}\0{name}\0{_identity(record)}", 8),
        parent_span_id="",
        name=f"{told.value} {title}".strip(),
        start=max(record.time - max(duration, 0) * _MILLISECOND, 0) or record.time,
        end=record.time,
        attributes={k: v for k, v in attributes.items() if k != "body"} | found,  # a request's or a response's whole
        attribute_types=record.attribute_types,
        status_code=STATUS_ERROR if error else 0,
        status_message=error,
        service=record.service,
        resource_attributes=record.resource_attributes,
        scope_name=record.scope_name,
        scope_version=record.scope_version,
        received_at=record.received_at,
        cut=record.cut,
        tenant=record.tenant,
    )


def _reply(attributes: Mapping[str, str]) -> Mapping[str, Any] | None:
    """What the model wrote: a text, or the content of a response as the provider's API has it."""
    text = attributes.get("response", "")
    if text and text not in _REDACTED:
        return {"role": "assistant", "parts": [{"type": "text", "content": text}]}
    content = (parse_object(attributes.get("body", "")) or {}).get("content")
    return {"role": "assistant", "content": content} if isinstance(content, list) and content else None


def _tool(attributes: Mapping[str, str]) -> dict[str, str]:
    found = {}
    if call_id := first(attributes, "tool_use_id", "call_id"):
        found["gen_ai.tool.call.id"] = call_id
    arguments = first(attributes, "tool_input", "arguments", "function_args", "tool_parameters")
    if arguments and arguments not in _REDACTED:
        found["gen_ai.tool.call.arguments"] = arguments
    result = first(attributes, "output", "function_response")
    if result and result not in _REDACTED:
        found["gen_ai.tool.call.result"] = result
    return found


def _error(name: str, attributes: Mapping[str, str]) -> str:
    """The text of a failure, "" for none; what the user refused or cancelled is no failure."""
    if attributes.get("success") != "false" and not name.endswith(".api_error"):
        return ""
    told = first(attributes, "error", "error.message", "error_message", "error_type", "status_code", "output")
    return "" if stopped_by_user(told) else told or "error"


def _identity(record: LogRecord) -> str:
    """All that the sender set, in one order: the same record, sent again, is the same span."""
    parts = (sorted(p) if isinstance(p, frozenset) else p for p in log_identity(record))  # type: ignore[attr-defined]
    return repr(list(parts))


def _hash(text: str, size: int) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=size).hexdigest()
