"""JSON values compared: numbers by value, objects by containment where a part is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

DEEPEST: Final = 50


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal: 1 and 1.0 are, 1 and true are not."""
    return _compared(one, other, exact=True)


def contains(whole: Any, part: Any) -> bool:
    """Whether a value has all that is in `part`: of an object its keys, at any depth; a list is compared in full."""
    return _compared(whole, part, exact=False)


def as_json(value: Any, *, depth: int = 0) -> Any:
    """The value, of a card.

    Raises:
        ValueError: JSON has no such value, so that no call or state would equal it. YAML reads 2026-03-01 as a date.
    """
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} deep, or holds itself")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"the key {key} is no text: put it in quotes")  # noqa: TRY004  pydantic's
            as_json(value[key], depth=depth + 1)
    elif isinstance(value, list):
        for one in value:
            as_json(one, depth=depth + 1)
    elif not (value is None or isinstance(value, str | int | float)):
        raise ValueError(f"{value} is no JSON value ({type(value).__name__}): put it in quotes")
    return value


def blank(value: Any) -> bool:
    """Whether it says nothing: null, or an empty text, list or object."""
    return value is None or (isinstance(value, str | list | Mapping) and not value)


def _compared(one: Any, other: Any, *, exact: bool) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        fits = not exact or one.keys() == other.keys()
        return fits and all(key in one and _compared(one[key], other[key], exact=exact) for key in other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_compared(a, b, exact=exact) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
