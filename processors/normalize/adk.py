"""Google's Agent Development Kit: `gcp.vertex.agent.*`, in both schemas, beside OpenTelemetry GenAI attributes.

Schema 1 holds each model call as one JSON request and response on a span of its own (`call_llm`) above the GenAI span
of the same call; schema 2 keeps only ids, and the content as GenAI attributes or log records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.spans import LogRecord, Span

from .arguments import tool_definitions
from .convention import Fields, MarkedConvention
from .messages import parse_messages, with_system
from .results import tool_fields
from .values import as_int, parse_object, text_list, text_of

_PREFIX: Final = "gcp.vertex.agent."
_REQUEST: Final = f"{_PREFIX}llm_request"
_RESPONSE: Final = f"{_PREFIX}llm_response"
_ARGUMENTS: Final = f"{_PREFIX}tool_call_args"
_RESULT: Final = f"{_PREFIX}tool_response"
_NOTHING: Final = frozenset({"", "{}", "null", "N/A", "<not specified>", '"<not specified>"', "<not serializable>"})
_NO_CALL: Final = "N/A"  # a summary span after parallel calls
_NO_CALLS: Final = _NOTHING - {"{}"}


class Adk(MarkedConvention):
    """Reads what ADK writes beside GenAI attributes."""

    name = "google-adk"
    marks = frozenset(
        {_REQUEST, _ARGUMENTS, _RESULT, *(_PREFIX + k for k in ("event_id", "invocation_id", "session_id"))}
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - GenAI's form, read there
        """See `Convention`."""
        attributes = span.attributes
        found: Fields = {"kind": Kind.CHAIN, "session_id": attributes.get(f"{_PREFIX}session_id", "")}
        if attributes.get(_ARGUMENTS, _NO_CALL) not in _NO_CALLS:
            found |= _tool(attributes)
        elif (request := _object(attributes, _REQUEST)) is not None:
            found |= {"kind": Kind.LLM} | _call(request, _object(attributes, _RESPONSE) or {})
        return found


def _present(attributes: Mapping[str, str], key: str) -> str:
    """The value, "" where ADK writes that there is none."""
    value = attributes.get(key, "")
    return "" if value in _NOTHING else value


def _object(attributes: Mapping[str, str], key: str) -> dict[str, Any] | None:
    return parse_object(_present(attributes, key))


def _tool(attributes: Mapping[str, str]) -> Fields:
    return {"kind": Kind.TOOL} | tool_fields(attributes.get(_ARGUMENTS, ""), _present(attributes, _RESULT) or None)


def _call(request: Mapping[str, Any], response: Mapping[str, Any]) -> Fields:
    config = _map(request.get("config"))
    system = config.get("system_instruction")
    parts = system if isinstance(system, list) else _map(system).get("parts", [system])
    prompts = parse_messages([{"role": "system", "parts": parts}])
    usage = _map(response.get("usage_metadata"))
    return {
        "input_messages": with_system(
            (Message("system", m.text) for m in prompts), parse_messages(request.get("contents"))
        ),
        "output_messages": parse_messages(response["content"], "assistant") if "content" in response else (),
        "tools": tool_definitions(config.get("tools")),
        "model": text_of(request.get("model")),
        "stop_sequences": text_list(config.get("stop_sequences")),
        "max_tokens": _count(config.get("max_output_tokens")),
        "finish_reasons": text_list(text_of(response.get("finish_reason")).lower()),
        "input_tokens": _count(usage.get("prompt_token_count")),
        "output_tokens": _count(usage.get("candidates_token_count")),
        "failure": text_of(response.get("error_message")) or text_of(response.get("error_code")),
    }


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return as_int(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
