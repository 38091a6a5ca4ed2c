"""JSON messages to `Message`s, whatever API's dialect they are written in.

OpenTelemetry GenAI (`parts` of `{"type": "text" | "reasoning" | "tool_call" | "tool_call_response"}`), OpenAI
(`content` text or list, `tool_calls`, `tool_call_id`), Anthropic (`tool_use`, `tool_result`), Bedrock (`toolUse`,
`toolResult`), Gemini (`functionCall`, `functionResponse`) and the Vercel AI SDK (`tool-call`, `tool-result`): a part is
known by its type or by the key it has. LangChain's serialised messages and LlamaIndex's `blocks` are messages too.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from tracejury.schemas.normalized import Message, ToolRequest

from .arguments import parse_arguments, unwrap
from .literals import parse_notation
from .parts import NOT_RECORDED, client_call, placeholder, provider_call, provider_response
from .values import as_text, first, text_of

TOOL_ROLE: Final = "tool"
_REQUEST_KEYS: Final = ("tool_call", "tool_use", "toolUse", "functionCall", "function_call", "toolCall", "tool-call",
                       "toolRequest")  # fmt: skip
_RESPONSE_KEYS: Final = (
    "tool_call_response", "tool_result", "toolResult", "functionResponse", "function_response", "tool-result",
    "function_call_output", "toolResponse",
)  # fmt: skip
_ITEMS: Final = frozenset({"function_call", "function_call_output", "reasoning"})
"""Types of what OpenAI's Responses API lists beside messages."""

_ITEM_ENDINGS: Final = ("_call", "_call_output")
"""Endings of the other types of such items: tools that the provider or a client's own code ran."""

_REASONING_KEYS: Final = ("reasoning", "thinking", "reasoningContent", "redacted_thinking")
_RESULT_KEYS: Final = ("response", "result", "content", "output")
_ID_KEYS: Final = ("call_id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "id", "ref")
ROLES: Final = {"model": "assistant", "ai": "assistant", "human": "user"}
_TYPES: Final = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool",
    "function_call": "assistant", "reasoning": "assistant",
}  # fmt: skip
_ERROR_VALUES: Final = frozenset({"error-text", "error-json"})
_PART_TYPES: Final = frozenset(
    {"text", "thinking", "tool_call", "tool_use", "tool_call_response", "tool_result", "tool-call", "tool-result",
     "server_tool_call", "server_tool_call_response", "server_tool_use", "blob", "file", "uri", "image", "image_url"}
)  # fmt: skip
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")  # a message's field that is no part
_VALUED: Final = frozenset({"text", "error-text", "json", "error-json"})  # Vercel: {"type": ..., "value": ...}


def parse_messages(value: Any, default_role: str = "user") -> tuple[Message, ...]:
    """Messages out of a parsed JSON list (or one message); what is no message is left out."""
    items = value if isinstance(value, list) else [value]
    return tuple(message for item in items for message in _shared(item, default_role))


def _shared(item: Any, default_role: str) -> Iterable[Message]:
    """The `Message`s of one JSON message; of a short one that was read lately, the same objects again."""
    written = marshal.dumps(item, _MARSHAL)
    return _remembered(written, default_role) if len(written) <= _SHORT else read_message(item, default_role)


@lru_cache(maxsize=8192)
def _remembered(written: bytes, default_role: str) -> tuple[Message, ...]:
    """Every call of a conversation is sent all of it."""
    return tuple(read_message(marshal.loads(written), default_role))  # noqa: S302  written above


_SHORT: Final = 4000  # bytes of a message that is remembered
_MARSHAL: Final = 2  # the version in which equal values are equal bytes, JSON's exceptions (NaN, huge numbers) included


def read_message(item: Any, default_role: str = "user") -> Iterator[Message]:
    """One JSON message as `Message`s: several tool responses in one message are one `Message` each."""
    if isinstance(item, str):
        yield Message(default_role, item)
    if not isinstance(item, dict):
        return
    item = _unwrapped(item)
    kind = text_of(item.get("type"))
    asking = "assistant" if kind.endswith("_call") else default_role
    role = (text_of(item.get("role")) or _TYPES.get(kind, asking)).lower()
    draft = _Draft(role=ROLES.get(role, role), name=text_of(item.get("name")))
    call_id = first(_texts(item), "tool_call_id", "id") if draft.role == TOOL_ROLE else ""
    draft.failed = draft.role == TOOL_ROLE and _is_failed(item, None)
    for part in _parts(item):
        yield from draft.add(part)
    for call in _calls(item):
        draft.add_request(call)
    more = item.get("additional_kwargs")
    for thoughts in (item, more if isinstance(more, dict) else {}):
        draft.add_reasoning(next((t for key in _THOUGHTS if isinstance(t := thoughts.get(key), str) and t), None))
    yield from draft.finish(call_id)


def is_message(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a message by its form, whatever its dialect; a part of a message is none."""
    if isinstance(item.get("role"), str) or any(isinstance(item.get(key), list) for key in ("parts", "blocks")):
        return True
    kind = text_of(item.get("type"))
    if kind in _ITEMS or kind.endswith(_ITEM_ENDINGS):
        return True
    if "lc" in item:
        inner = item.get("kwargs")
        return isinstance(inner, dict) and "content" in inner
    if kind in _TYPES and isinstance(item.get("data"), dict):
        return True
    asks = isinstance(item.get("tool_calls"), list) or isinstance(item.get("toolCalls"), list)
    return (asks or isinstance(item.get("content"), str | list)) and not is_part(item)


def is_part(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a part of a message that stands without one."""
    return "role" not in item and text_of(item.get("type")) in _PART_TYPES


def _unwrapped(item: dict[str, Any]) -> dict[str, Any]:
    """The message inside LangChain's `{"lc": 1, "kwargs": {...}}` or `{"type": "human", "data": {...}}`."""
    if "lc" in item and isinstance(item.get("kwargs"), dict):
        return dict(item["kwargs"])
    if text_of(item.get("type")) in _TYPES and isinstance(item.get("data"), dict):
        return {"type": item["type"], **item["data"]}
    inner = item.get("content")
    if isinstance(inner, dict) and isinstance(inner.get("parts"), list):  # Gemini's content in a message event
        return {**item, **inner}
    return item


def _parts(item: dict[str, Any]) -> list[Any]:
    for key in ("parts", "blocks"):
        if isinstance(item.get(key), list):
            return list(item[key])
    kind = text_of(item.get("type"))
    if kind in _ITEMS or ("role" not in item and kind.endswith(_ITEM_ENDINGS)):
        return [item]
    content = item.get("content", item.get("text") if "toolCalls" in item else None)
    return content if isinstance(content, list) else [content]


def _calls(item: dict[str, Any]) -> list[Any]:
    """Tool calls of a message; LlamaIndex and older LangChain keep them among additional arguments.

    LangChain lists those whose arguments are no JSON apart. OpenAI's older API has one, without an id. The result of
    Vercel's AI SDK has them as `toolCalls` beside its `text`.
    """
    calls = item.get("tool_calls") or item.get("toolCalls")
    more = item.get("additional_kwargs")
    if not calls and isinstance(more, dict):
        calls = more.get("tool_calls")
    unread = item.get("invalid_tool_calls")
    if calls and calls is not item.get("tool_calls"):
        unread = None  # the additional arguments hold all that the provider sent
    found = [call for part in (calls, unread) if isinstance(part, list) for call in part]
    return found or ([item["function_call"]] if "function_call" in item and "role" in item else [])


@dataclass(slots=True)
class _Draft:
    """Parts of one message so far."""

    role: str
    name: str
    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    requests: list[ToolRequest] = field(default_factory=list)
    failed: bool = False
    unanswered: dict[str, None] = field(default_factory=dict)
    emitted: bool = False

    def add(self, part: Any) -> Iterator[Message]:
        """Take in one part; a tool response is a message of its own."""
        if isinstance(part, str):
            self.texts.append(part)
        if not isinstance(part, dict):
            return
        kind, body = _kind_and_body(part)
        if kind in _RESPONSE_KEYS:
            yield from self._answer(body)
        elif kind in _REQUEST_KEYS:
            self.add_request(body)
        elif kind in _REASONING_KEYS:
            self.add_reasoning(body)
        elif (text := _text(part)) and (noted := _noted_call(text) if self.role == "assistant" else None):
            self.add_request(noted)
        elif text:
            (self.reasoning if part.get("thought") is True else self.texts).append(text)
        else:
            yield from self._add_other(part)

    def _add_other(self, part: dict[str, Any]) -> Iterator[Message]:
        """Take in a part that is neither text nor a call of the client's functions."""
        if call := provider_call(part):
            self.add_request(call)
            call_id = text_of(call["id"])
            if "response" in call:
                yield from self._answer(call)
            elif call_id:
                self.unanswered[call_id] = None
        elif response := provider_response(part):
            self.unanswered.pop(text_of(response["id"]), None)
            yield from self._answer(response)
        elif call := client_call(part):
            self.add_request(call)
        elif name := placeholder(part):
            self.texts.append(name)

    def _answer(self, response: Any) -> Iterator[Message]:
        yield from self.flush()
        self.emitted = True
        yield _response(response)

    def add_request(self, body: Any) -> None:
        """Take in a tool call that the model asks for."""
        if not isinstance(body, dict):
            return
        function = body["function"] if isinstance(body.get("function"), dict) else body
        name = first(_texts(function), "name", "toolName")
        if not name:
            return
        raw = next((function[k] for k in ("arguments", "input", "args") if k in function), None)
        arguments = parse_arguments(raw) if isinstance(raw, str) else unwrap(raw)
        call_id = first(_texts(body), *_ID_KEYS)
        # ADK writes name and place for a call that Gemini gave no id; the tool's span has another, of ADK's own.
        placed = call_id.removeprefix(f"{name}_")
        self.requests.append(ToolRequest(name, arguments, "" if placed != call_id and placed.isdecimal() else call_id))

    def add_reasoning(self, body: Any) -> None:
        """Take in what the model thought."""
        if isinstance(body, dict):
            body = (
                first(_texts(body), "content", "thinking", "text") or body.get("reasoningText") or body.get("summary")
            )
            body = flatten(body) if isinstance(body, list) else body.get("text") if isinstance(body, dict) else body
        if isinstance(body, str) and body:
            self.reasoning.append(body)

    def flush(self, call_id: str = "") -> Iterator[Message]:
        """The message of the parts so far, if there are any."""
        if self.texts or self.requests or self.reasoning:
            self.emitted = True
            text, thought = "\n".join(self.texts), "\n".join(self.reasoning)
            yield Message(self.role, text, tuple(self.requests), call_id, self.name, thought, self.failed)
        self.texts, self.reasoning, self.requests = [], [], []

    def finish(self, call_id: str) -> Iterator[Message]:
        """The remaining parts as a message; an empty reply or tool result is one too, an empty prompt is not."""
        yield from self.flush(call_id)
        for unanswered in self.unanswered:
            yield Message(TOOL_ROLE, NOT_RECORDED, tool_call_id=unanswered)
        if not self.emitted and self.role not in ("user", "system"):
            yield Message(self.role, "", tool_call_id=call_id, name=self.name, failed=self.failed)


def _noted_call(text: str) -> dict[str, Any] | None:
    """A call that a client's instrumentation wrote as the `repr` of the object, in place of words."""
    if "arguments=" not in text or "type=" not in text:
        return None
    fields = parse_notation(text.strip()) or {}
    return fields if text_of(fields.get("type")) in _REQUEST_KEYS and text_of(fields.get("name")) else None


def _kind_and_body(part: dict[str, Any]) -> tuple[str, Any]:
    kind = text_of(part.get("type"))
    if kind in _REQUEST_KEYS or kind in _RESPONSE_KEYS or kind in _REASONING_KEYS:
        return kind, part
    for key, body in part.items():
        if body is None:  # Gemini's parts name all that they could hold
            continue
        if key in _REQUEST_KEYS or key in _RESPONSE_KEYS or key in _REASONING_KEYS:
            return key, body
    return kind, part


def _response(body: Any) -> Message:
    if not isinstance(body, dict):
        return Message(TOOL_ROLE, as_text(body))
    result = next((body[k] for k in _RESULT_KEYS if k in body), None)
    call_id = first(_texts(body), *_ID_KEYS)
    name = first(_texts(body), "name", "toolName")
    return Message(TOOL_ROLE, flatten(result), tool_call_id=call_id, name=name, failed=_is_failed(body, result))


def _is_failed(body: dict[str, Any], result: Any) -> bool:
    """Whether a result is marked as a failure: Anthropic, MCP, Bedrock and LangChain, the Vercel AI SDK."""
    if body.get("is_error") is True or body.get("isError") is True or body.get("status") == "error":
        return True
    return isinstance(result, dict) and text_of(result.get("type")) in _ERROR_VALUES


def flatten(value: Any) -> str:
    """A result's text: a list of text parts as their texts, everything else as text or JSON."""
    if isinstance(value, dict) and value.keys() == {"type", "value"} and text_of(value["type"]) in _VALUED:
        value = value["value"]
    if isinstance(value, list) and value:
        texts = [(_text(part) or placeholder(part)) if isinstance(part, dict) else part for part in value]
        if all(isinstance(t, str) and t for t in texts):
            return "\n".join(str(t) for t in texts)
    return as_text(value)


def _text(part: dict[str, Any]) -> str:
    text = part.get("text")
    if isinstance(text, str):
        return text
    content = part.get("content")
    if isinstance(content, str) and part.get("type") in ("text", None):
        return content
    if isinstance(text, dict):  # {"text": {"value": ...}}
        return text_of(text.get("value"))
    return ""


def _texts(body: dict[str, Any]) -> dict[str, str]:
    return {k: v for k, v in body.items() if isinstance(v, str)}


def with_system(system: Iterable[Message], messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` after the system messages, unless they begin with those already."""
    missing = tuple(s for s in system if s.text and not any(m.text == s.text for m in messages[:2]))
    return missing + messages if missing else messages
