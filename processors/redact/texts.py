"""Redaction of one value: whole by its key, at a path of its JSON, or where a pattern matches."""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

from .fold import blanked, fold
from .json_parts import MOST_LEVELS, PartKind, literal, parsed, parts, string_of, values_at
from .paths import covers
from .patterns import Range, Scanner, in_characters
from .rules import FAILED, FAILED_MARK, Action, RedactionMarks, RedactionRule

log = logging.getLogger(__name__)

SECONDS: Final = 1.0
"""How long one value may take; RE2 is linear, but a value may hold a million matches."""
BETWEEN: Final = b"\n\n"
"""Between texts that are searched at once: it begins and ends words, and few patterns match across it."""
CHUNK: Final = 1 << 20
_KEYS: Final = 4096
_ROUNDS: Final = 4
_AFTER: Final = 16
"""Matches between two looks at the clock."""


Candidates = dict[str, list[Range] | None]
"""Texts in which a pattern may match, and the places in bytes of their UTF-8 where; None: anywhere."""


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


@dataclass(frozen=True, slots=True)
class _Plan:
    """The rules for the values of one key."""

    whole: RedactionRule | None
    paths: tuple[RedactionRule, ...]
    names: frozenset[str]
    """Of the rules of patterns."""
    within: tuple[RedactionRule, ...]
    """Rules of patterns that look at a path alone."""


class TextRedactor:
    """Redacts values by rules; safe from several threads. `clock` gives seconds."""

    def __init__(
        self,
        rules: Sequence[RedactionRule],
        key: bytes = b"",
        *,
        analyzer: Analyzer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = rules
        self._analyzer, self._clock = analyzer, clock
        everything = [*rules, *(analyzer.rules if analyzer else ())]
        self.names = {FAILED, *(rule.name for rule in everything)}
        self._marks = RedactionMarks(everything, key)
        owned = [(rule, pattern) for rule in rules for pattern in rule.patterns]
        self._owners = [rule for rule, _ in owned]
        self._scanner = Scanner([pattern for _, pattern in owned])
        self._joinable = analyzer is None and not any(pattern.alone for _, pattern in owned)
        self._keyed = any(rule.path or not rule.patterns for rule in rules)
        self._plan = lru_cache(_KEYS)(self._planned)

    def takes(self, key: str) -> bool:
        """Whether a rule looks at values of this key whatever they are."""
        plan = self._plan(key) if self._keyed else None
        return plan is not None and bool(plan.whole or plan.paths)

    def candidates(self, texts: Iterable[str]) -> Candidates:
        """Those of the texts in which a pattern may match: one pass over each that differs from the others."""
        if not self._owners and self._analyzer is None:
            return {}
        different = dict.fromkeys(texts)
        if not self._joinable:
            return dict[str, list[Range] | None](different)
        found: Candidates = {}
        for chunk in _chunks(different):
            self._search(chunk, found)
        return found

    def _search(self, texts: Sequence[str], found: Candidates) -> None:
        """Add those in which a pattern may match to `found`."""
        encoded = [text.encode(errors="replace") for text in texts]
        places = self._scanner.suspects(BETWEEN.join(encoded))
        if places is None:
            found.update(dict.fromkeys(texts))
            return
        starts = [0, *accumulate(len(data) + len(BETWEEN) for data in encoded)]
        for start, end in places:
            first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
            if first < last and start >= starts[first + 1] - len(BETWEEN):  # what follows is what it found
                first += 1
            if first < last:  # by themselves they may match elsewhere
                found.update(dict.fromkeys(texts[first : last + 1]))
            elif (within := found.setdefault(texts[first], [])) is not None:
                within.append((max(start - starts[first], 0), end - starts[first]))

    def value(
        self, key: str, text: str, found: list[str], *, patterns: bool = True, places: list[Range] | None = None
    ) -> str | None:
        """The text that is stored, None where it is dropped; `found` gains the name of a rule for each place.

        Without `patterns` only a rule for the whole value applies. `places`: those of `candidates`, if they are known.
        """
        plan = self._plan(key)
        before = len(found)
        try:
            if plan.whole is not None:
                return self._whole(plan.whole, text, found)
            if not patterns:
                return text
            new = self._text(text, plan, ((), 0), found, places)
        except Exception as error:  # noqa: BLE001  a fault of a rule, of an analyser or of ours must not store what it looked at
            log.warning("a rule of redaction failed, its value was dropped: %s", type(error).__name__)
            found[before:] = [FAILED]
            return FAILED_MARK
        return None if new == "" and text else new

    def _planned(self, key: str) -> _Plan:
        rules = [rule for rule in self.rules if rule.is_for(key)]
        whole = [rule for rule in rules if rule.takes_whole(key)]
        return _Plan(
            max(whole, key=lambda rule: rule.rank, default=None),
            tuple(rule for rule in rules if rule.path and not rule.patterns),
            frozenset(rule.name for rule in rules if rule.patterns and not rule.path),
            tuple(rule for rule in rules if rule.patterns and rule.path),
        )

    def _whole(self, rule: RedactionRule, text: str, found: list[str]) -> str | None:
        if not text or self._marks.is_mark(text):
            return text
        found.append(rule.name)
        return self._marks.of(rule, text.encode()) or None

    def _text(
        self, text: str, plan: _Plan, at: tuple[tuple[str, ...], int], found: list[str], places: list[Range] | None
    ) -> str:
        """A text that may be JSON; `at`: path and level of JSON in JSON; `places`: where a pattern may match."""
        path, level = at
        value = parsed(text) if level < MOST_LEVELS else None
        if value is None:
            return self._plain(text, self._patterns_at(plan, path), found)
        if plan.paths or plan.within:
            return self._json(text, plan, at, found)
        if places is None and self._joinable:
            places = self._scanner.suspects(text.encode(errors="replace"))
        if places is None:
            return self._json(text, plan, at, found)
        return self._json_at(text, plan, level, in_characters(text, places), found)

    def _json_at(self, text: str, plan: _Plan, level: int, places: list[Range], found: list[str]) -> str:
        """JSON with other values at some places: of all else not even the structure matters."""
        out: list[str] = []
        done = 0
        for part in values_at(text, places):
            token = text[part.start : part.end]
            new = self._token(part.kind, token, plan, (), level, found)
            if new != token:
                out += text[done : part.start], new
                done = part.end
        return "".join((*out, text[done:])) if out else text

    def _patterns_at(self, plan: _Plan, place: tuple[str, ...]) -> frozenset[str]:
        return plan.names.union(rule.name for rule in plan.within if covers(rule.path, place))

    def _json(self, text: str, plan: _Plan, at: tuple[tuple[str, ...], int], found: list[str]) -> str:
        """JSON with other values and the same structure."""
        base, level = at
        out: list[str] = []
        done = 0
        inside: tuple[int, int, RedactionRule] | None = (
            None  # a container that is redacted whole: its level, start, rule
        )
        for part in parts(text):
            if inside is not None:
                depth, start, rule = inside
                if part.kind is PartKind.CLOSE and len(part.place) == depth:
                    new, inside = self._marked(rule, text[start : part.end], found), None
                    out += text[done:start], new
                    done = part.end
                continue
            if part.kind is PartKind.CLOSE:
                continue
            place = (*base, *part.place)
            rule_here = self._rule_at(plan, place) if part.kind is not PartKind.KEY else None
            if part.kind is PartKind.OPEN:
                inside = (len(part.place), part.start, rule_here) if rule_here else None
                continue
            token = text[part.start : part.end]
            if rule_here is not None:
                if token in ("null", '""') or (token[0] == '"' and self._marks.is_mark(string_of(token))):
                    continue
                new = self._marked(rule_here, string_of(token) if token[0] == '"' else token, found)
            else:
                new = self._token(part.kind, token, plan, place, level, found)
            if new != token:
                out += text[done : part.start], new
                done = part.end
        return "".join((*out, text[done:])) if out else text

    def _rule_at(self, plan: _Plan, place: tuple[str, ...]) -> RedactionRule | None:
        here = (rule for rule in plan.paths if len(rule.path) == len(place) and covers(rule.path, place))
        return max(here, key=lambda rule: rule.rank, default=None) if plan.paths else None

    def _marked(self, rule: RedactionRule, value: str, found: list[str]) -> str:
        found.append(rule.name)
        return literal(self._marks.of(rule, value.encode()) or None)

    def _token(
        self, kind: PartKind, token: str, plan: _Plan, place: tuple[str, ...], level: int, found: list[str]
    ) -> str:
        """The JSON of one text or integer, the same where nothing is redacted."""
        if kind is PartKind.OTHER:
            return token
        if kind is PartKind.INTEGER:
            new = self._plain(token, self._patterns_at(plan, place), found)
            return token if new == token else literal(new or None)
        text = string_of(token)
        if kind is PartKind.KEY:
            new = self._plain(text, self._patterns_at(plan, place), found)
        else:
            new = self._text(text, plan, (place, level + 1), found, None)
        return token if new == text else literal(new)

    def _plain(self, text: str, names: frozenset[str], found: list[str]) -> str:
        """A text without structure. A mark may stand where a letter kept a pattern from matching: hence the rounds."""
        for _ in range(_ROUNDS):
            new = self._once(text, names, found)
            if new == text:
                break
            text = new
        return text

    def _once(self, text: str, names: frozenset[str], found: list[str]) -> str:
        if self._analyzer is None and not self._owners:
            return text
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


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in lists of about so many characters that they can be joined."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size > CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


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
