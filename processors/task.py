"""A run's goal and final answer: from its own span, else from what its LLM calls were sent and wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..schemas.normalized import NormalizedSpan
from ..schemas.trajectory import Turn, TurnKind
from .normalize.values import as_text, parse_json
from .turns import TurnSpans

_TASK_KEYS: Final = ("task", "input", "question", "query", "prompt", "user_input", "message", "content")


def goal_of(span: NormalizedSpan | None, turns: Sequence[TurnSpans]) -> str:
    """What the run was asked to do, "" if nothing says so."""
    if span is not None:
        if goal := _last_user(span):
            return goal
        if span.input_text:
            return _task(span.input_text)
    calls = [t.llm for t in turns if t.llm and not t.inner]
    with_tools = [c for c in calls if c.tools] or calls
    return next((m.text for c in with_tools for m in c.input_messages if m.role == "user" and m.text), "")


def _last_user(span: NormalizedSpan) -> str:
    return next((m.text for m in reversed(span.input_messages) if m.role == "user" and m.text), "")


def _task(text: str) -> str:
    value = parse_json(text)
    if isinstance(value, dict):
        found = next((value[k] for k in _TASK_KEYS if isinstance(value.get(k), str) and value[k]), None)
        return found if found is not None else text
    return _from_messages(value) if isinstance(value, list) else text


def _from_messages(value: list[Any]) -> str:
    users = [m.get("content") for m in value if isinstance(m, dict) and m.get("role") == "user"]
    return as_text(users[-1]) if users else as_text(value)


def answer_of(span: NormalizedSpan | None, turns: Sequence[Turn]) -> str:
    """What the run gave back, "" if it gave nothing (yet)."""
    if span is not None:
        written = "\n".join(m.text for m in span.output_messages if m.text)
        if written or span.output_text:
            return written or span.output_text
    if not turns or (span is None and turns[-1].tool_calls):
        return ""
    last = turns[-1]
    return last.text if last.kind is not TurnKind.PLAN and not last.tool_calls else ""
