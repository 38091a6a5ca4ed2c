"""Redaction of texts without structure: every form in which a pattern may match, and what an analyser finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from .fold import blanked, fold
from .patterns import Scanner
from .rules import Action, RedactionMarks, RedactionRule

SECONDS: Final = 1.0
"""How long one text may take; RE2 is linear, but a text may hold a million matches."""
_ROUNDS: Final = 4
_AFTER: Final = 16
"""Matches between two looks at the clock."""


class Entity(NamedTuple):
    """Something that an analyser found: a rule, and the place in characters."""

    rule: RedactionRule
    start: int
    end: int


class Analyzer(Protocol):
    """Finds what no pattern describes, such as names of people."""

    @property
    def rules(self) -> Sequence[RedactionRule]:
        """The rules of its entities."""

    def find(self, text: str) -> Iterable[Entity]:
        """The entities in a text. May raise anything: the text is then dropped."""


class TooSlowError(Exception):
    """A value took longer than it may."""


class _Match(NamedTuple):
    start: int
    end: int
    rule: RedactionRule
    value: bytes

    @property
    def rank(self) -> tuple[tuple[int, str], int]:
        return self.rule.rank, self.end - self.start


class PlainTextRedactor:
    """Redacts plain texts; safe from several threads. `owners`: the rule of each pattern; `clock` gives seconds."""

    def __init__(
        self,
        scanner: Scanner,
        owners: Sequence[RedactionRule],
        marks: RedactionMarks,
        analyzer: Analyzer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scanner, self._owners, self._marks = scanner, owners, marks
        self._analyzer, self._clock = analyzer, clock

    def redact(self, text: str, names: frozenset[str], found: list[str]) -> str:
        """A text without structure. A mark may stand where a letter kept a pattern from matching: hence the rounds."""
        for _ in range(_ROUNDS):
            new = self._once(text, names, found)
            if new == text:
                break
            text = new
        return text

    def _once(self, text: str, names: frozenset[str], found: list[str]) -> str:
        hits, escapes, foldable = self._scanner.hits(text) if self._owners else (frozenset[int](), False, False)
        forms = [] if not escapes else [blanked(text)]
        folded = fold(text) if foldable else None
        if not (hits or forms or folded or self._analyzer):
            return text
        data = text.encode(errors="replace")
        gaps = self._marks.gaps(data)
        matches = self._matches(hits, names, data, gaps)
        for form in forms:
            matches += self._matches(self._scanner.hits(form)[0], names, form.encode(errors="replace"), gaps)
        if folded:
            hits, _, _ = self._scanner.hits(folded.data.decode())
            in_folded = self._matches(hits, names, folded.data, self._marks.gaps(folded.data))
            matches += [_Match(*folded.origin(m.start, m.end), m.rule, m.value) for m in in_folded]
        if self._analyzer is not None and " " in text.strip():
            for entity in self._analyzer.find(text):
                start, end = len(text[: entity.start].encode()), len(text[: entity.end].encode())
                matches.append(_Match(start, end, entity.rule, data[start:end]))
        within = [m for m in matches if any(a <= m.start < m.end <= b for a, b in gaps)]
        if not within:
            return text
        text.encode()  # a lone surrogate raises
        return self._replaced(data, within, found)

    def _patience(self) -> Callable[[], None]:
        """To be called before each match; raises TooSlowError once a value takes too long."""
        last = self._clock() + SECONDS
        calls = 0

        def go_on() -> None:
            nonlocal calls
            calls += 1
            if calls % _AFTER == 0 and self._clock() > last:
                raise TooSlowError

        return go_on

    def _matches(
        self, hits: Iterable[int], names: frozenset[str], data: bytes, gaps: Sequence[tuple[int, int]]
    ) -> list[_Match]:
        go_on = self._patience()
        return [
            _Match(start, end, self._owners[hit], data[start:end])
            for hit in sorted(hits)
            if self._owners[hit].name in names
            for start, end in self._scanner.find(hit, data, gaps, go_on)
        ]

    def _replaced(self, data: bytes, matches: list[_Match], found: list[str]) -> str:
        """Ranges that meet are one, under the strongest of their rules."""
        out = bytearray()
        done = 0
        for group in _groups(matches):
            best = max(group, key=lambda match: match.rank)
            found.append(best.rule.name)
            if best.rule.action is Action.DROP:
                return ""
            out += data[done : group[0].start] + self._marks.of(best.rule, best.value).encode()
            done = max(match.end for match in group)
        return (out + data[done:]).decode()


def _groups(matches: list[_Match]) -> list[list[_Match]]:
    groups: list[list[_Match]] = []
    end = -1
    for match in sorted(matches, key=lambda match: (match.start, match.end, match.rank)):
        if match.start < end:
            groups[-1].append(match)
        else:
            groups.append([match])
        end = max(end, match.end)
    return groups
