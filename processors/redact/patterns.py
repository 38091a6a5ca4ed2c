"""Patterns in RE2, matched first as one Set: a text without a match costs one pass, however many patterns there are.

RE2 takes time in proportion to the text, whatever the pattern; what would need back-tracking it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import re2

from .fold import BLANK, BLANK_ESCAPES, SUSPECT

Check = Callable[[bytes, int, int], int | None]
"""See `checks`."""
Range = tuple[int, int]

START: Final = r"(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
"""A word's boundary, also after an escape."""
SPACE: Final = rf"(?:\s|\\[nrtf]|{BLANK})"
"""White space, also as an escape."""
_IN_CLASS: Final = re.compile(r"\[[^\]]*\]|\\s|\\?[ /-]")
_DASH: Final = f"(?:-|{BLANK})"
_RELAXED: Final = {
    r"\s": SPACE, " ": f"(?: |{BLANK})", r"\ ": f"(?: |{BLANK})", "-": _DASH, r"\-": _DASH,
    "/": r"\\*/", r"\/": r"\\*/",
}  # fmt: skip
# Literals, simple classes, groups and counts: nothing that an escape, a quote or a line break could stand for.
_PLAIN: Final = re.compile(
    r"(?:\(\?i\))?(?:\\b)?(?:[\w@:=,;#%&!~<> /-]|\\[dwSs.+*?(){}|-]|\[(?:[\w.@+%=:;,-]|\\[dw.-])+\]|\(\?:|[()|*+?]"
    r"|\{\d+(?:,\d*)?\})+(?:\\b)?"
)

MOST_EARLY_CHECKS: Final = 1000
"""Checks of one pattern in one first pass: with more, every match is a place, as after each the search begins anew."""
# Also a backslash: texts are searched with their escapes resolved.
_ALONE: Final = re.compile(r"\^|\$|\\A|\\z|\\\\")


@dataclass(frozen=True, slots=True)
class Pattern:
    """An RE2 pattern. Its first group, or else the whole match, is redacted where `check` agrees."""

    text: str
    check: Check | None = None
    early: str = ""
    """The same for texts of JSON as they are, with escapes in them: it matches where the pattern does, or more."""
    early_check: Check | None = None
    """What of `check` holds for texts with escapes, too, where `early` matches."""
    alone: bool = False
    """Whether it may match a text and not a longer one that holds it, so that each text must be searched alone."""


def own_pattern(text: str) -> Pattern:
    """A user's pattern.

    Raises:
        ValueError: RE2 refuses it, or it matches the empty text.
    """
    if compiled(text).search(b""):
        raise ValueError("the pattern matches the empty text")
    return Pattern(text, early=_early(text), alone=bool(_ALONE.search(text)))


def _early(text: str) -> str:
    """The pattern for texts with escapes; "" where it holds more than is understood here."""
    if not _PLAIN.fullmatch(text):
        return ""
    head = "(?i)" if text.startswith("(?i)") else ""
    rest = text.removeprefix(head)
    start = START if rest.startswith(r"\b") else ""
    early = head + start + relaxed(rest.removeprefix(r"\b"))
    try:
        compiled(early)
    except ValueError:  # it has become too large
        return ""
    return early


def relaxed(text: str) -> str:
    """The pattern with what may stand for white space, dashes and slashes in texts with escapes; classes stay."""
    return _IN_CLASS.sub(lambda match: match[0] if match[0][0] == "[" else _RELAXED[match[0]], text)


@cache
def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


def compiled(text: str) -> Any:
    """The pattern as RE2 has it. Raises ValueError where RE2 refuses it."""
    try:
        return re2.compile(text.encode(), _options())
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0] if error.args else ""
        raise ValueError(f"RE2 refuses the pattern: {why.decode() if isinstance(why, bytes) else 'no UTF-8'}") from None


class Scanner:
    """Finds patterns, each known by its number. Safe from several threads."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._found = [(compiled(p.text), p.check) for p in patterns]
        self._all = frozenset(range(len(patterns)))
        self._set = re2.Set.SearchSet(_options())
        for pattern in patterns:
            self._set.Add(pattern.text.encode())
        self._suspect = self._set.Add(SUSPECT.encode())
        self._escapes = self._set.Add(BLANK_ESCAPES.encode())
        # RE2 reports no match where a Set takes more memory than it may have: then this one is missing.
        self._witness = self._set.Add(rb"\z")
        self._set.Compile()
        self._early = re2.Set.SearchSet(_options()) if all(pattern.early for pattern in patterns) else None
        if self._early is not None:
            early = [*((pattern.early, pattern.early_check) for pattern in patterns), (SUSPECT, None)]
            self._early_found = [(compiled(text), check) for text, check in early]
            for text, _ in early:
                self._early.Add(text.encode())
            self._early_witness = self._early.Add(rb"\z")
            self._early.Compile()

    def suspects(self, data: bytes) -> list[Range] | None:
        """Where a pattern may match in texts that are JSON or none, in order; None: anywhere.

        One pass where nothing may; each pattern that may match takes one more. Calls into RE2 are few, as after each
        the interpreter's lock has to be waited for.
        """
        found = self._early.Match(data) or [] if self._early is not None else []
        if self._early is None or self._early_witness not in found:
            return None
        places = {place for n in found if n != self._early_witness for place in self._early_places(n, data)}
        return sorted(places)

    def _early_places(self, number: int, data: bytes) -> Iterable[Range]:
        pattern, check = self._early_found[number]
        if check is not None:
            with suppress(_TooManyError):
                return list(_places(pattern, check, data, [(0, len(data))], _bounded(MOST_EARLY_CHECKS)))
        return (match.span() for match in pattern.finditer(data))

    def hits(self, text: str) -> tuple[frozenset[int], bool, bool]:
        """The patterns that a text holds, before checks; whether it holds escapes of white space, and what to fold."""
        found = self._in(text)
        return self._all.intersection(found), self._escapes in found, self._suspect in found

    def _in(self, text: str) -> frozenset[int]:
        found = self._set.Match(text.encode(errors="replace")) or ()
        return frozenset(found) if self._witness in found else self._all | {self._suspect, self._escapes}

    def find(self, number: int, data: bytes, gaps: Collection[Range], go_on: Callable[[], None]) -> Iterator[Range]:
        """The places of a pattern in the gaps; `go_on` is called before each and may raise."""
        return _places(*self._found[number], data, gaps, go_on)


class _TooManyError(Exception):
    """More calls than there may be."""


def _bounded(calls: int) -> Callable[[], None]:
    left = iter(range(calls))

    def go_on() -> None:
        if next(left, None) is None:
            raise _TooManyError

    return go_on


def _places(
    pattern: Any, check: Check | None, data: bytes, gaps: Collection[Range], go_on: Callable[[], None]
) -> Iterator[Range]:
    group = min(pattern.groups, 1)
    for first, last in gaps:
        at = first
        while at < last:
            go_on()
            match = pattern.search(data, at, last)
            if match is None:
                break
            start, end = match.span(group) if match[group] is not None else match.span()
            right = check(data, start, end) if check else end
            if right is None or right <= start:
                at = match.start() + 1
            else:
                yield start, right
                at = max(right, match.start() + 1)


def in_characters(text: str, places: list[Range]) -> list[Range]:
    """Places in UTF-8 as places in the text; each may reach a little further."""
    if text.isascii():
        return places
    data = text.encode(errors="replace")
    out = []
    byte = character = 0
    for start, end in places:
        character += len(data[byte:start].decode(errors="ignore"))
        byte = start
        out.append((character, character + end - start))
    return out
