"""The configured redactor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tracejury.schemas.config_base import VARIABLE
from tracejury.schemas.errors import ConfigError

from .config import RedactionConfig

if TYPE_CHECKING:
    from tracejury.processors.redact.rules import RedactionRule
    from tracejury.processors.redact.spans import Redactor

SHORTEST_KEY: Final = 16
"""Characters of a key: hashes of e-mail addresses under a shorter one could be guessed."""


def build_redactor(config: RedactionConfig, environ: Mapping[str, str] = os.environ) -> Redactor | None:
    """The redactor; None where nothing is redacted.

    Raises:
        ConfigError: the key is not in the environment, or Presidio cannot be used.
    """
    return _made(config, _key(config.hash_key, environ)) if config.on else None


def rehearsal(config: RedactionConfig) -> Redactor:
    """The same to count alone: it needs no key. Raises ConfigError: Presidio cannot be used."""
    return _made(config, b"")


def _made(config: RedactionConfig, key: bytes) -> Redactor:
    from tracejury.processors.redact.spans import Redactor
    from tracejury.processors.redact.texts import TextRedactor

    analyzer = None
    if config.presidio:
        from .presidio import PresidioAnalyzer, engine

        analyzer = PresidioAnalyzer(engine(config.presidio_language), config)
    return Redactor(TextRedactor(rules_of(config), key, analyzer=analyzer))


def rules_of(config: RedactionConfig) -> list[RedactionRule]:
    """The rules of the sets and of the file."""
    from tracejury.processors.redact.paths import parse_path
    from tracejury.processors.redact.patterns import own_pattern
    from tracejury.processors.redact.ready import READY
    from tracejury.processors.redact.rules import RedactionRule

    rules = [RedactionRule(name, patterns=READY[name]) for name in config.sets]
    for rule in config.rules:
        patterns = READY[rule.set] if rule.set else (own_pattern(rule.pattern),) if rule.pattern else ()
        path = parse_path(rule.path) if rule.path else ()
        rules.append(RedactionRule(rule.name, rule.action, rule.key, path, patterns))
    return rules


def _key(variable: str, environ: Mapping[str, str]) -> bytes:
    match = VARIABLE.fullmatch(variable)
    if match is None:
        return b""
    value = environ.get(match[1], "").strip()
    if len(value) < SHORTEST_KEY:
        what = f"is shorter than {SHORTEST_KEY} characters" if value else "is not set"
        raise ConfigError(f"redaction.hash_key: the environment variable {match[1]} {what}")
    return value.encode()
