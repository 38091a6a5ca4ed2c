"""A tool call as coding agents pass it to hooks: `tool_name`, `tool_input`, `tool_response`, as attributes of a span.

Source: the input of PostToolUse hooks in Claude Code's documentation, which others have taken over. Senders write it
onto spans as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .convention import Fields, MarkedConvention
from .results import tool_fields

_NAME: Final = "tool_name"
_INPUT: Final = "tool_input"
_RESPONSE: Final = "tool_response"


class ToolHooks(MarkedConvention):
    """Reads hooks' payloads."""

    name = "tool-hooks"
    marks = frozenset({_INPUT})

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """A tool's name beside its input: each alone is a plain word that any program may use."""
        return super().recognises(span, logs) and _NAME in span.attributes

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        response = attributes.get(_RESPONSE)
        failed = attributes.get("is_error") == "true"
        return {
            "kind": Kind.TOOL,
            "tool_name": attributes[_NAME],
            "tool_call_id": attributes.get("tool_use_id", ""),
            "session_id": attributes.get("session.id", "") or attributes.get("session_id", ""),
            **tool_fields(attributes[_INPUT], response),
            **({"failure": response or "is_error"} if failed else {}),
        }
