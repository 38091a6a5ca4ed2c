"""The text of an answer in a model's message: its content, else what the model put in another place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.json_object import json_object
from tracejury.schemas.shown import shown

LONGEST_REFUSAL: Final = 200
"""Characters of a refusal that are repeated."""


def answer_text(message: Any, key: str) -> tuple[str, str]:
    """The text, or "" and one line why there is none. `key`: the first property of the answer asked for, "" for none.

    Models that were asked for JSON may answer in a call of a tool that nobody offered, or in their reasoning alone:
    that is taken where it holds exactly one object.
    """
    content = plain(getattr(message, "content", None))
    calls = _arguments(message)
    called = calls[0] if len(calls) == 1 else ""
    if content.strip() and (not called or not key or "{" in content):
        return content, ""
    if called.strip():
        return called, ""
    reasoning = plain(_extra(message, "reasoning_content"))
    if key and reasoning and not calls and _one_object(reasoning, key):
        return reasoning, ""
    return "", _why_nothing(message, len(calls), reasoning)


def _why_nothing(message: Any, calls: int, reasoning: str) -> str:
    if refused := " ".join(shown(plain(_extra(message, "refusal"))).split())[:LONGEST_REFUSAL]:
        return f"refused to answer: {refused}"
    if calls > 1:
        return f"answered in {calls} tool calls instead of one text"
    return "answered nothing but its reasoning" if reasoning.strip() else "answered nothing"


def _one_object(text: str, key: str) -> bool:
    try:
        json_object(text, key)
    except AnswerError:
        return False
    return True


def _arguments(message: Any) -> Sequence[str]:
    """The arguments of the message's tool calls, in the present and in the older form."""
    calls = [getattr(call, "function", None) for call in getattr(message, "tool_calls", None) or ()]
    called = [call for call in (*calls, getattr(message, "function_call", None)) if call is not None]
    return [plain(getattr(call, "arguments", None)) for call in called]


def _extra(message: Any, name: str) -> object:
    """A field beside those of OpenAI's first protocol, where litellm keeps it."""
    fields = getattr(message, "provider_specific_fields", None)
    return getattr(message, name, None) or (fields.get(name) if isinstance(fields, dict) else None)


def plain(value: object) -> str:
    """As a text that can be stored: JSON may hold lone surrogates."""
    return str(value or "").encode("utf-8", "replace").decode()
