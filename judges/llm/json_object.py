"""The one JSON object in a reply, whatever stands around it.

Models and servers put prose, code fences, thoughts, a list, a string or an event stream around an answer. It is read
where only one object can be meant. A reply is hostile text: the scan is linear, and a bounded number of objects is
tried.

The chunks of an event stream ("data: {...}" lines) are those of OpenAI's chat completions: `choices[0].delta.content`,
or the arguments of one tool call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .answer_types import AnswerError

MAX_CHARACTERS: Final = 4 * 1024 * 1024
"""Longest reply that is read."""

_MOST_STARTS: Final = 200
"""Places of a reply at which an object is tried; each may cost a pass over the reply."""

_START: Final = re.compile(r'\{[ \t\r\n]*+["}]')
_HTML: Final = re.compile(r"<(?:!doctype html|html)\b", re.IGNORECASE)
_HTML_WITHIN: Final = 1000
"""Characters at the beginning of a page within which its element is looked for."""

_BLANK: Final = "\ufeff \t\r\n"

_ONE: Final = "the answer must be one JSON object"

EVENT_FIELDS: Final = ("data:", "event:")
"""How an event stream begins."""


def json_object(text: str, key: str = "") -> Mapping[str, Any]:
    """The one object in a reply; where several stand there, the one that has `key`.

    An object with `key` may be wrapped: in the arguments of a printed tool call, in a string, in a list. Two different
    ones, or another that cannot be read, make the reply ambiguous: one of them may be quoted from the record.

    Raises:
        AnswerError: there is none, or it is not clear which one is meant.
    """
    if len(text) > MAX_CHARACTERS:
        raise AnswerError(f"the answer must not be longer than {MAX_CHARACTERS} characters")
    whole = text.lstrip(_BLANK)
    body = (streamed(whole) or _unquoted(whole)).lstrip(_BLANK)
    if body.startswith("<think>"):
        body = body.partition("</think>")[2]
    try:
        return _Objects(body, key).only()
    except AnswerError:
        if _HTML.search(body, 0, _HTML_WITHIN):
            raise AnswerError(f"{_ONE}; it is an HTML page") from None
        if body.startswith(EVENT_FIELDS):
            raise AnswerError(f"{_ONE}; it is an event stream of none or several") from None
        raise


class _Objects:
    """The objects at the top level of a text. `broken`: why the first that cannot be read breaks."""

    def __init__(self, body: str, key: str) -> None:
        self.broken = ""
        self.others: list[dict[str, Any]] = []
        self.meant: list[dict[str, Any]] = []
        self._key = key
        self._maybe = False
        at, starts = 0, 0
        while (start := _START.search(body, at)) is not None:
            starts += 1
            if starts > _MOST_STARTS:
                raise AnswerError(f"{_ONE}, and there are more than {_MOST_STARTS}")
            at = self._read(body, start.start())

    def only(self) -> dict[str, Any]:
        """The object that is meant."""
        candidates = self.meant or ([] if self.broken else self.others)
        if not candidates:
            raise AnswerError(f"{_ONE}; it breaks at {self.broken}" if self.broken else _ONE)
        if any(each != candidates[0] for each in candidates[1:]):
            raise AnswerError(f"{_ONE}, and there are {len(candidates)} different ones")
        if self._maybe:
            raise AnswerError(f"{_ONE}; a second one breaks at {self.broken}")
        return candidates[0]

    def _read(self, body: str, start: int) -> int:
        """Take the object at `start`; returns where the search goes on."""
        try:
            found, end = _DECODER.raw_decode(body, start)
        except json.JSONDecodeError as error:
            self.broken = self.broken or f"line {error.lineno}, column {error.colno}: {error.msg}"
            # What stands within a broken object is a part of it, and no answer.
            end = max(error.pos, start + 1)
            following = _START.search(body, end)
            broken_off = body[start : following.start() if following else len(body)]
            self._maybe = self._maybe or not self._key or f'"{self._key}"' in broken_off
            return end
        except (ValueError, RecursionError):
            raise AnswerError(f"{_ONE} without NaN, endless numbers or deep nesting") from None
        meant = _with_key(found, self._key)
        (self.others if meant is None else self.meant).append(found if meant is None else meant)
        return end


def _with_key(found: dict[str, Any], key: str) -> dict[str, Any] | None:
    """The object, or the only one directly in it, that has `key`: printed tool calls hold it as their arguments."""
    if not key or key in found:
        return found if key else None
    inner = [each for each in map(_as_object, found.values()) if each is not None and key in each]
    return inner[0] if len(inner) == 1 else None


def _as_object(value: object) -> dict[str, Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = _DECODER.decode(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _unquoted(body: str) -> str:
    """The text in a JSON string that the whole reply is, the reply itself otherwise."""
    if not body.startswith('"'):
        return body
    try:
        inner = json.loads(body)
    except (ValueError, RecursionError):
        return body
    return inner if isinstance(inner, str) else body


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


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
