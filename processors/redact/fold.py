"""Folded text: characters that look like ASCII, invisible ones, and escapes of texts that are no JSON.

It is only searched. Places are mapped back, so that what is stored keeps every character that is not redacted.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

# \p{Nd} is given without ASCII: full-width, Arabic, Indic … digits.
FOLDABLE: Final = (
    r"[\p{Cf}\x{a0}\x{ff01}-\x{ff5e}\x{2000}-\x{200a}\x{2010}-\x{2015}\x{202f}\x{2212}\x{3000}\x{fe00}-\x{fe0f}"
    r"\x{660}-\x{669}\x{6f0}-\x{6f9}\x{7c0}-\x{7c9}\x{966}-\x{96f}\x{9e6}-\x{9ef}\x{a66}-\x{a6f}\x{ae6}-\x{aef}"
    r"\x{b66}-\x{b6f}\x{be6}-\x{bef}\x{c66}-\x{c6f}\x{ce6}-\x{cef}\x{d66}-\x{d6f}\x{e50}-\x{e59}\x{ed0}-\x{ed9}"
    r"\x{f20}-\x{f29}\x{1040}-\x{1049}\x{17e0}-\x{17e9}\x{1810}-\x{1819}\x{2460}-\x{2468}\x{1d7ce}-\x{1d7ff}"
    r"\x{1d400}-\x{1d6a5}]"
)
"""RE2 for the characters that are folded."""

_SPACES: Final = "\u00a0\u202f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


BLANK_ESCAPES: Final = r"\\[nrtbf]"
"""RE2 for the escapes of white space."""
BLANK: Final = (
    r"(?:[\x{a0}\x{2000}-\x{200a}\x{2010}-\x{2015}\x{202f}\x{2212}\x{3000}]"
    r"|\\+u(?:00[aA]0|20(?:0[0-9aA]|1[0-5]|2[fF])|2212|3000))"
)
_INVISIBLE: Final = (
    r"(?:\p{Cf}|[\x{fe00}-\x{fe0f}]|\\+u(?:00[aA][dD]|20(?:0[b-fB-F]|2[a-eA-E]|6[0-9a-fA-F])|[fF][eE](?:0.|[fF]{2})))+"
)
_GROUP: Final = "[0-9A-Z]{2,}"
SUSPECT: Final = (
    # Letters and digits of other forms, as they are and as escapes; escapes of ASCII.
    r"[\x{ff0b}\x{ff0d}\x{ff0e}\x{ff10}-\x{ff19}\x{ff20}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}"
    + FOLDABLE[FOLDABLE.index(r"\x{660}") :]
    + r"|\\u(?:00[2-7][0-9a-fA-F]|0[6-9a-eA-E][0-9a-fA-F]{2}|[fF]{2}[0-5][0-9a-fA-F]|[dD]835)"
    rf"|[!-~]{_INVISIBLE}[!-~]"
    # One blank or dash of another form among three groups or more: two are years and pages.
    rf"|{_GROUP}\)?{BLANK}\(?{_GROUP}(?:[ -]|{BLANK}){_GROUP}|{_GROUP}\)?[ -]{_GROUP}{BLANK}{_GROUP}"
    rf"|\+[0-9]{{1,3}}{BLANK}"
)
"""RE2 for what may hide a match from a search that does not fold: far less than what is folded, which is common."""


# `re` here, which keeps the interpreter's lock: waiting for it again after each of many places takes longer.
_ESCAPES: Final = re.compile(r"\\\\{0,254}(?:[nrtbf/]|u[0-9a-fA-F]{4})")


@cache
def _places() -> re.Pattern[str]:
    """Escapes and FOLDABLE for `re`, which has no classes by category."""
    invisible = "".join(chr(c) for c in range(0x80, 0x20000) if unicodedata.category(chr(c)) == "Cf")
    tags = f"{chr(0xE0001)}{chr(0xE0020)}-{chr(0xE007F)}"
    listed = re.sub(r"\\x\{([0-9a-f]+)\}", lambda m: chr(int(m[1], 16)), FOLDABLE[1:-1].removeprefix(r"\p{Cf}"))
    return re.compile(rf"{_ESCAPES.pattern}|[{re.escape(invisible)}{tags}]+|[{listed}]")


def blanked(text: str) -> str:
    """The text with white space in place of its escapes; all else keeps its place."""
    for escape in ("\\n", "\\r", "\\t", "\\b", "\\f"):
        text = text.replace(escape, "\n\n")
    return text


@dataclass(frozen=True, slots=True)
class FoldedText:
    """Folded text in UTF-8, and where its pieces begin there and in the text itself."""

    data: bytes
    starts: list[int]
    origins: list[tuple[int, int, bool]]
    """Of each piece: start and end in the text itself, and whether it is folded."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The place in the text itself."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, at: int) -> tuple[int, int]:
        """The start and end of the byte at `at`."""
        piece = bisect_right(self.starts, at) - 1
        start, end, folded = self.origins[piece]
        if folded:
            return start, end
        offset = start + at - self.starts[piece]
        return offset, offset + 1


def fold(text: str) -> FoldedText:
    """The folded text; lone surrogates are replaced."""
    out: list[bytes] = []
    starts: list[int] = []
    origins: list[tuple[int, int, bool]] = []
    done = length = origin = 0

    def add(piece: str, replacement: str | None) -> None:
        nonlocal length, origin
        raw = piece.encode(errors="replace")
        new = raw if replacement is None else replacement.encode()
        if new:
            starts.append(length)
            origins.append((origin, origin + len(raw), replacement is not None))
            out.append(new)
        length += len(new)
        origin += len(raw)

    for match in (_ESCAPES if text.isascii() else _places()).finditer(text):
        add(text[done : match.start()], None)
        add(match[0], _replacement(match[0]))
        done = match.end()
    add(text[done:], None)
    return FoldedText(b"".join(out), starts, origins)


def _replacement(found: str) -> str:
    if found[0] != "\\":
        return _folded(found[0])  # of a run all are invisible
    kind = found.lstrip("\\")
    if kind[0] != "u":
        return "/" if kind == "/" else "\n"
    char = chr(int(kind[1:], 16))
    return "?" if "\ud800" <= char <= "\udfff" else _folded(char)


@lru_cache(4096)
def _folded(char: str) -> str:
    if unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f":
        return ""
    if char in _SPACES:
        return " "
    if char in _DASHES:
        return "-"
    plain = unicodedata.normalize("NFKC", char)
    return plain if plain.isascii() else str(unicodedata.digit(char, char))
