"""The ready-made sets: what is known by its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .checks import alone, card, has_digit, iban, may_be_alone, may_be_card, no_remote
from .fold import BLANK
from .patterns import SPACE, START, Check, Pattern

_LABEL: Final = "(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BREAK: Final = r"[\s\\nr]*"
_BODY: Final = rf"(?:{_BREAK}[A-Za-z0-9+/=]{{16,}})*(?:{_BREAK}[A-Za-z0-9+/=]+)?"


def _known(start: str, rest: str, check: Check | None = None) -> Pattern:
    """A pattern that begins a word."""
    hidden = f"|{start.removesuffix('-')}{BLANK}" if start.endswith("-") else ""
    return Pattern(rf"\b{start}{rest}", check, early=f"{START}(?:{start}{rest}{hidden})")


def _same(text: str, check: Check | None = None, early_check: Check | None = None) -> Pattern:
    """A pattern that no escape can hide."""
    return Pattern(text, check, text, early_check)


_CARD: Final = r"(?:[2-6]\d{13,18}|[2-6]\d{3}[ -]\d{4}[ -]\d{4}[ -]\d{2,4}(?:[ -]\d{3})?|3\d{3}[ -]\d{6}[ -]\d{4,5})\b"
_AUTHORIZATION: Final = (
    r"(?i)\bauthorization[\"'\\]*S*[:=]S*[\"'\\]*(?:bearer|basic|token|apikey|digest)S+([^\s\"',}]{6,})"
)

READY: Final[Mapping[str, tuple[Pattern, ...]]] = {
    "email": (_same(r"[\pL\pN_][\pL\pN._%+'-]*@(?:[\pL\pN-]+\.)+\pL+", no_remote),),
    "phone": (
        # E.164 with separators; numbers without a country's code only as North America writes them.
        Pattern(r"\+[1-9](?:[ .()/-]{0,2}\d){7,14}", alone, early=r"\+[1-9](?:[ .()/\\-]{0,3}\d){7}"),
        _same(r"(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-.]\d{4}", alone, may_be_alone),
    ),
    "card": (Pattern(rf"\b{_CARD}", card, rf"(?:\A|\D|\\u[0-9a-fA-F]{{4}})({_CARD})", may_be_card),),
    "iban": (
        Pattern(
            r"\b[A-Z]{2}\d{2}(?:\s{0,2}[A-Z0-9]){11,30}", iban,
            early=rf"(?:\A|[^A-Z0-9]|\\u[0-9a-fA-F]{{4}})[A-Z]{{2}}\d{{2}}(?:{SPACE}{{0,2}}[A-Z0-9]){{11}}",
        ),
    ),
    "api-keys": (
        _known("sk-", "[A-Za-z0-9_-]{20,}", has_digit),  # OpenAI, Anthropic, OpenRouter
        _known("[spr]k_(?:live|test)_", "[A-Za-z0-9]{16,}"),  # Stripe
        _known("(?:AKIA|ASIA)", r"[0-9A-Z]{16}\b"),  # AWS
        _known("(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})", ""),
        _known("glpat-", "[A-Za-z0-9_-]{20,}"),  # GitLab
        _known("(?:xox[abeoprs]|xapp)-", "[A-Za-z0-9-]{10,}", has_digit),  # Slack
        _known("AIza", "[A-Za-z0-9_-]{35,}"),  # Google
        _known("(?:hf|gsk|npm)_", "[A-Za-z0-9]{30,}", has_digit),  # Hugging Face, Groq, npm
        _known("eyJ", r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # JSON Web Tokens
        # To its end, or as far as it goes on where the end was cut off.
        Pattern(rf"-----BEGIN {_LABEL}(?:(?s:.*?)-----END {_LABEL}|{_BODY})", early=f"-----BEGIN {_LABEL}"),
    ),
    "bearer": (
        Pattern(
            r"(?i)\bbearer[ \t]+([a-z0-9._~+/=\\-]{16,})", has_digit,
            early=rf"(?i){START}bearer(?:[ \t]|\\t|{BLANK})+\S{{16}}",
        ),
        Pattern(
            _AUTHORIZATION.replace("S", r"\s"),
            early=_AUTHORIZATION.replace(r"\b", START).replace("S", SPACE),
        ),
    ),
}  # fmt: skip
"""Patterns by the name of their set."""
