"""Lists and objects that are written as one attribute a field: `<prefix>.<index>.<field>`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from .values import as_index, parse_array

Flat = dict[int, dict[str, str]]

_SHORT: Final = 100
_DEEPEST: Final = 12
_LISTS: Final = ("parts", "tool_calls")  # fields that may stand whole, as JSON text, where the levels above are apart


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


def nested(attributes: Mapping[str, str], prefix: str) -> Any:
    """The value that stands flattened under `prefix` (with its dot), whatever its levels: objects and lists of texts.

    None where no key has the prefix. Levels below the twelfth stay one key.
    """
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key[len(prefix) :].split(".", _DEEPEST)
        node = root
        for step in path:
            inner = node.get(step)
            if not isinstance(inner, dict):
                inner = node[step] = {}
            node = inner
        node[last] = (parse_array(value) if last in _LISTS else None) or value
    return _with_lists(root) if root else None


def _with_lists(node: Any) -> Any:
    """Objects whose keys are all indices are lists."""
    if not isinstance(node, dict):
        return node
    indices = {key: as_index(key) for key in node}
    if None in indices.values():
        return {key: _with_lists(value) for key, value in node.items()}
    return [_with_lists(node[key]) for key in sorted(node, key=lambda k: indices[k] or 0)]
