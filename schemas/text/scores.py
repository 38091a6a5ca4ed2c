"""Scores and values of verdicts in words, and values of scores that somebody wrote."""

from __future__ import annotations

import math


def score_words(score: int | None, value: float | None) -> str:
    """The score of an LLM judge (`2 of 3`) or the value of a check (`0.667`); "" where there is neither."""
    if score is not None:
        return f"{score} of 3"
    return "" if value is None else f"{value:.3f}"


def finite_number(text: str) -> float | None:
    """The number that a text is; None where it is none, not finite, or of digits that the store does not read."""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None
