"""Counts with their nouns, as people read them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 run`, `2,000 runs`: the noun in the singular, one whose plural ends with an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
