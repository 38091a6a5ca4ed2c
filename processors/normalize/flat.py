"""Lists that are written as one attribute a field: `<prefix>.<index>.<field>`."""

from __future__ import annotations

from collections.abc import Mapping

from .values import as_index

Flat = dict[int, dict[str, str]]


def flat_items(attributes: Mapping[str, str], prefix: str) -> list[dict[str, str]]:
    """Fields of each item under `prefix` (with its dot), in order of their indices, which may start anywhere."""
    found: Flat = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            put(found, key[len(prefix) :], value)
    return [found[i] for i in sorted(found)]


def put(flat: Flat, rest: str, value: str) -> None:
    """Put the value of `<index>.<field>` into its item; other keys are left out."""
    index, _, field = rest.partition(".")
    if (number := as_index(index)) is not None:
        flat.setdefault(number, {})[field] = value
