"""Replies that came as an event stream ("data: {...}" lines), put together.

The chunks are those of OpenAI's chat completions: `choices[0].delta.content`, or the arguments of one tool call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

EVENT_FIELDS: Final = ("data:", "event:")
"""How an event stream begins."""


def streamed(body: str) -> str:
    """The text of an event stream's chunks; "" where it is none, or tells of more than one answer."""
    if not body.startswith(EVENT_FIELDS):
        return ""
    parts: list[str] = []
    sources: set[tuple[object, ...]] = set()
    for chunk in _chunks(body):
        for choice in _listed(chunk, "choices"):
            for source, text in _texts(choice):
                sources.add((choice.get("index", 0), *source))
                parts.append(text)
    return "".join(parts) if len(sources) == 1 else ""


def _chunks(body: str) -> Iterator[dict[str, Any]]:
    for line in body.split("\n"):
        if not line.startswith("data:"):
            continue
        try:
            chunk = json.loads(line.removeprefix("data:"))
        except (ValueError, RecursionError):
            continue  # "[DONE]", or what is no chunk
        if isinstance(chunk, dict):
            yield chunk


def _texts(choice: dict[str, Any]) -> Iterator[tuple[tuple[object, ...], str]]:
    """Each text of a chunk, after what it is a part of: the content, or the tool call of a number."""
    delta = choice.get("delta", choice.get("message"))
    if not isinstance(delta, dict):
        return
    if isinstance(content := delta.get("content"), str) and content:
        yield ("content",), content
    for call in _listed(delta, "tool_calls"):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str) and arguments:
            yield ("call", str(call.get("index", 0))), arguments


def _listed(holder: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    listed = holder.get(name)
    yield from (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else ()
