"""Scores and values of verdicts in words."""

from __future__ import annotations


def score_words(score: int | None, value: float | None) -> str:
    """The score of an LLM judge (`2 of 3`) or the value of a check (`0.667`); "" where there is neither."""
    if score is not None:
        return f"{score} of 3"
    return "" if value is None else f"{value:.3f}"
