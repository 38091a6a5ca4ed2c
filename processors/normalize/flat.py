"""Lists that are written as one attribute a field: `<prefix>.<index>.<field>`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from .values import as_index

Flat = dict[int, dict[str, str]]

_SHORT: Final = 100


def flat_items(attributes: Mapping[str, str], prefix: str) -> list[dict[str, str]]:
    """Fields of each item under `prefix` (with its dot), in order of their indices, which may start anywhere."""
    found: Flat = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            put(found, key[len(prefix) :], value)
    return [found[i] for i in sorted(found)]


def put(flat: Flat, rest: str, value: str) -> None:
    """Put the value of `<index>.<field>` into its item; other keys are left out."""
    number, field = _remembered(rest) if len(rest) <= _SHORT else _split(rest)
    if number is None:
        return
    item = flat.get(number)
    if item is None:
        flat[number] = {field: value}
    else:
        item[field] = value


def _split(rest: str) -> tuple[int | None, str]:
    index, _, field = rest.partition(".")
    return as_index(index), field


_remembered = lru_cache(maxsize=4096)(_split)
"""Every call of every run has the same keys."""
