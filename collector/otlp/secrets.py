"""Removal of secrets from texts that providers and backends return."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from tracejury.schemas.text.terminal import one_line

HIDDEN: Final = "***"
SHORTEST: Final = 6
"""Characters of a value that is looked for: shorter ones would take out ordinary words."""
SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SHAPES: Final = re.compile(
    r"(?:bearer|basic)\s+[^\s\"',}]+"
    r"|\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][^\s\"',}]{6,}"
    r"|\bAIza[\w-]{10,}|\bAKIA\w{12,}|\beyJ[\w-]{8,}\.[\w.-]+"
    r"|(?<=://)[^/\s@]+@",
    re.IGNORECASE,
)
"""Patterns of credentials: headers, keys of well-known forms, tokens, users of a URL."""


def secret_values(names: Iterable[str], environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The values of these environment variables and of all whose name sounds like a secret."""
    chosen = {*names, *(name for name in environ if SECRET_NAME.search(name))}
    return frozenset(v for name in chosen if len(v := environ.get(name, "").strip()) >= SHORTEST)


def without(text: str, secrets: Iterable[str], limit: int = 300) -> str:
    """`text` on one line of at most `limit` characters, safe for a terminal, without the secrets."""
    # Before it is cut, so that no part of one is left standing at the cut.
    return one_line(SHAPES.sub(HIDDEN, hidden(text, secrets)[: 20 * limit]), limit)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """`text`, of any length, without the secrets."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
