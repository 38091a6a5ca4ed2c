"""OpenTelemetry GenAI semantic conventions: `gen_ai.*` attributes, span events and log records.

Source: open-telemetry/semantic-conventions-genai (Development) and the older forms that are still sent. What a span
stands for is told by `gen_ai.operation.name`; where that is missing or none of the conventions', by all it carries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.processors.names import is_model
from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import STATUS_ERROR, LogRecord, Span

from .arguments import as_schema, definitions, parse_arguments
from .convention import Fields, unread_log_text
from .genai_content import Content, holds_messages, read_content
from .genai_operations import HANDOFF_TARGET, MEMORY, memory_fields, retrieval_fields, tool_failure
from .messages import parse_messages
from .results import read_result
from .values import NOT_JSON, as_int, as_text, first, parse_array, parse_json, parse_object, text_list

_PREFIX: Final = "gen_ai."
_OPERATION: Final = "gen_ai.operation.name"
_AGENT_NAME: Final = "gen_ai.agent.name"
_TOOL_NAME: Final = "gen_ai.tool.name"
_MODEL: Final = "gen_ai.request.model"
_RUNS_WORKFLOW: Final = "invoke_workflow"

_FETCH: Final = "fetch_response"  # proposed: asks for the answer of a call in the background, perhaps in vain
_KINDS: Final = {
    "chat": Kind.LLM,
    "generate_content": Kind.LLM,
    "text_completion": Kind.LLM,
    "embeddings": Kind.EMBEDDING,
    "retrieval": Kind.RETRIEVER,
    "invoke_agent": Kind.AGENT,
    _RUNS_WORKFLOW: Kind.AGENT,
    "execute_tool": Kind.TOOL,
    **dict.fromkeys(MEMORY, Kind.TOOL),
    "plan": Kind.PLAN,
    _FETCH: Kind.LLM,
    **dict.fromkeys(("run_step", "handle_conversation_turn"), Kind.CHAIN),  # may repeat what the calls in them say
}
_CREATE: Final = "create_agent"
_CALLS: Final = ("chat", "text", "completion", "generate", "response", "message")
"""Beginnings of the names that older versions and SDKs give operations of models ("chat.completions", "response")."""

_WORD: Final = re.compile(r"[a-z]+")
_RUNS: Final = frozenset({"call", "execute", "invocation", "invoke", "run"})
_LONGEST: Final = 200  # characters of an operation's name that are looked at

_CONTENT: Final = (
    "gen_ai.usage.", "gen_ai.input.", "gen_ai.output.", "gen_ai.prompt", "gen_ai.completion", "gen_ai.system_instr",
)  # fmt: skip
"""Beginnings of keys for messages and tokens."""
_OTHER_SYSTEMS: Final = ("http.", "url.", "db.", "rpc.", "messaging.")
_SERVING: Final = frozenset({2, 4, 5})  # opentelemetry.proto.trace.v1.Span.SpanKind: server, producer, consumer

_PARENTS: Final = ("gen_ai.agent.handoff_parent", "gen_ai.handoff.parent_agent")  # the agent that handed over
_SOURCE: Final = "gen_ai.agent.handoff.source.name"  # the same; also on the calls of that agent itself
_WORKFLOW: Final = "gen_ai.workflow.name"  # until workflows were agents
_INVOKE: Final = ("invoke_agent ", "invoke_workflow ")
_WITH_CONTENT: Final = frozenset({Kind.LLM, Kind.AGENT, Kind.TOOL, Kind.PLAN})
_SENT: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.response.prompt_tokens")
_WRITTEN: Final = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "gen_ai.response.completion_tokens")
_STATUSES: Final = ("gen_ai.tool.status", "tool.status", "gen_ai.task.status", "agent.invocation.status")
_FAILED: Final = frozenset({"error", "failure", "failed"})
_PARAMETERS: Final = "code.function.parameters."
_VALUE: Final = ".value"
_END_REASONS: Final = (".end_reason", "agent.finish_reason")
_BROKEN_OFF: Final = re.compile(r"max_\w{1,30}|\w{0,30}(?:budget|limit|timeout|error|fail)\w{0,30}|cancell?ed")
_NOT_TOOLS: Final = frozenset({"(merged tools)"})  # Google ADK: a summary span after parallel calls
_ARGUMENTS: Final = ("args", "arguments", "parameters")
_SESSIONS: Final = ("gen_ai.conversation.id", "session.id", "gen_ai.session.id", "gen_ai.thread.id")
_NO_IDS: Final = frozenset({"<not specified>", "None"})  # Google ADK, where the tool raised


class GenAI:
    """Reads spans of the OpenTelemetry GenAI conventions."""

    name = "genai"
    marks = frozenset({_OPERATION, _AGENT_NAME, _TOOL_NAME, "gen_ai.system", "gen_ai.provider.name", _MODEL})

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """Any `gen_ai.*` attribute, or messages in a log record joined to the span."""
        attributes = span.attributes
        if not attributes.keys().isdisjoint(self.marks) or any(key.startswith(_PREFIX) for key in attributes):
            return True
        return any(holds_messages(log) for log in logs)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        return self.read_as(_kind(span, logs), span, logs)

    def read_as(self, kind: Kind, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """What the conventions' keys say of a span that is known to be of `kind`."""
        attributes = span.attributes
        content = read_content(span, logs) if kind in _WITH_CONTENT else Content()
        operation = attributes.get(_OPERATION, "")
        name = attributes.get(_AGENT_NAME, "")
        if operation == _RUNS_WORKFLOW:
            name = name or attributes.get(_WORKFLOW, "")
        stateless = kind is Kind.TOOL and span.status_code != STATUS_ERROR
        found: Fields = {
            "kind": kind,
            "agent_name": name if kind is Kind.AGENT else "",
            "agent_hint": "" if kind is Kind.AGENT else name or content.speaker,
            "run_hint": attributes.get("gen_ai.agent.call.id", ""),
            "agent_id": attributes.get("gen_ai.agent.id", ""),
            "agent_parent": first(attributes, *_PARENTS) or (attributes.get(_SOURCE, "") if kind is Kind.AGENT else ""),
            "agent_description": attributes.get("gen_ai.agent.description", ""),
            "session_id": first(attributes, *_SESSIONS),
            "failure": _failure(attributes, kind) or (tool_failure(attributes) if stateless else ""),
        }
        if content.used_logs:
            found["log_text"] = unread_log_text(logs, content.used_logs)
        if operation in MEMORY and _TOOL_NAME not in attributes:
            found |= memory_fields(operation, attributes)
        elif kind is Kind.TOOL:
            found |= _tool(span, content)
        elif kind is not Kind.OTHER:
            found |= _call(attributes, content)
            if kind is Kind.AGENT:
                found |= _agent(span)
            elif kind is Kind.RETRIEVER:
                found |= retrieval_fields(attributes)
        elif given := attributes.get("gen_ai.tool.definitions"):  # create_agent: what the agent is given
            found["tools"] = definitions(given)
        return found


def _failure(attributes: Mapping[str, str], kind: Kind) -> str:
    """The failure that attributes beside the span's status report (Strands, OpenLLMetry), in their own words.

    Of an agent, also the reason of its end, if that is none by which agents finish (proposed, under several keys).
    """
    told = next((value for key in _STATUSES if (value := attributes.get(key)) in _FAILED), "")
    if not told and kind is Kind.AGENT:
        reasons = (value for key, value in attributes.items() if key.endswith(_END_REASONS))
        told = next((reason for reason in reasons if _BROKEN_OFF.fullmatch(reason.lower())), "")
    return (attributes.get("error.type") or told) if told else ""


def _kind(span: Span, logs: Sequence[LogRecord]) -> Kind:
    """What all that the span says makes of it; an operation that is not known says less than a tool or messages."""
    attributes = span.attributes
    operation = attributes.get(_OPERATION, "")
    if operation == _CREATE:
        return Kind.OTHER
    if attributes.get(_TOOL_NAME) in _NOT_TOOLS:
        return Kind.CHAIN
    if known := _KINDS.get(operation):
        return Kind.CHAIN if operation == _FETCH and "gen_ai.output.messages" not in attributes else known
    if _TOOL_NAME in attributes or "gen_ai.tool.call.id" in attributes:
        return Kind.TOOL
    if operation and (named := _of_function(operation, span)):
        return named
    if _MODEL in attributes or "gen_ai.response.model" in attributes:
        is_call = _is_call(span, logs, stated=not operation)
    else:
        is_call = any(holds_messages(log) for log in logs)
    return Kind.LLM if is_call else Kind.CHAIN


def _of_function(operation: str, span: Span) -> Kind | None:
    """Kind of a client's function or route, synchronous or not (`acompletion`, `aembedding`), by its name.

    A client may have written it on an agent's span that it found open.
    """
    words = {*_WORD.findall(operation[:_LONGEST].lower())}
    runs = "agent" in words and (len(words) == 1 or not words.isdisjoint(_RUNS))
    if _AGENT_NAME in span.attributes and (runs or span.name.startswith(_INVOKE)):
        return Kind.AGENT
    names = (operation, operation.removeprefix("a"))
    if any(name.startswith("embedding") for name in names):
        return Kind.EMBEDDING
    return Kind.LLM if "llm" in words or any(name.startswith(_CALLS) for name in names) else None


def _is_call(span: Span, logs: Sequence[LogRecord], *, stated: bool) -> bool:
    """Whether a span with a model's name records a call of the model.

    Gateways copy the name onto all that they do for a request. Messages or tokens make a call of it; without them it is
    none where it serves a request, or is of the web, a database or a queue. `stated`: nothing says what else it is.
    """
    attributes = span.attributes
    if any(key.startswith(_CONTENT) for key in attributes) or any(e.name.startswith(_PREFIX) for e in span.events):
        return True
    if any(holds_messages(log) for log in logs):
        return True
    return stated and span.kind not in _SERVING and not any(key.startswith(_OTHER_SYSTEMS) for key in attributes)


def _call(attributes: Mapping[str, str], content: Content) -> Fields:
    return {
        "input_messages": content.inputs,
        "continues_input": content.inputs_go_on,
        "output_messages": content.outputs,
        "output_text": content.output_text,
        "tools": content.tools,
        "model": first(attributes, _MODEL, "gen_ai.response.model"),
        "stop_sequences": text_list(parse_array(attributes.get("gen_ai.request.stop_sequences", ""))),
        "max_tokens": as_int(attributes.get("gen_ai.request.max_tokens")),
        "finish_reasons": text_list(parse_array(attributes.get("gen_ai.response.finish_reasons", "")))
        or text_list(attributes.get("gen_ai.response.finish_reason", ""))
        or content.finish_reasons,
        "input_tokens": as_int(first(attributes, *_SENT)),
        "output_tokens": as_int(first(attributes, *_WRITTEN)),
    }


def _tool(span: Span, content: Content) -> Fields:
    attributes = span.attributes
    schema = as_schema(parse_object(first(attributes, "gen_ai.tool.json_schema", "gen_ai.tool.parameters")))
    name = attributes.get(_TOOL_NAME) or span.name.removeprefix("execute_tool ")
    defined = next((d for d in definitions(attributes.get("gen_ai.tool.definitions", "")) if d.name == name), None)
    call_id = attributes.get("gen_ai.tool.call.id", "")
    arguments = attributes.get("gen_ai.tool.call.arguments") or as_text(content.tool_arguments) or _sent(attributes)
    arguments = arguments or _of_parameters(attributes)
    handed = {"agent_name": target} if (target := attributes.get(HANDOFF_TARGET)) else None
    returned = attributes.get("code.function.return.value", content.tool_result)
    recorded = attributes.get("gen_ai.tool.call.result", returned)
    if recorded is None and "gen_ai.output.messages" in attributes:
        told = "\n".join(message.text for message in content.outputs if message.text)
        recorded = told or attributes["gen_ai.output.messages"]
    result = read_result(recorded, quoted=True) if recorded else None
    said: Fields = {"failure": result.failure} if result and result.failure else {}
    return said | {
        "input_text": arguments,
        "output_text": content.tool_result or "",
        "tool_name": name,
        "tool_call_id": ("" if call_id in _NO_IDS else call_id) or (result.call_id if result else ""),
        "tool_description": attributes.get("gen_ai.tool.description", ""),
        "tool_arguments": parse_arguments(arguments, schema) if arguments else handed,
        "tool_result": result.text if result else recorded,
        "tool_parameters": schema or (defined.parameters if defined else None),
    }


def _of_parameters(attributes: Mapping[str, str]) -> str:
    """Arguments that stand one a key, as Google's client records those of the functions that it calls."""
    keys = [key for key in attributes if key.startswith(_PARAMETERS) and key.endswith(_VALUE)]
    return as_text({key[len(_PARAMETERS) : -len(_VALUE)]: attributes[key] for key in keys}) if keys else ""


def _sent(attributes: Mapping[str, str]) -> str:
    """A tool's arguments where its span has them as messages: the call itself, or in an object or message with it."""
    text = attributes.get("gen_ai.input.messages", "")
    value = parse_json(text)
    asked = next((r for m in parse_messages(value) for r in m.tool_requests), None) if value is not NOT_JSON else None
    if asked is not None:
        return as_text(asked.arguments)
    inner = next((value[k] for k in _ARGUMENTS if k in value), None) if isinstance(value, dict) else None
    return text if inner is None else as_text(inner)


def _agent(span: Span) -> Fields:
    """A span of an agent or a workflow is named `invoke_agent {name}`, should the attribute be lost."""
    attributes = span.attributes
    found: Fields = {"tool_names": text_list(parse_array(attributes.get("gen_ai.agent.tools", "")))}
    if not first(attributes, _AGENT_NAME, _WORKFLOW) and span.name.startswith(_INVOKE):
        name = span.name.partition(" ")[2].strip()
        # Vercel's AI SDK 7 puts the model where the agent has no name; an agent keeps its name under another model.
        models = (attributes.get(_MODEL, ""), attributes.get("gen_ai.response.model", ""))
        found["agent_name"] = "" if any(is_model(name, model) for model in models) else name
    return found
