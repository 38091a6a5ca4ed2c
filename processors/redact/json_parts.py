"""The parts of JSON text with their places, so that one can be replaced and all else stays, byte by byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import orjson

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_VALUE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?<![\w.+-])-?\d++(?![.eE])', re.DOTALL)
_COLON: Final = re.compile(r"\s*:")
_INTEGER: Final = re.compile(r"-?\d+")
MOST_LEVELS: Final = 8
"""Levels of JSON in strings of JSON that are read as JSON; deeper ones are plain text."""


class PartKind(Enum):
    """The kind of a part."""

    KEY = "key"
    STRING = "string"
    INTEGER = "integer"
    OTHER = "other"  # true, false, null, fractions
    OPEN = "open"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class JsonPart:
    """A token at [start, end); `place`: the names and indexes that lead to its value, of a bracket to the container."""

    kind: PartKind
    place: tuple[str, ...]
    start: int
    end: int


def parsed(text: str) -> Any | None:
    """The object, list or string whose JSON the text is; None where it is none."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "[", '"'):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:  # lone surrogates, NaN and numbers of any length, which others read, too
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def string_of(token: str) -> str:
    """The text of a JSON string."""
    return str(json.loads(token)) if "\\" in token else token[1:-1]


def literal(text: str | None) -> str:
    """JSON of a text, or null."""
    return orjson.dumps(text).decode()


def values_at(text: str, places: Sequence[tuple[int, int]]) -> Iterator[JsonPart]:
    """The keys, texts and integers of valid JSON that meet one of the places, which are in order of their starts."""
    token: re.Match[str] | None = None
    for first, last in places:
        if token is None or token.end() <= first:
            token = _VALUE.search(text, _value_start(text, token.end() if token else 0, first))
        while token is not None and token.start() < last:
            start, end = token.span()
            if end > first:
                other = PartKind.KEY if _COLON.match(text, end) else PartKind.STRING
                yield JsonPart(other if text[start] == '"' else PartKind.INTEGER, (), start, end)
            token = _VALUE.search(text, end)
        if token is None:
            return


def _value_start(text: str, outside: int, place: int) -> int:
    """Where the value begins that holds the place, else the place; `outside`: a place before it that is in no value.

    A string holds it if quotes that are not escaped are odd in number before it.
    """
    before = text[outside:place].replace("\\\\", "  ").replace('\\"', "  ")
    if before.count('"') % 2:
        return outside + before.rindex('"')
    return outside + len(before.rstrip("+-.0123456789eE"))


def parts(text: str) -> Iterator[JsonPart]:
    """The parts of valid JSON, in order."""
    path: list[str | int] = []  # a step for each open container
    objects: list[bool] = []
    key_next = False
    for token in _TOKEN.finditer(text):
        first, start, end = token[0][0], token.start(), token.end()
        if first == ":":
            key_next = False
        elif first == ",":
            key_next = objects[-1]
            step = path[-1]
            if isinstance(step, int):
                path[-1] = step + 1
        elif first in "{[":
            yield JsonPart(PartKind.OPEN, _place(path), start, end)
            objects.append(first == "{")
            path.append("" if first == "{" else 0)
            key_next = first == "{"
        elif first in "}]":
            path.pop()
            objects.pop()
            key_next = False
            yield JsonPart(PartKind.CLOSE, _place(path), start, end)
        elif first == '"' and key_next:
            path[-1] = string_of(token[0])
            yield JsonPart(PartKind.KEY, _place(path), start, end)
        elif first == '"':
            yield JsonPart(PartKind.STRING, _place(path), start, end)
        else:
            kind = PartKind.INTEGER if _INTEGER.fullmatch(token[0]) else PartKind.OTHER
            yield JsonPart(kind, _place(path), start, end)


def _place(path: list[str | int]) -> tuple[str, ...]:
    return tuple(map(str, path))
