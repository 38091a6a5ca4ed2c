"""Redactors for tests, and values that look like secrets and are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.processors.redact.patterns import own_pattern
from tracejury.processors.redact.ready import READY
from tracejury.processors.redact.rules import Action, RedactionRule
from tracejury.processors.redact.texts import TextRedactor

KEY: Final = b"a key for tests alone"
SECRETS: Final = {
    "email": "ada.lovelace@example.org",
    "phone": "+49 30 901820",
    "card": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "api-keys": "sk-proj-T3stT3stT3stT3stT3stT3st",
    "bearer": "Bearer n0t-a-real-token-0123456789",
}
"""One for each ready-made set."""


def ready(*names: str, action: Action = Action.MASK) -> list[RedactionRule]:
    """Rules of ready-made sets, all of them by default."""
    return [RedactionRule(name, action, patterns=READY[name]) for name in names or READY]


def own(name: str, pattern: str, action: Action = Action.MASK, key: str = "*") -> RedactionRule:
    """A rule of a pattern."""
    return RedactionRule(name, action, key, patterns=(own_pattern(pattern),))


def redacted(text: str, rules: Sequence[RedactionRule] | None = None, key: str = "input.value") -> str | None:
    """The text after redaction, by default with all ready-made sets."""
    return TextRedactor(ready() if rules is None else rules, KEY).value(key, text, [])
