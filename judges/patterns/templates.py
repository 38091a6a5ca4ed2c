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

_FRAME: Final = re.compile(
    r"^[ \t]+at [^\n]*$|^[ \t]*File \"[^\n]*, line \d[^\n]*(?:\n[ \t]+[^\n]*)?$|^[ \t]*\.\.\. \d+ more$", re.MULTILINE
)
"""A line of a stack: Java, JavaScript, C#; Python, with the code below."""
_PLACED: Final = r"(?:(?<=[\s\"'(=:\[])|^)"
_FOLDER: Final = r"[\w.@+-]{1,80}(?: [\w.@+-]{1,40})?[\\/]"
_FILE: Final = r"[\w.@+-]{1,80}(?: [\w@+-]{1,40}\.\w{1,5}\b)?"
_OUTER: Final = re.compile(
    r"(?P<kept>\b(?:(?:status|code|errno|exit(?:ed)?|signal|winerror|sqlstate)\b[^\w\n]{0,3}(?:status|code)?[^\w\n]{0,3}\d{1,5}"
    r"|https?(?:/\d(?:\.\d)?)?[ (\[]{1,2}\d{3}|error[ (\[#]{1,2}\d{1,4}"
    r"|(?:with|got|received|returned|responded|response)[ (:]{1,2}[45]\d\d)\b)"
    r"|[\w+.-]{1,40}://[^\s\"'<>)\]]{1,400}"  # a URL
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}"  # an address
    rf"|{_PLACED}(?:(?:~|\.{{0,2}})/|[A-Za-z]:[\\/]|\.{{0,2}}\\(?={_FOLDER}))(?:{_FOLDER}){{0,40}}{_FILE}"  # a path
    r"|\b[\w-]{1,80}\.(?:txt|csv|tsv|json|ya?ml|xml|html?|md|pdf|docx?|xlsx?|pptx?|py|log|sql|png|jpe?g|zip|gz|parquet)\b"
    r"|[\w.+:/-]{0,80}\d[\w.+:/-]{0,80}",  # whatever has a digit
    re.IGNORECASE,
)
_DATE: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)"
)
_UNIT: Final = (
    r"(?:[kmgt]i?b|bytes?|[mµn]?s|sec(?:ond)?s?|min(?:ute)?s?|h(?:our)?s?|days?|weeks?|months?|years?|%|[$€£¥₹]"
    r"|usd|eur|gbp|gmt|utc|ces?t|[ap]m)"
)
_BESIDE: Final = re.compile(
    rf"\b{_DATE}\b(?=[\s,.]{{1,3}}(?:{_DATE}\b[\s,.]{{1,3}})?{VALUE})|(?<={VALUE} ){_DATE}\b"
    rf"|(?<={VALUE} ){_UNIT}(?!\w)|(?<={VALUE})[%$€£¥₹]|[$€£¥₹] ?(?={VALUE})|[\"'`]{VALUE}[\"'`]",
    re.IGNORECASE,
)
"""Words of dates and units beside a value, and its quotes."""
_TIMES: Final = re.compile(r"\b(?:once|twice|thrice)\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE)
_SEVERAL_OF: Final = re.compile(rf"({VALUE} (?:\w{{1,40}} )?\w{{3,40}}?)s\b")
"""What is counted: one turn, two turns."""
_PIECE: Final = re.compile(
    r"\b(?:near|token|char|character|symbol|value|input|string|parsing|literal|variant|base \d\d?)[\s:=]{0,3}$",
    re.IGNORECASE,
)
"""Before a quote that is a piece of what a parser was given, whatever it looks like."""
_MESSAGE: Final = re.compile(
    r"(?:(?i:errors?|message|details?|reason|msg|description|(?<![a-z])te?xt|title|cause|exception|fault|string|summary)[\"']\s?[:=]\s?\[?"
    r"|(?<![A-Za-z])(?:errors?|message|details?|reason|msg|description|text|title|cause)\s?[:=]\s?\[?"
    r"|(?:Error|Exception|Failure|Timeout)\(|\(\d{1,6}, ?)$"
)
"""Before a quote that is the message of a failure, in an object or an exception's representation."""
_QUOTED: Final = re.compile(
    r"\"([^\"\n]{0,400})(?:\"|$)|(?<!\w)'([^'\n]{0,400})(?:'(?!\w)|$)|`([^`'\n]{0,400})'(?!\w)|`([^`\n]{0,400})(?:`|$)"
    r"|[„“”]([^„“”\n]{0,400})[“”]|«([^«»\n]{0,400})»|(?<!\w)‘([^‘’\n]{0,400})’|[「『]([^「」『』\n]{0,400})[」』]"  # noqa: RUF001 - quotes
)
_OF_NAMES: Final = "\"'`"
"""Quotation marks of code; within those of prose stands no bare name."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z_.-]{0,80}")
_SEVERAL: Final = re.compile(rf"{VALUE}(?:[\s,;:/|x*+-]{{0,3}}(?:and |or )?{VALUE})+")


def template_of(text: str, values: Iterable[str] = ()) -> str:
    """The text in lower case with its values taken out, at most `KEPT` characters, cut at a word.

    `values`: texts known to vary, such as a call's arguments; of one that the text breaks off its beginning is found,
    too. Of what else varies are taken out numbers, ids, dates, paths, addresses, and what is quoted unless it is a
    bare name: those of tools and arguments tell faults apart. Status and exit codes stay.
    """
    head = " ".join(_FRAME.sub("", text[: 4 * LONGEST]).split())[:LONGEST]
    for value in sorted({" ".join(v.split()) for v in values}, key=lambda v: (-len(v), v))[:MOST_VALUES]:
        head = _without(head, value)
    head = _QUOTED.sub(_quoted, head)
    head = _OUTER.sub(lambda found: found["kept"] or VALUE, head)
    head = _BESIDE.sub(VALUE, _NUMBER.sub(VALUE, _TIMES.sub(f"{VALUE} times", head)))
    head = _SEVERAL.sub(VALUE, head)
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
    named = found[0][0] in _OF_NAMES and _IDENTIFIER.fullmatch(inner)
    if named and not _PIECE.search(found.string, max(0, found.start() - 16), found.start()):
        return found[0]
    # In brackets our rules quote the message of a failure: its words are what the template is made of.
    ours = found[0][0] == '"' and found.string[: found.start()].endswith("(")
    if ours or _MESSAGE.search(found.string, max(0, found.start() - 16), found.start()):
        return f'"{_QUOTED.sub(_quoted, inner)}"'
    return VALUE
