"""Attribute values of OTLP JSON."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any

from .build import Attributes
from .json_fields import INT64, Object, child, objects, snake, text, to_integer
from .limits import CUT_MARK, DEEPEST
from .values import Invalid, Truncator, plain_bytes, plain_double

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_NO_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def attributes(pairs: Sequence[Object], truncator: Truncator) -> Attributes:
    """Stored attributes; of equal keys the last counts. Raises `Invalid`."""
    texts: dict[str, str] = {}
    types: dict[str, str] = {}
    safe = truncator.safe_value
    for pair in truncator.head(pairs, truncator.limits.attributes):
        key = truncator.name(text(pair, "key"))
        value = child(pair, "value")
        # Most values are short strings: they take no further look.
        if len(value) == 1 and isinstance(plain := value.get("stringValue"), str) and len(plain) <= safe:
            texts[key] = plain
            types.pop(key, None)
            continue
        texts[key], kind = stored(value, truncator)
        if kind == "string":
            types.pop(key, None)
        else:
            types[key] = kind
    return texts, types


def stored(value: Object, truncator: Truncator) -> tuple[str, str]:
    """Stored text and type of one value. Raises `Invalid`."""
    kind, plain = _plain(value, truncator, 0)
    return truncator.stored(kind, plain)


def _plain(value: Object, truncator: Truncator, depth: int) -> tuple[str, Any]:
    found = [(field, item) for field, item in value.items() if item is not None and field in _READERS]
    if not found:
        return "empty", None
    if len(found) > 1:
        raise Invalid("a value has two types")
    field, item = found[0]
    return _READERS[field](item, truncator, depth)


def _string(item: Any, _cutter: Truncator, _depth: int) -> tuple[str, Any]:
    if not isinstance(item, str):
        raise Invalid("stringValue is not UTF-8 text")
    return "string", item


def _bool(item: Any, _cutter: Truncator, _depth: int) -> tuple[str, Any]:
    if not isinstance(item, bool):
        raise Invalid("boolValue is not true or false")
    return "bool", item


def _double(item: Any, _cutter: Truncator, _depth: int) -> tuple[str, Any]:
    if isinstance(item, str) and item in _NO_NUMBERS:
        return "double", plain_double(_NO_NUMBERS[item])
    numeric = (isinstance(item, int | float) and not isinstance(item, bool)) or (
        isinstance(item, str) and _NUMBER.fullmatch(item)
    )
    if not numeric:
        raise Invalid("doubleValue is not a number")
    try:
        return "double", plain_double(float(item))
    except OverflowError:
        raise Invalid("doubleValue is out of range") from None


def _bytes(item: Any, _cutter: Truncator, _depth: int) -> tuple[str, Any]:
    if not isinstance(item, str) or not item.isascii():
        raise Invalid("bytesValue is not base64")
    digits = item.translate(_URL_SAFE).rstrip("=")
    try:
        return "bytes", plain_bytes(base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True))
    except binascii.Error:
        raise Invalid("bytesValue is not base64") from None


def _array(item: Any, truncator: Truncator, depth: int) -> tuple[str, Any]:
    if _too_deep(truncator, depth):
        return "string", CUT_MARK
    return "array", [
        _plain(value, truncator, depth + 1)[1] for value in objects(_container(item, "arrayValue"), "values")
    ]


def _kvlist(item: Any, truncator: Truncator, depth: int) -> tuple[str, Any]:
    if _too_deep(truncator, depth):
        return "string", CUT_MARK
    pairs = objects(_container(item, "kvlistValue"), "values")
    return "kvlist", {text(pair, "key"): _plain(child(pair, "value"), truncator, depth + 1)[1] for pair in pairs}


def _container(item: Any, field: str) -> Object:
    if not isinstance(item, dict):
        raise Invalid(f"{field} is not an object")
    return item


def _too_deep(truncator: Truncator, depth: int) -> bool:
    if depth < truncator.limits.value_depth:
        return False
    if depth >= DEEPEST:
        raise Invalid(f"a value is nested deeper than {DEEPEST}")
    truncator.cut += 1
    return True


_URL_SAFE = str.maketrans("-_", "+/")
_READERS: dict[str, Callable[[Any, Truncator, int], tuple[str, Any]]] = {
    "stringValue": _string,
    "boolValue": _bool,
    "intValue": lambda item, _cutter, _depth: ("int", to_integer(item, "intValue", INT64)),
    "doubleValue": _double,
    "bytesValue": _bytes,
    "arrayValue": _array,
    "kvlistValue": _kvlist,
}
_READERS |= {snake(field): read for field, read in _READERS.items()}
