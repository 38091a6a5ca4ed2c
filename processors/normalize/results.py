"""Tool results out of the records that frameworks make of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .arguments import parse_arguments
from .convention import Fields
from .literals import parse_literal
from .messages import flatten
from .values import NOT_JSON, as_text, parse_json, text_of

_ERROR_STATES: Final = frozenset({"error", "failure", "failed"})
_ERROR_FLAGS: Final = ("is_error", "isError")
_ENVELOPE: Final = frozenset({"output", "kwargs"})
_RESPONSE: Final = frozenset({"id", "name", "response", "scheduling", "will_continue", "parts"})
_VERDICT: Final = frozenset(
    {"error", "status", "success", "ok", "type", "code", "message", "details", "traceback",
     "error_message", "errorMessage", "error_code", "error_type", "exception"}
)  # fmt: skip
"""Keys of an object that only says that something failed, and how."""

_ERROR_TEXTS: Final = ("error_message", "errorMessage", "exception")

_MESSAGE_TEXT: Final = re.compile(r"content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") (?:name|tool_call_id|status)=")
_MESSAGE_CALL: Final = re.compile(r" tool_call_id='([^'\\ ]{1,200})'")
_LONGEST_NOTATION: Final = 20_000


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result: `text` as the model is sent it; `failure`: its text where it reports one."""

    text: str
    call_id: str = ""
    failure: str = ""


def read_result(text: str, *, quoted: bool = False) -> ToolResult:
    """The result that `text` records; `quoted`: the instrumentation writes even strings as JSON."""
    if text[:1] == '"' and quoted:
        items = parse_json(f"[{text}]")
        if isinstance(items, list) and len(items) == 1:
            return read_result(text_of(items[0]))
    if text.startswith("content="):
        return _from_notation(text)
    value = parse_json(text)
    if isinstance(value, dict):
        return _read(value, text)
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return ToolResult(flatten(value))
    return ToolResult(text)


def tool_fields(arguments: str, recorded: str | None) -> Fields:
    """Fields of a TOOL span from the text of its arguments and of its result, None where it recorded none."""
    result = read_result(recorded, quoted=True) if recorded else None
    return {
        "input_text": arguments,
        "output_text": result.text if result else "",
        "tool_arguments": parse_arguments(arguments) if arguments else None,
        "tool_result": result.text if result else recorded,
        "failure": result.failure if result else "",
    }


def result_failure(text: str) -> str:
    """The failure in `text`, a tool's result that is an error object and nothing else; else ""."""
    value = parse_json(text)
    return _failure(value) if isinstance(value, dict) else ""


def _read(value: dict[str, Any], text: str) -> ToolResult:
    message = _message(value)
    if message is not None:
        told = flatten(message.get("content"))
        failed = text_of(message.get("status")) in _ERROR_STATES
        return ToolResult(told, text_of(message.get("tool_call_id")), (told or "error") if failed else "")
    if isinstance(value.get("response"), dict) and value.keys() <= _RESPONSE:  # Gemini's function response
        response = value["response"]
        return ToolResult(as_text(response), text_of(value.get("id")), _failure(response))
    if any(isinstance(value.get(flag), bool) for flag in _ERROR_FLAGS):  # Model Context Protocol, LlamaIndex
        parts = value.get("content", value.get("blocks"))
        told = flatten(parts) if parts else as_text(value.get("raw_output")) or text
        failed = any(value.get(flag) is True for flag in _ERROR_FLAGS)
        return ToolResult(told, failure=(told or "error") if failed else "")
    return ToolResult(text, failure=_failure(value))


def _message(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """LangChain's tool message in one of its forms: plain, with `data`, serialised with `kwargs`, below `output`."""
    if value.keys() <= _ENVELOPE and isinstance(value.get("output"), dict):
        value = value["output"]
    for inner in ("data", "kwargs"):
        if isinstance(value.get(inner), dict) and "type" in value:
            value = value[inner]
            break
    return value if "content" in value and "tool_call_id" in value else None


def _from_notation(text: str) -> ToolResult:
    """LangChain's tool message as its own `str`: `content='...' name='...' tool_call_id='...'`."""
    found = _MESSAGE_TEXT.match(text[:_LONGEST_NOTATION])
    if found is None:
        return ToolResult(text)
    value = parse_literal(f"[{found[1]}]")
    call = _MESSAGE_CALL.search(text, found.end(1), found.end(1) + 1_000)
    told = value[0] if value is not NOT_JSON and len(value) == 1 else text
    failed = "status='error'" in text[found.end(1) : found.end(1) + 1_000]
    return ToolResult(as_text(told), call[1] if call else "", (as_text(told) or "error") if failed else "")


def _failure(value: Mapping[str, Any]) -> str:
    """The text of an object that only says that something failed."""
    said = {k: v for k, v in value.items() if v is not None}
    if not said or not said.keys() <= _VERDICT:
        return ""
    error = said.get("error") or next((said[k] for k in _ERROR_TEXTS if said.get(k)), None)
    if isinstance(error, Mapping):
        error = error.get("message") or error
    if error and not isinstance(error, bool):
        return as_text(error)
    failed = error is True or text_of(said.get("status")).lower() in _ERROR_STATES or said.get("success") is False
    return (text_of(said.get("message")) or as_text(said)) if failed else ""
