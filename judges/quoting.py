"""Cutting quotes: verbatim, long enough to recognise the error, at sentences and words where that is possible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracejury.schemas.normalized import Json, Kind, NormalizedSpan
from tracejury.schemas.trajectory import ToolCall, Turn

QUOTE: Final = 200
"""Longest quote that is cut, in characters."""

_BACK: Final = 40
"""Characters that a cut moves to spare a word."""

_TELLING: Final = 60
"""Characters from which a quote may end with a sentence rather than at its full length."""


def quote(text: str, around: int = 0, length: int = QUOTE) -> str:
    """A verbatim piece of `text` of at most `length` characters that holds offset `around`.

    It starts with the line, else with a sentence, a value in JSON or a word, and ends with a sentence or a word.
    """
    around = max(0, min(around, len(text) - 1))
    start = _start(text, around, length)
    while start < around and text[start].isspace():
        start += 1
    piece = text[start : start + length]
    if start + length < len(text):
        piece = piece[: _end(text[start : start + length + 1], max(_TELLING, around - start + _BACK))]
    return _DANGLING.sub("", piece).strip()


_BEGINS: Final = re.compile(r"""[.?!]\x20|[}\])]:\x20|":\x20?"|':\x20'""")
"""Behind a sentence or an object, and a string in JSON or Python."""

_DANGLING: Final = re.compile(r"\n\s{0,20}(?:\d{1,2}[.)]|[-*#\u2022])\s{0,9}$")
"""The mark of a list's next item, whose text is cut off."""


def _start(text: str, around: int, length: int) -> int:
    start = text.rfind("\n", 0, around) + 1
    if around - start <= length // 2:
        return start
    low = around - length // 2
    if begins := [match.end() for match in _BEGINS.finditer(text, low, around)]:
        return begins[-1]
    word = text.find(" ", low + length // 4, around)
    return word + 1 if word >= 0 else low + length // 4


def _end(piece: str, least: int) -> int:
    """End of a piece that is one character too long."""
    last = len(piece) - 1
    sentence = max(piece.rfind(mark, least, last + 1) for mark in (". ", "? ", "! ", ".\n", "\n\n"))
    if sentence >= 0:
        return sentence + 1
    word = max(piece.rfind(mark, last - _BACK if last > _BACK else 0) for mark in " \n")
    return word if word > 0 else last


_SPACED: Final = json.JSONEncoder(ensure_ascii=False, default=str)
_ENCODERS: Final = tuple(
    json.JSONEncoder(ensure_ascii=ascii_only, separators=separators, default=str)
    for separators in ((", ", ": "), (",", ":"))
    for ascii_only in (False, True)
)
"""The ways in which JSON is written; `json.dumps` would make an encoder for each text."""


def json_text(value: Json) -> str:
    """A value as text: strings as they are, the rest as JSON ("" where it is nested too deeply to be written)."""
    try:
        return value if isinstance(value, str) else _SPACED.encode(value)
    except RecursionError:
        return ""


def raw_texts(span: NormalizedSpan) -> Iterator[str]:
    """A span's own attributes, events and logs as sent; of an LLM call what it put out, not what it was sent."""
    for key, value in span.raw.attributes.items():
        if span.kind is Kind.TOOL or "output" in key or "completion" in key or "response" in key:
            yield value
    for event in span.raw.events:
        if not any(part in event.name for part in _PUT_IN):
            yield from event.attributes.values()
    yield from span.log_text


_PUT_IN: Final = ("user.message", "system.message", "input", "prompt")


def quote_call(turn: Turn, call: ToolCall) -> str:
    """A verbatim quote of a call from the turn's LLM span: its arguments as written there, else the tool's name."""
    llm = turn.llm
    if llm is None:
        return call.name
    found = _quote_arguments((llm.output_text, *raw_texts(llm)), call)
    if found:
        return found
    requested = next((r for r in llm.tool_requests if r.name == call.name), None)
    if requested is not None:
        longest = max((v for v in values_of(requested.arguments) if isinstance(v, str)), key=len, default="")
        return quote(longest) if len(longest) >= len(call.name) else call.name
    at = turn.text.find(call.name)
    return quote(turn.text, at) if at >= 0 else llm.raw.name


def quote_content(span: NormalizedSpan) -> str:
    """A verbatim quote of a span's content: what it put out, asked for or failed with; its name only without any."""
    pieces = [*(m.text for m in span.output_messages), span.output_text]
    pieces += [json_text(r.arguments) or r.name for r in span.tool_requests]
    pieces += [span.tool_result or "", *(e.message for e in span.exceptions), span.raw.status_message]
    pieces += [] if span.tool_arguments is None else [json_text(span.tool_arguments)]
    return next((quote(piece.strip()) for piece in pieces if piece.strip()), span.raw.name)


def values_of(arguments: Json) -> list[Any]:
    """The values of a call's arguments; of anything but an object, the whole."""
    return list(arguments.values()) if isinstance(arguments, Mapping) else [arguments]


def quote_executed(span: NormalizedSpan, call: ToolCall) -> str:
    """A verbatim quote of an executed call from its tool span: its arguments, else the span's name."""
    found = _quote_arguments((*raw_texts(span), json_text(span.tool_arguments)), call) if call.arguments else ""
    return found or span.raw.name


def _quote_arguments(texts: tuple[str, ...], call: ToolCall) -> str:
    """The call's arguments as one of `texts` has them, in their call's object if it is short."""
    best = ""
    for form in argument_forms(call.arguments):
        for text in texts:
            at = text.find(form)
            if at >= 0:
                named = _with_name(text, at, form, call.name)
                if named:
                    return named
                best = best or form
        if best:
            break
    return quote(best) if len(best) > QUOTE else best.strip()


def argument_forms(arguments: Json) -> Iterator[str]:
    """The ways in which JSON arguments are written: spaced or not, with or without escapes, as a string in JSON."""
    if isinstance(arguments, str) and arguments.strip():
        yield arguments
    if not isinstance(arguments, Mapping | list) or not arguments:
        return
    for encoder in _ENCODERS:
        try:
            form = encoder.encode(arguments)
        except RecursionError:
            return
        yield form
        yield encoder.encode(form)[1:-1]


def _with_name(text: str, at: int, form: str, name: str) -> str:
    """The JSON object around the arguments at an offset that has the name, too; "" where there is no short one."""
    start = text.rfind("{", 0, at)
    try:
        end = start + _OBJECTS.raw_decode(text[start : start + QUOTE])[1] if start >= 0 else 0
    except json.JSONDecodeError:
        return ""
    return text[start:end] if end >= at + len(form) and f'"{name}"' in text[start:end] else ""


_OBJECTS: Final = json.JSONDecoder()
