"""Claude Code's spans (`claude_code.*`); its log events become spans of their own (`processors/log_spans.py`).

Source: https://code.claude.com/docs/en/monitoring-usage. An interaction is a user's prompt and all that the agent does
for it; `claude_code.tool` has the wait for a permission and the execution below it, of which only the execution says
whether the tool worked, and a sub-agent's spans stand below the tool that started it. Contents are opt-in: what was
not to be recorded is missing or "<REDACTED>".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .arguments import parse_arguments
from .convention import Fields
from .values import as_int, first, parse_object, text_list

AGENT: Final = "claude-code"
PREFIX: Final = "claude_code."
_KINDS: Final = {
    "interaction": Kind.AGENT,
    "llm_request": Kind.LLM,
    "tool": Kind.TOOL,
    "tool.execution": Kind.TOOL,
}
_REDACTED: Final = "<REDACTED>"
_ARGUMENTS: Final = (
    ("full_command", "command"),
    ("bash_command", "command"),
    ("file_path", "file_path"),
    ("skill_name", "skill"),
    ("subagent_type", "subagent_type"),
)
"""What stands for the arguments where they were not to be recorded: attribute, and the argument that it repeats."""
_RESULTS: Final = ("output", "content", "diff", "result")
_USER_STOPPED: Final = (
    "The user doesn't want to proceed",
    "The user doesn't want to take this action",
    "[Request interrupted by user",
    "Request was aborted",
    "User rejected",
    "user_reject",
    "user_abort",
)
"""How the texts begin with which the program says that its user refused a call or cancelled."""


def stopped_by_user(text: str) -> bool:
    """Whether an error's text says that the user refused the call or cancelled, which is no failure of the agent."""
    return text.lstrip().startswith(_USER_STOPPED)


class ClaudeCode:
    """Reads Claude Code's spans."""

    name = "claude-code"
    marks: frozenset[str] = frozenset()

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - told by the span alone
        """The names of all its spans begin alike; other programs use its attributes' plain names, too."""
        return span.name.startswith(PREFIX)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - its log events repeat the span
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(span.name.removeprefix(PREFIX), Kind.CHAIN)
        sub_agent = attributes.get("agent_id", "")
        found: Fields = {
            "kind": kind,
            "session_id": attributes.get("session.id", ""),
            "agent_name": AGENT if kind is Kind.AGENT else "",
            "agent_hint": (attributes.get("agent.name") or ("" if sub_agent else AGENT)) if kind is Kind.LLM else "",
            "agent_id": sub_agent,
            "run_hint": sub_agent,
            "failure": _failure(attributes),
        }
        if kind is Kind.AGENT:
            found["input_text"] = _content(attributes, "user_prompt")
        elif kind is Kind.LLM:
            found |= _request(attributes)
        elif kind is Kind.TOOL:
            found |= _tool(span)
        return found


def _failure(attributes: Mapping[str, str]) -> str:
    if attributes.get("success") != "false":
        return ""
    error = first(attributes, "error", "error_type", "status_code") or "success=false"
    return "" if stopped_by_user(error) else error


def _content(attributes: Mapping[str, str], *keys: str) -> str:
    text = first(attributes, *keys)
    return "" if text == _REDACTED else text


def _request(attributes: Mapping[str, str]) -> Fields:
    """`input_tokens` are those that were neither read from the cache nor written to it, as the provider counts."""
    return {
        "model": first(attributes, "model", "gen_ai.request.model"),
        "input_tokens": as_int(attributes.get("input_tokens")),
        "output_tokens": as_int(attributes.get("output_tokens")),
        "finish_reasons": text_list(attributes.get("stop_reason", "")),
        "input_text": _content(attributes, "new_context"),
        "output_text": _content(attributes, "response.model_output"),
    }


def _tool(span: Span) -> Fields:
    attributes = span.attributes
    told = {k: v for event in span.events if event.name.startswith("tool.") for k, v in event.attributes.items()}
    said = {**told, **attributes}
    arguments = _content(said, "tool_input")
    result = _content(told, *_RESULTS) or _content(attributes, "new_context")
    return {
        "tool_name": attributes.get("tool_name", ""),
        "tool_call_id": first(attributes, "tool_use_id", "gen_ai.tool.call.id"),
        "input_text": arguments,
        "output_text": result,
        "tool_arguments": parse_arguments(arguments) if arguments else _told_arguments(said),
        "tool_result": result or None,
    }


def _told_arguments(said: Mapping[str, str]) -> dict[str, str] | None:
    """The arguments that other attributes repeat; `tool_parameters` (log events) holds such as a JSON object."""
    parameters = parse_object(said.get("tool_parameters", "")) or {}
    said = {**{k: v for k, v in parameters.items() if isinstance(v, str)}, **said}
    found: dict[str, str] = {}
    for key, argument in _ARGUMENTS:
        if text := _content(said, key):
            found.setdefault(argument, text)
    return found or None
