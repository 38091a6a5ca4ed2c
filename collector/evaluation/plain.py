"""Figures as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """Dataclasses as objects, their derived figures (properties that are numbers or None) beside their fields.

    Keys that are no strings are joined with "/"; anything else stays what it is.
    """
    if is_dataclass(value) and not isinstance(value, type):
        named = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        return named | {
            name: found for name, found in _derived(value) if found is None or isinstance(found, int | float)
        }
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def _derived(value: Any) -> list[tuple[str, Any]]:
    names = [name for name, found in vars(type(value)).items() if isinstance(found, property)]
    return [(name, getattr(value, name)) for name in names]


def _key(key: Any) -> str:
    if isinstance(key, tuple):
        return "/".join(map(str, key))
    return str(key.value) if isinstance(key, Enum) else str(key)
