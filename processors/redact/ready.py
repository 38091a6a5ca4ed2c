"""The ready-made sets: what is known by its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .checks import alone, card, has_digit, iban, no_remote
from .patterns import Pattern

_LABEL: Final = "(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BREAK: Final = r"[\s\\nr]*"
_BODY: Final = rf"(?:{_BREAK}[A-Za-z0-9+/=]{{16,}})*(?:{_BREAK}[A-Za-z0-9+/=]+)?"

READY: Final[Mapping[str, tuple[Pattern, ...]]] = {
    "email": (Pattern(r"[\pL\pN_][\pL\pN._%+'-]*@(?:[\pL\pN-]+\.)+\pL+", no_remote),),
    "phone": (
        # E.164 with separators; numbers without a country's code only as North America writes them.
        Pattern(r"\+[1-9](?:[ .()/-]{0,2}\d){7,14}", alone),
        Pattern(r"(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-.]\d{4}", alone),
    ),
    "card": (
        Pattern(
            r"\b(?:\d{14,19}|\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{2,4}(?:[ -]\d{3})?|\d{4}[ -]\d{6}[ -]\d{4,5})\b", card
        ),
    ),
    "iban": (Pattern(r"(?i)\b[a-z]{2}\d{2}(?:\s?[a-z0-9]){11,30}", iban),),
    "api-keys": (
        Pattern(r"\bsk-[A-Za-z0-9_-]{20,}", has_digit),  # OpenAI, Anthropic, OpenRouter
        Pattern(r"\b[spr]k_(?:live|test)_[A-Za-z0-9]{16,}"),  # Stripe
        Pattern(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),  # AWS
        Pattern(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,})"),
        Pattern(r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}", has_digit),  # Slack
        Pattern(r"\bAIza[A-Za-z0-9_-]{35,}"),  # Google
        Pattern(r"\b(?:hf|gsk|npm)_[A-Za-z0-9]{30,}", has_digit),  # Hugging Face, Groq, npm
        Pattern(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # JSON Web Tokens
        # To its end, or as far as it goes on where the end was cut off.
        Pattern(rf"-----BEGIN {_LABEL}(?:(?s:.*?)-----END {_LABEL}|{_BODY})"),
    ),
    "bearer": (
        Pattern(r"(?i)\bbearer[ \t]+([a-z0-9._~+/=-]{16,})", has_digit),
        Pattern(r"(?i)\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|apikey|digest)\s+([^\s\"',}]{6,})"),
    ),
}  # fmt: skip
"""Patterns by the name of their set."""
