"""Haystack's spans (`haystack.*`): a pipeline, its components, and the steps of its agents.

Source: deepset-ai/haystack, `haystack/tracing` and `components/agents/agent.py` (versions 2 and 3). Every span has the
name of its operation; what a component does, its class tells. Inputs and outputs are JSON, and only there if
HAYSTACK_CONTENT_TRACING_ENABLED is set. Models and tokens are in the `meta` of a reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.spans import LogRecord, Span

from .arguments import tool_definitions
from .convention import Fields
from .dialect import Dialect
from .messages import parse_messages
from .results import tool_fields
from .values import as_int, as_text, first, parse_array, parse_object, text_list, text_of

_NAME: Final = "haystack.component.name"
_TYPE: Final = "haystack.component.type"
_TOOL_NAME: Final = "haystack.tool.name"
_OPERATIONS: Final = {
    "haystack.agent.run": Kind.AGENT,
    "haystack.agent.step.llm": Kind.LLM,
    "haystack.agent.step.tool": Kind.TOOL,
}
_ENDINGS: Final = (
    ("Generator", Kind.LLM),
    ("Agent", Kind.AGENT),
    ("Retriever", Kind.RETRIEVER),
    ("Embedder", Kind.EMBEDDING),
    ("Ranker", Kind.RERANKER),
    ("Evaluator", Kind.EVALUATOR),
)
"""Ends of the names that Haystack's own components and its integrations' have."""
_INPUTS: Final = (".input", ".input_data")
_OUTPUTS: Final = (".output", ".output_data")


class Haystack(Dialect):
    """Reads Haystack's spans."""

    name = "haystack"
    marks = frozenset({_NAME, _TYPE, _TOOL_NAME})
    names = ("haystack.",)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        component = attributes.get(_TYPE, "")
        kind = _OPERATIONS.get(span.name) or next((k for end, k in _ENDINGS if component.endswith(end)), Kind.CHAIN)
        sent, written = _side(attributes, _INPUTS), _side(attributes, _OUTPUTS)
        request, response = parse_object(sent) or {}, parse_object(written) or {}
        found: Fields = {"kind": kind, "input_text": sent, "output_text": written}
        found["session_id"] = attributes.get("gen_ai.conversation.id", "")
        if kind is Kind.LLM:
            return found | _call(request, response)
        if kind is Kind.TOOL:
            name = attributes.get(_TOOL_NAME, "") or span.name
            return found | {"tool_name": name} | tool_fields(sent, written or None)
        if component == "ToolInvoker":
            return found | _invoked(response)
        if kind is Kind.RETRIEVER:
            found["tool_name"] = attributes.get(_NAME, "")
            found["input_text"] = text_of(request.get("query")) or sent
            documents = (text_of(d.get("content")) for d in _list(response.get("documents")) if isinstance(d, dict))
            found["output_text"] = "\n".join(text for text in documents if text) or written
        elif span.name == "haystack.pipeline.run":
            found |= {"input_text": _shared_text(request), "output_text": _shared_text(response)}
        found["input_messages"] = tuple(_messages(request.get("messages")))
        last = response.get("last_message")
        said = tuple(_messages([last] if last else response.get("messages")))[-1:]
        found["output_messages"] = said if said and said[0].role == "assistant" else ()
        if kind is Kind.AGENT:
            found["agent_name"] = attributes.get(_NAME, "")
            found["max_steps"] = as_int(attributes.get("haystack.agent.max_steps"))
            tools = parse_array(attributes.get("haystack.agent.tools", ""))
            found["tool_names"] = tuple(t.name for t in tool_definitions(_tools(tools)))
        return found


def _side(attributes: Mapping[str, str], ends: tuple[str, ...]) -> str:
    """Input or output of a span, under its operation's own key."""
    return next((v for k, v in attributes.items() if k.startswith("haystack.") and k.endswith(ends)), "")


def _shared_text(components: Mapping[str, Any]) -> str:
    """What a pipeline was given, or gave back: the one text that stands in its components' fields, else ""."""
    fields = [v for fields in components.values() if isinstance(fields, dict) for v in fields.values()]
    texts = {text for value in fields for text in (value if isinstance(value, list) else [value]) if text_of(text)}
    return text_of(texts.pop()) if len(texts) == 1 else ""


def _call(request: Mapping[str, Any], response: Mapping[str, Any]) -> Fields:
    replies = response.get("replies")
    metas = response.get("meta") if isinstance(response.get("meta"), list) else _metas(replies)
    meta: Mapping[str, Any] = metas[0] if metas and isinstance(metas[0], dict) else {}
    usage = meta.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    prompt = text_of(request.get("prompt"))
    return {
        "input_messages": tuple(_messages(request.get("messages"))) or ((Message("user", prompt),) if prompt else ()),
        "output_messages": tuple(_messages(replies, "assistant")),
        "output_text": "",
        "tools": tool_definitions(_tools(request.get("tools"))),
        "model": text_of(meta.get("model")),
        "finish_reasons": text_list(meta.get("finish_reason")),
        "input_tokens": as_int(as_text(usage.get("prompt_tokens", usage.get("input_tokens")))),
        "output_tokens": as_int(as_text(usage.get("completion_tokens", usage.get("output_tokens")))),
    }


def _metas(replies: Any) -> list[Any]:
    return [r.get("meta", r.get("_meta")) for r in replies if isinstance(r, dict)] if isinstance(replies, list) else []


def _tools(items: Any) -> list[Any]:
    """Definitions, each as it is or as the `data` beside its class."""
    some = items if isinstance(items, list) else []
    return [item["data"] if isinstance(item, dict) and isinstance(item.get("data"), dict) else item for item in some]


def _messages(items: Any, role: str = "user") -> Iterator[Message]:
    """Messages of Haystack: a part holds one of `text`, `tool_call`, `tool_call_result` and `reasoning`."""
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            yield from parse_messages(item, role)
            continue
        message = {key.removeprefix("_"): value for key, value in item.items()}
        content = message.get("content")
        parts = [_part(part) for part in content] if isinstance(content, list) else content
        yield from parse_messages({**message, "content": parts}, role)


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    call, result = part.get("tool_call"), part.get("tool_call_result")
    if isinstance(call, dict):
        return {"tool_call": {**call, "name": call.get("tool_name", call.get("name"))}}
    if isinstance(result, dict):
        origin = result.get("origin")
        origin = origin if isinstance(origin, dict) else {}
        named = {"id": origin.get("id"), "name": origin.get("tool_name"), "result": result.get("result")}
        return {"tool_call_response": named}
    if isinstance(part.get("reasoning"), dict):
        return {"reasoning": {"text": text_of(part["reasoning"].get("reasoning_text"))}}
    return part


def _invoked(response: Mapping[str, Any]) -> Fields:
    """Version 2's component that runs all calls of a reply: a TOOL span where there was one, else a step."""
    answers = response.get("tool_messages")
    results = [
        result
        for answer in (answers if isinstance(answers, list) else ())
        if isinstance(answer, dict)
        for part in _list(answer.get("content", answer.get("_content")))
        if isinstance(part, dict) and isinstance(result := part.get("tool_call_result"), dict)
    ]
    if len(results) != 1:
        return {"output_messages": tuple(_messages(answers, "tool"))}
    origin = results[0].get("origin")
    origin = origin if isinstance(origin, dict) else {}
    told = as_text(results[0].get("result"))
    fields = tool_fields(as_text(origin.get("arguments")), told)
    if results[0].get("error") is True:
        fields["failure"] = told or "error"
    texts = {k: v for k, v in origin.items() if isinstance(v, str)}
    return fields | {"kind": Kind.TOOL, "tool_name": first(texts, "tool_name"), "tool_call_id": first(texts, "id")}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
