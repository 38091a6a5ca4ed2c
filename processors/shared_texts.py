"""Texts of one open trace, each held once: every call of a run is sent the history again, mostly as before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import is_
from typing import Final

from tracejury.schemas.normalized import Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.spans import Span, StoredAttributes

LONG: Final = 4_000
"""Characters of a span's attributes, or of a message, from which they are shared."""
LEAST: Final = 800
"""Characters of a piece at least."""
_ENDS: Final = ("},", "\n", "\\n")
"""Where pieces end: messages of a JSON list, and lines, also within JSON."""
_POINTER: Final = 8


class SharedAttributes(Mapping[str, str]):
    """Attributes whose longer values are pieces, joined when they are read.

    `length`: characters of the values; `held`: about how many bytes it added to its trace.
    """

    __slots__ = ("_values", "held", "length")

    def __init__(self, values: Mapping[str, str | tuple[str, ...]], length: int, held: int) -> None:
        self._values, self.length, self.held = values, length, held

    def __getitem__(self, key: str) -> str:
        value = self._values[key]
        return value if isinstance(value, str) else "".join(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values


class SharedTexts:
    """The texts of a trace's spans, and the tools that its calls are given."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._tools: dict[tuple[str, ...], tuple[ToolDefinition, ...]] = {}

    def share_raw(self, span: Span) -> Span:
        """The span with shared attributes, where they are long."""
        length = sum(map(len, span.attributes.values()))
        return replace(span, attributes=self._share(span.attributes, length)) if length >= LONG else span

    def share_read(self, span: NormalizedSpan) -> NormalizedSpan:
        """The span with the texts and tools of other spans where it has the same."""
        messages = tuple(map(self._message, span.input_messages))
        tools = self._tools.setdefault(tuple([tool.name for tool in span.tools]), span.tools)
        tools = tools if tools == span.tools else span.tools
        if tools is span.tools and all(map(is_, messages, span.input_messages)):
            return span
        return replace(span, input_messages=messages, tools=tools)

    def _message(self, message: Message) -> Message:
        text = self._texts.setdefault(message.text, message.text) if len(message.text) >= LONG else message.text
        return message if text is message.text else replace(message, text=text)

    def _share(self, attributes: StoredAttributes, length: int) -> SharedAttributes:
        values: dict[str, str | tuple[str, ...]] = {}
        known, held = self._texts, 0
        for key, value in attributes.items():
            pieces = tuple(_pieces(value))
            held += sum(len(piece) for piece in pieces if piece not in known)
            pieces = tuple([known.setdefault(piece, piece) for piece in pieces])
            key = known.setdefault(key, key)  # noqa: PLW2901  names of messages are many
            if len(pieces) > 1:
                values[key], held = pieces, held + _POINTER * len(pieces)
            else:
                values[key] = "".join(pieces)
        return SharedAttributes(values, length, held)


def long_texts(span: Span) -> int:
    """Characters of its attributes, where they are shared, else 0."""
    return span.attributes.length if isinstance(span.attributes, SharedAttributes) else 0


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that depend on what stands there, not on where: such as have ends of their own."""
    start, nexts = 0, dict.fromkeys(_ENDS, 0)
    while len(text) - start > LEAST:
        least = start + LEAST
        for end, at in nexts.items():
            if 0 <= at <= least:  # sought once, not for each piece
                found = text.find(end, least)
                nexts[end] = found + len(end) if found >= 0 else -1
        following = [at for at in nexts.values() if at > 0]
        if not following:
            break
        yield text[start : min(following)]
        start = min(following)
    if start < len(text):
        yield text[start:]
