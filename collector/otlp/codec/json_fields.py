"""Fields of OTLP JSON objects by type; a missing field and null are the type's zero, as in protobuf.

A field is found under its name in lowerCamelCase, which OTLP asks for, or in snake_case, which protobuf's own JSON
printers write if they are told to keep the names of the fields.

All raise `Invalid` with the field's name where the value has another type or is out of range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from .values import Invalid

Object = dict[str, Any]

UINT32: Final = (0, 2**32 - 1)
UINT64: Final = (0, 2**64 - 1)
INT32: Final = (-(2**31), 2**31 - 1)
INT64: Final = (-(2**63), 2**63 - 1)

_CAPITAL = re.compile("[A-Z]")
_INTEGER = re.compile(r"-?[0-9]{1,20}", re.ASCII)


@cache
def snake(key: str) -> str:
    """A name of ours in snake_case."""
    return _CAPITAL.sub(lambda capital: "_" + capital[0].lower(), key)


def has(fields: Object, key: str) -> bool:
    """Whether there is such a field, if only with null."""
    return key in fields or snake(key) in fields


def _value(fields: Object, key: str) -> Any:
    value = fields.get(key)
    return fields.get(snake(key)) if value is None else value


def text(fields: Object, key: str) -> str:
    """A string."""
    value = fields.get(key)
    if value is None and (value := fields.get(snake(key))) is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{key} is not UTF-8 text")
    return value


def identifier(fields: Object, key: str) -> bytes:
    """An id in hex of any case, as bytes of any length."""
    digits = text(fields, key)
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        raise Invalid(f"{key} is not hex") from None
    if len(digits) != 2 * len(raw):  # fromhex skips blanks
        raise Invalid(f"{key} is not hex")
    return raw


def integer(fields: Object, key: str, bounds: tuple[int, int]) -> int:
    """An integer within `bounds`, written as a number or as a string."""
    value = _value(fields, key)
    return 0 if value is None else to_integer(value, key, bounds)


def to_integer(value: Any, key: str, bounds: tuple[int, int]) -> int:
    """The same of a value."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    else:
        raise Invalid(f"{key} is not an integer")
    if not bounds[0] <= number <= bounds[1]:
        raise Invalid(f"{key} is out of range")
    return number


def enum(fields: Object, key: str, names: Mapping[str, int]) -> int:
    """An enum value, as an integer (any: the protocol may grow) or by its name."""
    value = _value(fields, key)
    if isinstance(value, str) and value in names:
        return names[value]
    return integer(fields, key, INT32)


def objects(fields: Object, key: str) -> list[Object]:
    """A list of objects."""
    value = items(fields, key)
    if not all(isinstance(item, dict) for item in value):
        raise Invalid(f"{key} holds something that is not an object")
    return value


def items(fields: Object, key: str) -> list[Any]:
    """A list of anything."""
    value = _value(fields, key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Invalid(f"{key} is not a list")
    return value


def child(fields: Object, key: str) -> Object:
    """An object."""
    value = fields.get(key)
    if value is None and (value := fields.get(snake(key))) is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{key} is not an object")
    return value
