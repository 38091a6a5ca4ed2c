"""Rules: which values, or which parts of them, are masked, hashed or dropped."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from .paths import Path
from .patterns import Pattern

FAILED: Final = "failed"
"""The name in the mark of a value on which a rule failed; no rule may bear it."""
NAMES: Final = frozenset(
    {"span.name", "span.trace_state", "event.name", "scope.name", "scope.version", "log.severity_text"}
)
"""Keys of what is no attribute and no text either: see `spans`."""
_HASH_DIGITS: Final = 12


class Action(StrEnum):
    """What becomes of a value: the first one wins where several rules meet."""

    DROP = "drop"
    MASK = "mask"
    HASH = "hash"


_STRENGTH: Final = {action: -number for number, action in enumerate(Action)}


@dataclass(frozen=True, slots=True)
class RedactionRule:
    """A rule. Key, path and patterns each narrow it; without patterns it takes whole values."""

    name: str
    action: Action = Action.MASK
    key: str = "*"
    """Of the attribute, `*` and `?` allowed; see `spans` for the names of what is no attribute."""
    path: Path = ()
    patterns: tuple[Pattern, ...] = ()

    def is_for(self, key: str) -> bool:
        """Whether it looks at values of this key."""
        return self.key == "*" or fnmatchcase(key, self.key)

    def takes_whole(self, key: str) -> bool:
        """Whether it takes values of this key whole. Names are taken only by a rule that names their key itself."""
        return not self.path and not self.patterns and (key == self.key or (key not in NAMES and self.is_for(key)))

    @property
    def rank(self) -> tuple[int, str]:
        """The greater one wins where rules meet, wherever they stand in the file."""
        return _STRENGTH[self.action], self.name


class RedactionMarks:
    """The texts that stand where something was redacted."""

    def __init__(self, rules: Sequence[RedactionRule], key: bytes) -> None:
        """`key`: of the hashes."""
        self._key = key
        names = "|".join([FAILED, *(re.escape(rule.name) for rule in rules)])
        hashes = "|".join(re.escape(rule.name) for rule in rules if rule.action is Action.HASH) or FAILED
        self._marks = re.compile(rf"\[(?:redacted:(?:{names})|(?:{hashes}):[0-9a-f]{{{_HASH_DIGITS}}})\]".encode())

    def of(self, rule: RedactionRule, value: bytes) -> str:
        """The mark in place of a value; nothing where it is dropped."""
        match rule.action:
            case Action.MASK:
                return f"[redacted:{rule.name}]"
            case Action.HASH:
                digest = hmac.new(self._key, value, hashlib.sha256).hexdigest()
                return f"[{rule.name}:{digest[:_HASH_DIGITS]}]"
            case Action.DROP:
                return ""

    def is_mark(self, text: str) -> bool:
        """Whether the text is nothing but a mark."""
        return text.startswith("[") and self._marks.fullmatch(text.encode(errors="replace")) is not None

    def gaps(self, data: bytes) -> list[tuple[int, int]]:
        """The places between marks: what is redacted is not redacted again."""
        found = []
        at = 0
        for mark in self._marks.finditer(data):
            found.append((at, mark.start()))
            at = mark.end()
        return [*found, (at, len(data))]


FAILED_MARK: Final = f"[redacted:{FAILED}]"
