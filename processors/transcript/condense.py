"""Shortening prompts: worked examples go first, then the longest lines, so that every rule and tool keeps its start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tracejury.schemas.transcript import cut_notice

from .shorten import shorten

_LEAST_LINE: Final = 30  # characters that a line keeps; where even that is too much, the middle goes
_INNER: Final = re.compile(r"\s{3}|\t")  # how lines within list items begin
_ITEM: Final = re.compile(r" ? ?(?:[-*\u2022\u2013]|\d{1,2}[.)])\s")
_ITEMS: Final = 2  # how much longer the first lines of items may be
_PROSE: Final = 4  # and other lines: what is asked for stands there
_HEAD: Final = 0.35  # prompts begin with who the agent is and end with its rules
_LEAST_EXAMPLES: Final = 600  # shorter conversations may be the form that is asked for
_LEAST_MARKS: Final = 4
_APART: Final = 25  # lines between two speakers of one conversation
ENDS: Final = " […]"  # at a line that lost its end: a notice of its own would take as much as it spares
_NOTICE: Final = 50  # characters for the notice of them all

_SPEAKER: Final = re.compile(
    r"\s{0,4}[#*]{0,3} ?(task|question|query|q|user|human|input|thoughts?|reasoning|action(?: input)?|tool call|code|"
    r"observation|result|response|assistant|ai|output|(?:final )?answer|a|example)(?: ?\d{1,2})?\*{0,2}:",
    re.IGNORECASE,
)
"""Openings of the turns of a conversation that a prompt gives as an example."""

_FENCE: Final = "```"


def condense(text: str, limit: int, *, examples: bool = False) -> str:
    """`text` (lines of a transcript) in about `limit` characters, all that is left out stated.

    With `examples`, worked examples (conversations of at least 600 characters) are left out first; then the longest
    lines lose their ends (`[…]`), first those within list items, so that headings, rules and beginnings of items stay.
    Where lines would become too short for that, the middle is left out.
    """
    if len(text) <= limit:
        return text
    lines = list(_once((without_examples(text) if examples else text).split("\n")))
    if sum(len(line) + 1 for line in lines) - 1 <= limit:
        return "\n".join(lines)
    weights = [_weight(line) for line in lines]
    longest = level([len(line) + 1 for line in lines], limit - _NOTICE, weights)
    if longest < _LEAST_LINE:
        return shorten("\n".join(lines), limit, _HEAD)
    short = [_cut(line, longest * weight) for line, weight in zip(lines, weights, strict=True)]
    missing = sum(len(line) - len(kept) + len(ENDS) for line, kept in zip(lines, short, strict=True) if kept != line)
    return "\n".join((*short, cut_notice(missing, "ends of lines")) if missing else short)


def level(sizes: Sequence[int], limit: int, weights: Sequence[int]) -> int:
    """The length, times a text's weight, to which all longer texts must be cut for the sum to be `limit`."""
    ordered = sorted(zip(sizes, weights, strict=True), key=lambda found: found[0] / found[1])
    left, shares = limit, sum(weights)
    for size, weight in ordered:
        if size * shares > left * weight:
            return max(0, left // shares)
        left -= size
        shares -= weight
    return max(sizes, default=limit)


def _weight(line: str) -> int:
    if _INNER.match(line):
        return 1
    return _ITEMS if _ITEM.match(line) else _PROSE


def _once(lines: Iterable[str]) -> Iterator[str]:
    """Drop repeated lines below list items; the first of them stays."""
    told: set[str] = set()
    for line in lines:
        if line not in told or not line.strip():
            yield line
        if _INNER.match(line):
            told.add(line)


def _cut(line: str, longest: int) -> str:
    if len(line) <= longest + 2 * len(ENDS) or not line.startswith(" "):
        return line
    last = max(longest - len(ENDS), 1)
    at = line.rfind(" ", last // 2, last)
    return f"{line[: at if at > 0 else last]}{ENDS}"


def without_examples(text: str) -> str:
    """`text` (lines of a transcript) without worked examples: conversations of at least 600 characters."""
    return "\n".join(_without_examples(text.split("\n")))


def _without_examples(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    for begin, end in _examples(lines):
        size = sum(len(line) + 1 for line in lines[begin:end])
        if size >= _LEAST_EXAMPLES:
            yield from lines[at:begin]
            yield cut_notice(size, "worked examples")
            at = end
    yield from lines[at:]


def _examples(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First line and end of each conversation: speakers that come again, close to each other."""
    marks = [(i, m[1].lower()) for i, line in enumerate(lines) if (m := _SPEAKER.match(line))]
    at = 0
    while at < len(marks):
        end = at + 1
        while end < len(marks) and marks[end][0] - marks[end - 1][0] <= _APART:
            end += 1
        names = [name for _, name in marks[at:end]]
        if len(names) >= _LEAST_MARKS and len(set(names)) < len(names):
            yield marks[at][0], _end(lines, marks[end - 1][0])
        at = end


def _end(lines: Sequence[str], at: int) -> int:
    """End of the last message: an empty line outside a fence."""
    fenced = False
    for i in range(at, min(len(lines), at + _APART)):
        fenced ^= lines[i].strip().startswith(_FENCE)
        if not fenced and not lines[i].strip():
            return i
    return min(len(lines), at + _APART)
