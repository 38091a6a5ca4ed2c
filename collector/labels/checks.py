"""Checks of labels: known categories, scores in range, texts of bounded length. Pure."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES

MAX_TEXT: Final = 5_000
"""Characters of an evidence or an explanation."""
MAX_NAME: Final = 100
"""Characters of an annotator's name, an id or a taxonomy."""
MAX_CATEGORY: Final = 200
MAX_STRATUM: Final = 1_200
BEST_SCORE: Final = 3


def name(what: str, text: str, limit: int = MAX_NAME) -> str:
    """A short printable text on one line, without white space around it. Raises ConfigError."""
    text = text.strip()
    if not text:
        raise ConfigError(f"{what} is missing")
    if len(text) > limit:
        raise ConfigError(f"{what} has {len(text):,} characters; at most {limit:,} are taken")
    if not text.isprintable():
        raise ConfigError(f"{what} {text[:40]!a} holds characters that cannot be printed")
    return text


def free_text(what: str, text: str) -> str:
    """Any text of bounded length that can be stored. Raises ConfigError."""
    if len(text) > MAX_TEXT:
        raise ConfigError(f"{what} has {len(text):,} characters; at most {MAX_TEXT:,} are taken")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{what} holds half of a surrogate pair, which is no text") from None
    return text


def a_category(taxonomy: str, text: str) -> str:
    """A category of a taxonomy: TRAIL's as it writes it, of another one what is said. Raises ConfigError."""
    text = name("category", text, MAX_CATEGORY)
    if taxonomy != TRAIL:
        return text
    found = _LEAVES.get(_fold(text))
    if found is None:
        raise ConfigError(f"{text[:60]!r} is no category of TRAIL; they are: {', '.join(TRAIL_CATEGORIES)}")
    return found


def a_score(score: int | None) -> int | None:
    """0 to 3, None: not applicable. Raises ConfigError."""
    if score is not None and not 0 <= score <= BEST_SCORE:
        raise ConfigError(f"score {score} is not one of 0 to {BEST_SCORE} ({BEST_SCORE} best), or none")
    return score


def _fold(text: str) -> str:
    return "".join(text.split()).casefold()


_LEAVES: Final = {_fold(leaf): leaf for leaf in TRAIL_CATEGORIES}
