"""The same recording by OpenTelemetry's GenAI conventions, with its content in attributes, span events or log records.

Truth: what the messages, names and outcomes of the capture say; not applicable where no content was captured. With
log events alone there are no spans: calls stand in the messages, and a call of the last turn has no outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tracejury.schemas.batch import Batch
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span, SpanEvent

from .recording import Recording

DETAILS: Final = "gen_ai.client.inference.operation.details"

_ROLES: Final = {
    "human": "user", "ai": "assistant", "model": "assistant", "tool-call": "assistant", "tool-response": "tool",
    "developer": "system", "function": "tool",
}  # fmt: skip


def in_attributes(of: Recording) -> Batch | None:
    """All content on the spans: nothing is lost, and the other rungs of this kind can be compared with it."""
    if not has_content(of):
        return None
    return Batch([as_genai(span, content_of(span)) for span in _named(of)])


def in_events(of: Recording) -> Batch | None:
    """Messages in an event of each span."""
    if not has_content(of):
        return None
    spans = []
    for span in _named(of):
        written, content = as_genai(span, {}), content_of(span)
        if content:
            written = replace(written, events=(*written.events, SpanEvent(span.raw.end, DETAILS, content)))
        spans.append(written)
    return Batch(spans)


def in_logs(of: Recording) -> Batch | None:
    """Messages in a log record beside each span."""
    if not has_content(of):
        return None
    named = _named(of)
    logs = [_record(span, content) for span in named if (content := content_of(span))]
    return Batch([as_genai(span, {}) for span in named], logs)


def logs_alone(of: Recording) -> Batch | None:
    """A log record of each LLM call, with usage, tools and session, and no span at all."""
    if not has_content(of):
        return None
    turns = [turn for trace in of.traces for run in trace.runs for turn in run.turns]
    twins = {(w.raw.trace_id, w.span_id) for turn in turns if turn.llm for w in turn.wrappers}
    calls = [s for s in of.spans if s.kind is Kind.LLM and (s.raw.trace_id, s.span_id) not in twins]
    session = {"gen_ai.conversation.id": of.raw[0].trace_id}
    return Batch((), [_record(span, {**session, **_call(span), **content_of(span)}) for span in calls])


def has_content(of: Recording) -> bool:
    """Whether what a model wrote was captured."""
    return any(span.kind is Kind.LLM and span.output_messages for span in of.spans)


def _named(of: Recording) -> list[NormalizedSpan]:
    """The spans; a run's own span is an agent's that bears the run's name, goal and answer, as the conventions ask."""
    runs = {(run.span.raw.trace_id, run.span.span_id): run for t in of.traces for run in t.runs if run.span is not None}
    spans = []
    for span in of.spans:
        run = runs.get((span.raw.trace_id, span.span_id))
        if run is not None and span.kind is not Kind.LLM:
            goal = (Message("user", run.goal),) if run.goal else ()
            answer = (Message("assistant", run.answer),) if run.answer else ()
            told = replace(span, kind=Kind.AGENT, agent_name=run.name, input_messages=goal, output_messages=answer)
            spans.append(replace(told, input_text="", output_text=""))
        else:
            spans.append(span)
    return spans


def content_of(span: NormalizedSpan) -> dict[str, str]:
    """The attributes that hold a span's messages; {} where it has none."""
    told = span.input_messages or ((Message("user", span.input_text),) if span.input_text else ())
    wrote = span.output_messages or ((Message("assistant", span.output_text),) if span.output_text else ())
    if span.kind not in {Kind.LLM, Kind.AGENT}:
        return {}
    found = {
        "gen_ai.input.messages": messages(told) if told else "",
        "gen_ai.output.messages": messages(wrote) if wrote else "",
    }
    return {key: value for key, value in found.items() if value}


def messages(of: Iterable[Message]) -> str:
    """The value of `gen_ai.input.messages`."""
    return json.dumps([_message(message) for message in of], ensure_ascii=False)


def _message(message: Message) -> dict[str, Any]:
    role = _ROLES.get(message.role, message.role)
    if role == "tool":
        part = {"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}
        return {"role": role, "name": message.name, "parts": [part]}
    parts: list[dict[str, Any]] = []
    if message.reasoning:
        parts.append({"type": "reasoning", "content": message.reasoning})
    if message.text:
        parts.append({"type": "text", "content": message.text})
    parts += (
        {"type": "tool_call", "id": request.call_id, "name": request.name, "arguments": request.arguments}
        for request in message.tool_requests
    )
    return {"role": role, "parts": parts}


def as_genai(span: NormalizedSpan, content: Mapping[str, str]) -> Span:
    """The span by the conventions; ids, times, status and exceptions stay."""
    name, attributes = span.raw.name, _attributes(span)
    if span.kind is Kind.AGENT:
        name = f"invoke_agent {span.agent_name}".rstrip()
    exceptions = tuple(event for event in span.raw.events if event.name == "exception")
    return replace(
        span.raw,
        name=name,
        attributes={**attributes, **content},
        attribute_types={},
        events=exceptions,
        scope_name="ladder",
    )


def _attributes(span: NormalizedSpan) -> dict[str, str]:
    found = {"gen_ai.conversation.id": span.session_id}
    if span.kind is Kind.AGENT:
        found |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": span.agent_name}
    elif span.kind is Kind.LLM:
        found |= _call(span) | {"gen_ai.agent.name": span.agent_hint}
    elif span.kind is Kind.TOOL:
        found |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": span.tool_name,
            "gen_ai.tool.call.id": span.tool_call_id,
            "gen_ai.tool.call.arguments": ""
            if span.tool_arguments is None
            else json.dumps(span.tool_arguments, ensure_ascii=False, default=dict),
            "gen_ai.tool.call.result": span.tool_result or "",
        }
    return {key: value for key, value in found.items() if value}


def _call(span: NormalizedSpan) -> dict[str, str]:
    found = {"gen_ai.operation.name": "chat", "gen_ai.request.model": span.model or "model"}
    if span.input_tokens is not None:
        found["gen_ai.usage.input_tokens"] = str(span.input_tokens)
    if span.output_tokens is not None:
        found["gen_ai.usage.output_tokens"] = str(span.output_tokens)
    if span.tools:
        tools = [
            {"type": "function", "name": t.name, "description": t.description, "parameters": t.parameters}
            for t in span.tools
        ]
        found["gen_ai.tool.definitions"] = json.dumps(tools, ensure_ascii=False, default=dict)
    return found


def _record(span: NormalizedSpan, attributes: Mapping[str, str]) -> LogRecord:
    raw = span.raw
    return LogRecord(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        time=raw.end,
        observed_time=raw.end,
        event_name=DETAILS,
        attributes=attributes,
        service=raw.service,
        resource_attributes=raw.resource_attributes,
        scope_name="ladder",
        received_at=raw.received_at,
        tenant=raw.tenant,
    )
