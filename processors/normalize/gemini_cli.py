"""Gemini CLI's spans: a user's prompt, the calls of models, tools and sub-agents below it.

Source: google-gemini/gemini-cli, docs/cli/telemetry.md and packages/core/src/telemetry (`trace.ts`, `constants.ts`).
Operations have names of their own; what any of them is given and gives back stands under GenAI's keys for messages:
a prompt as text, a tool's call and its response as objects of the CLI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .arguments import unwrap
from .convention import Fields
from .dialect import GENAI, Dialect
from .messages import flatten, parse_messages
from .results import read_result
from .values import as_text, first, parse_object, text_of

_OPERATION: Final = "gen_ai.operation.name"
_INPUT: Final = "gen_ai.input.messages"
_OUTPUT: Final = "gen_ai.output.messages"
_KINDS: Final = {
    "user_prompt": Kind.AGENT,
    "agent_call": Kind.AGENT,
    "llm_call": Kind.LLM,
    "tool_call": Kind.TOOL,
    "schedule_tool_calls": Kind.CHAIN,
    "system_prompt": Kind.CHAIN,
}
_FAILED: Final = frozenset({"error", "failed"})


class GeminiCli(Dialect):
    """Reads Gemini CLI's spans."""

    name = "gemini-cli"
    scopes = frozenset({name})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(attributes.get(_OPERATION, ""))
        if kind is None:
            return GENAI.read(span, logs)
        found = GENAI.read_as(kind, span, logs)
        sent, given = attributes.get(_INPUT, ""), attributes.get(_OUTPUT, "")
        if kind is Kind.TOOL:
            found |= _tool(sent, given)
        elif kind is Kind.AGENT:
            told = parse_object(given)
            found |= {
                "input_messages": (),
                "output_messages": (),
                "input_text": _said(sent),
                "output_text": flatten(told.get("result", told)) if told is not None else _said(given),
            }
        return found


def _said(text: str) -> str:
    """A prompt, written as JSON; of a prompt in parts, their text."""
    plain = read_result(text, quoted=True).text if text[:1] == '"' else text
    value = parse_object(plain)
    if value is not None and len(value) == 1:
        return as_text(next(iter(value.values())))
    return plain


def _tool(sent: str, given: str) -> Fields:
    """`{"callId", "name", "args"}`, and `{"status", "response": {"responseParts", "resultDisplay", "error"}}`."""
    request, outcome = parse_object(sent) or {}, parse_object(given) or {}
    response = outcome.get("response")
    response = response if isinstance(response, dict) else {}
    told = _result(response)
    failed = text_of(outcome.get("status")) in _FAILED
    fields: Fields = {
        "input_text": as_text(request.get("args")),
        "output_text": told,
        "tool_arguments": unwrap(request["args"]) if "args" in request else None,
        "tool_result": told if outcome else None,
        "failure": (_error(response) or told or "error") if failed else "",
    }
    ids = {k: v for k, v in request.items() if isinstance(v, str)}
    return fields | {k: v for k, v in (("tool_name", first(ids, "name")), ("tool_call_id", first(ids, "callId"))) if v}


def _result(response: Mapping[str, Any]) -> str:
    """What the model is sent: the function's response, of which the CLI makes an object with one key."""
    parts = parse_messages({"role": "user", "parts": response.get("responseParts", [])})
    told = "\n".join(m.text for m in parts if m.text)
    if not told:
        return flatten(response.get("resultDisplay"))
    value = parse_object(told)
    return as_text(value["output"]) if value is not None and value.keys() == {"output"} else told


def _error(response: Mapping[str, Any]) -> str:
    error = response.get("error")
    return text_of(error.get("message")) if isinstance(error, dict) else text_of(error)
