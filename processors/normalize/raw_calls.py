"""A client's request and response as they went over the wire: `llm.{provider}.{field}`, as litellm records them.

Source: litellm's OpenTelemetry callback, which writes each field of the payload in Python's notation. Where a span is
open already, the callback writes its other attributes on that one, so that these alone tell of each call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .arguments import tool_definitions
from .convention import Fields
from .literals import parse_literal
from .messages import parse_messages
from .values import NOT_JSON, as_int, parse_json, text_list

_FIELD: Final = re.compile(r"(llm\.[a-z0-9_]{1,40}\.)(?:messages|choices)")


class RawCalls:
    """Reads payloads of chat completions."""

    name = "litellm"
    marks: frozenset[str] = frozenset()  # the provider's name is part of the key

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        return bool(_prefix(span.attributes))

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes, prefix = span.attributes, _prefix(span.attributes)
        choices = [c for c in _list(attributes.get(f"{prefix}choices")) if isinstance(c, dict)]
        usage = _value(attributes.get(f"{prefix}usage"))
        tokens = usage if isinstance(usage, dict) else {}
        return {
            "kind": Kind.LLM,
            "input_messages": parse_messages(_list(attributes.get(f"{prefix}messages"))),
            "output_messages": parse_messages([c.get("message") for c in choices], "assistant"),
            "tools": tool_definitions(_list(attributes.get(f"{prefix}tools"))),
            "model": attributes.get(f"{prefix}model", ""),
            "finish_reasons": text_list([c.get("finish_reason") for c in choices]),
            "input_tokens": as_int(str(tokens.get("prompt_tokens"))),
            "output_tokens": as_int(str(tokens.get("completion_tokens"))),
        }


def _prefix(attributes: Mapping[str, str]) -> str:
    """The part of the keys that names the provider, "" where there is no payload."""
    keys = (k for k in attributes if k.startswith("llm.") and k.endswith((".messages", ".choices")))
    return next((found[1] for k in keys if (found := _FIELD.fullmatch(k))), "")


def _list(text: str | None) -> list[Any]:
    value = _value(text)
    return value if isinstance(value, list) else []


def _value(text: str | None) -> Any:
    if not text:
        return None
    value = parse_json(text)
    return parse_literal(text) if value is NOT_JSON else value
