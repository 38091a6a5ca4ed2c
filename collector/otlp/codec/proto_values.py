"""Attribute values of OTLP protobuf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from .build import Attributes
from .limits import CUT_MARK
from .values import Truncator, plain_bytes, plain_double


def attributes(pairs: Sequence[KeyValue], truncator: Truncator) -> Attributes:
    """Stored attributes; of equal keys the last counts."""
    texts: dict[str, str] = {}
    types: dict[str, str] = {}
    safe, safe_name = truncator.safe_value, truncator.safe_name
    for pair in truncator.head(pairs, truncator.limits.attributes):
        value, key = pair.value, pair.key
        text = value.string_value
        if len(key) > safe_name:
            key = truncator.name(key)
        # Most values are short strings, most others are numbers: they take no further look.
        if text and len(text) <= safe:
            texts[key] = text
            if types:
                types.pop(key, None)
            continue
        if number := value.int_value:
            texts[key], types[key] = str(number), "int"
            continue
        texts[key], kind = stored(value, truncator)
        if kind == "string":
            types.pop(key, None)
        else:
            types[key] = kind
    return texts, types


def stored(value: AnyValue, truncator: Truncator) -> tuple[str, str]:
    """Stored text and type of one value."""
    kind, plain = _plain(value, truncator, 0)
    return truncator.stored(kind, plain)


def _plain(value: AnyValue, truncator: Truncator, depth: int) -> tuple[str, Any]:
    field = value.WhichOneof("value")
    reader = _READERS.get(field) if field else None
    return reader(value, truncator, depth) if reader else ("empty", None)


def _array(value: AnyValue, truncator: Truncator, depth: int) -> tuple[str, Any]:
    if depth >= truncator.limits.value_depth:
        truncator.cut += 1
        return "string", CUT_MARK
    return "array", [_plain(item, truncator, depth + 1)[1] for item in value.array_value.values]


def _kvlist(value: AnyValue, truncator: Truncator, depth: int) -> tuple[str, Any]:
    if depth >= truncator.limits.value_depth:
        truncator.cut += 1
        return "string", CUT_MARK
    return "kvlist", {pair.key: _plain(pair.value, truncator, depth + 1)[1] for pair in value.kvlist_value.values}


_READERS: dict[str, Callable[[AnyValue, Truncator, int], tuple[str, Any]]] = {
    "string_value": lambda value, _cutter, _depth: ("string", value.string_value),
    "bool_value": lambda value, _cutter, _depth: ("bool", value.bool_value),
    "int_value": lambda value, _cutter, _depth: ("int", value.int_value),
    "double_value": lambda value, _cutter, _depth: ("double", plain_double(value.double_value)),
    "bytes_value": lambda value, _cutter, _depth: ("bytes", plain_bytes(value.bytes_value)),
    "array_value": _array,
    "kvlist_value": _kvlist,
}
"""`string_value_strindex` is missing on purpose: it belongs to profiles and counts as empty elsewhere."""
