"""The template of a text: what stays the same where the same thing goes wrong with other values.

A pure function of one text and of the values known beside it, so that any order of arrival gives the same templates.
Miners of log templates (Drain: He et al., "Drain: An online log parsing approach with fixed depth tree", 2017) learn
which words vary from the lines before, so what they say of a line depends on the order; of an agent's call the values
are known instead: they stand in its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tracejury.schemas.normalized import Json

LONGEST: Final = 600
"""Characters of a text that are read."""

KEPT: Final = 120
"""Characters of a template, cut at a word: where a text breaks off depends on the length of its values."""

VALUE: Final = "…"
"""Stands in a template for what varies."""

MOST_VALUES: Final = 64
"""Values of one call that are looked for, the longest first."""

_LEAST: Final = 3
"""Bytes of a value that is looked for: of two letters it may be a word of any sentence, unless one is a capital."""

_DEPTH: Final = 6

_OUTER: Final = re.compile(
    r"(?P<kept>\b(?:http|https|status|code|error|errno|returned|exit(?:ed)?|signal)\b[^\w\n]{0,3}(?:status|code)?"
    r"[^\w\n]{0,3}\d{1,4}\b)"
    r"|[\w+.-]{1,40}://[^\s\"'<>)\]]{1,400}"  # a URL
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}"  # an address
    r"|(?:(?<=[\s\"'(=:\[])|^)(?:~|\.{0,2}|[A-Za-z]:)(?:[\\/][\w.@+ -]{1,80}){2,40}"  # a path
    r"|[\w.+:/-]{0,80}\d[\w.+:/-]{0,80}",  # whatever has a digit
    re.IGNORECASE,
)
_MONTH: Final = re.compile(
    rf"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\b(?=[\s,.]{{1,3}}{VALUE})"
    rf"|(?<={VALUE} )(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\b",
    re.IGNORECASE,
)
_TWICE: Final = re.compile(r"\btwice\b", re.IGNORECASE)
_SEVERAL_OF: Final = re.compile(rf"({VALUE} (?:\w{{1,40}} )?\w{{3,40}}?)s\b")
"""What is counted: one turn, two turns."""
_PIECE: Final = re.compile(r"\b(?:near|token|char|character|symbol|value|input)[\s:=]{0,3}$", re.IGNORECASE)
"""Before a quote that is a piece of what a parser was given, whatever it looks like."""
_MESSAGE: Final = re.compile(
    r"(?:\b(?:error|message|detail|reason|msg)[\"']?\s?[:=]\s?|(?:Error|Exception|Failure|Timeout)\()$"
)
"""Before a quote that is the message of a failure, in an object or an exception's representation."""
_QUOTED: Final = re.compile(r"\"([^\"\n]{0,400})(?:\"|$)|(?<!\w)'([^'\n]{0,400})(?:'(?!\w)|$)|`([^`\n]{0,400})(?:`|$)")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z_.-]{0,80}")
_SEVERAL: Final = re.compile(rf"{VALUE}(?:[\s,;:/|x*+-]{{0,3}}(?:and |or )?{VALUE})+")


def template_of(text: str, values: Iterable[str] = ()) -> str:
    """The text in lower case with its values taken out, at most `KEPT` characters, cut at a word.

    `values`: texts known to vary, such as a call's arguments; of one that the text breaks off its beginning is found,
    too. Of what else varies are taken out numbers, ids, dates, paths, addresses, and what is quoted unless it is a
    bare name: those of tools and arguments tell faults apart. Status and exit codes stay.
    """
    head = " ".join(text[: 2 * LONGEST].split())[:LONGEST]
    for value in sorted({" ".join(v.split()) for v in values}, key=lambda v: (-len(v), v))[:MOST_VALUES]:
        head = _without(head, value)
    head = _QUOTED.sub(_quoted, head)
    head = _OUTER.sub(lambda found: found["kept"] or VALUE, head)
    head = _SEVERAL.sub(VALUE, _MONTH.sub(VALUE, _TWICE.sub(f"{VALUE} times", head)))
    head = _SEVERAL_OF.sub(r"\1", head).casefold()
    return head if len(head) <= KEPT else head[:KEPT].rpartition(" ")[0] or head[:KEPT]


def argument_values(arguments: Json) -> list[str]:
    """The texts and figures in a call's arguments, whatever they are nested in; names of arguments are none."""
    found, level = list[str](), [arguments]
    for _ in range(_DEPTH):
        inner = list[Json]()
        for item in level:
            if isinstance(item, str):
                found.append(item[:LONGEST])
            elif isinstance(item, Mapping):
                inner += item.values()
            elif isinstance(item, list | tuple):
                inner += item
        level = inner
    return found


def _without(text: str, value: str) -> str:
    """The text without a value wherever it stands, and without its beginning where the text ends or is cut in it."""
    if value == VALUE or len(value.encode("utf-8", "surrogatepass")) + (value != value.lower()) < _LEAST:
        return text
    start, opening = 0, value[:_OPENING]
    while (at := text.find(opening, start)) >= 0:
        length = len(opening)
        while length < len(value) and at + length < len(text) and text[at + length] == value[length]:
            length += 1
        end = at + length
        whole = length == len(value)
        alone = not (at and text[at - 1].isalnum() and text[at].isalnum())
        alone = alone and not (end < len(text) and whole and text[end].isalnum() and text[end - 1].isalnum())
        if alone and (whole or length >= _OPENING):
            text, start = f"{text[:at]}{VALUE}{text[end:]}", at + len(VALUE)
        else:
            start = at + 1
    return text


_OPENING: Final = 16
"""Characters of a value by which its beginning is recognised where the rest was cut."""


def _quoted(found: re.Match[str]) -> str:
    inner = next((group for group in found.groups() if group is not None), "")
    if _IDENTIFIER.fullmatch(inner) and not _PIECE.search(found.string, max(0, found.start() - 16), found.start()):
        return found[0]
    # In brackets our rules quote the message of a failure: its words are what the template is made of.
    ours = found[0][0] == '"' and found.string[: found.start()].endswith("(")
    if ours or _MESSAGE.search(found.string, max(0, found.start() - 16), found.start()):
        return f'"{_QUOTED.sub(_quoted, inner)}"'
    return VALUE
