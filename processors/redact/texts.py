"""Redaction of one value: whole by its key, at a path of its JSON, or where a pattern matches."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .candidates import Candidates, candidates
from .json_parts import MOST_LEVELS, PartKind, literal, parsed, parts, string_of, values_at
from .paths import covers
from .patterns import Range, Scanner, in_characters
from .plain_texts import Analyzer, PlainTextRedactor
from .rules import FAILED, FAILED_MARK, RedactionMarks, RedactionRule

log = logging.getLogger(__name__)

_KEYS: Final = 4096
KnownTexts = dict[tuple[str, frozenset[str]], tuple[str, Sequence[str]]]
"""Texts without structure and the names of the rules for them, with what became of them and the rules that matched."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The rules for the values of one key."""

    whole: RedactionRule | None
    paths: tuple[RedactionRule, ...]
    names: frozenset[str]
    """Of the rules of patterns."""
    within: tuple[RedactionRule, ...]
    """Rules of patterns that look at a path alone."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A value that is redacted: `found` gains the name of a rule for each place."""

    plan: _Plan
    found: list[str]
    known: KnownTexts


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
        everything = [*rules, *(analyzer.rules if analyzer else ())]
        self.names = {FAILED, *(rule.name for rule in everything)}
        self._marks = RedactionMarks(everything, key)
        owned = [(rule, pattern) for rule in rules for pattern in rule.patterns]
        self._searches = bool(owned) or analyzer is not None
        self._scanner = Scanner([pattern for _, pattern in owned])
        self._plain_texts = PlainTextRedactor(self._scanner, [rule for rule, _ in owned], self._marks, analyzer, clock)
        self._joinable = analyzer is None and not any(pattern.alone for _, pattern in owned)
        self._keyed = any(rule.path or not rule.patterns for rule in rules)
        self._plan = lru_cache(_KEYS)(self._planned)

    def takes(self, key: str) -> bool:
        """Whether a rule looks at values of this key whatever they are."""
        plan = self._plan(key) if self._keyed else None
        return plan is not None and bool(plan.whole or plan.paths)

    def candidates(self, texts: Iterable[str]) -> Candidates:
        """Those of the texts in which a pattern may match: one pass over each that differs from the others."""
        if not self._searches:
            return {}
        different = dict.fromkeys(texts)
        return candidates(self._scanner, different) if self._joinable else Candidates(different)

    def value(
        self,
        key: str,
        text: str,
        found: list[str],
        *,
        patterns: bool = True,
        places: list[Range] | None = None,
        known: KnownTexts | None = None,
    ) -> str | None:
        """The text that is stored, None where it is dropped; `found` gains the name of a rule for each place.

        Without `patterns` only a rule for the whole value applies. `places`: those of `candidates`, if they are known;
        `known`: of the values before it, such as a message that each later call is sent again.
        """
        plan = self._plan(key)
        before = len(found)
        try:
            if plan.whole is not None:
                return self._whole(plan.whole, text, found)
            if not patterns:
                return text
            new = self._text(text, _Value(plan, found, {} if known is None else known), ((), 0), places)
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

    def _text(self, text: str, of: _Value, at: tuple[tuple[str, ...], int], places: list[Range] | None) -> str:
        """A text that may be JSON; `at`: path and level of JSON in JSON; `places`: where a pattern may match."""
        path, level = at
        if level >= MOST_LEVELS or parsed(text) is None:
            return self._plain(text, of, path)
        if of.plan.paths or of.plan.within:
            return self._json(text, of, at)
        if places is None and self._joinable:
            places = self._scanner.suspects(text.encode(errors="replace"))
        if places is None:
            return self._json(text, of, at)
        return self._json_at(text, of, level, in_characters(text, places))

    def _json_at(self, text: str, of: _Value, level: int, places: list[Range]) -> str:
        """JSON with other values at some places: of all else not even the structure matters."""
        out: list[str] = []
        done = 0
        for part in values_at(text, places):
            token = text[part.start : part.end]
            new = self._token(part.kind, token, of, (), level)
            if new != token:
                out += text[done : part.start], new
                done = part.end
        return "".join((*out, text[done:])) if out else text

    def _patterns_at(self, plan: _Plan, place: tuple[str, ...]) -> frozenset[str]:
        return plan.names.union(rule.name for rule in plan.within if covers(rule.path, place))

    def _json(self, text: str, of: _Value, at: tuple[tuple[str, ...], int]) -> str:
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
                    new, inside = self._marked(rule, text[start : part.end], of.found), None
                    out += text[done:start], new
                    done = part.end
                continue
            if part.kind is PartKind.CLOSE:
                continue
            place = (*base, *part.place)
            rule_here = self._rule_at(of.plan, place) if part.kind is not PartKind.KEY else None
            if part.kind is PartKind.OPEN:
                inside = (len(part.place), part.start, rule_here) if rule_here else None
                continue
            token = text[part.start : part.end]
            if rule_here is not None:
                if token in ("null", '""') or (token[0] == '"' and self._marks.is_mark(string_of(token))):
                    continue
                new = self._marked(rule_here, string_of(token) if token[0] == '"' else token, of.found)
            else:
                new = self._token(part.kind, token, of, place, level)
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

    def _token(self, kind: PartKind, token: str, of: _Value, place: tuple[str, ...], level: int) -> str:
        """The JSON of one text or integer, the same where nothing is redacted."""
        if kind is PartKind.OTHER:
            return token
        if kind is PartKind.INTEGER:
            new = self._plain(token, of, place)
            return token if new == token else literal(new or None)
        text = string_of(token)
        new = self._plain(text, of, place) if kind is PartKind.KEY else self._text(text, of, (place, level + 1), None)
        return token if new == text else literal(new)

    def _plain(self, text: str, of: _Value, place: tuple[str, ...]) -> str:
        """A text without structure."""
        if not self._searches:
            return text
        names = self._patterns_at(of.plan, place)
        done = of.known.get((text, names))
        if done is None:
            here: list[str] = []
            done = of.known[text, names] = self._plain_texts.redact(text, names, here), here
        of.found.extend(done[1])
        return done[0]
