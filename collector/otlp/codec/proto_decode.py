"""OTLP protobuf, as the messages that `decode` reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tracejury.schemas.errors import PermanentError

from .build import Attributes
from .limits import CUT_MARK, Limits
from .proto_count import LEAST_BYTES, count_messages, items_of, values_of
from .signals import SignalSchema
from .values import Truncator, plain_bytes, plain_double

__all__ = ["attributes", "count_points", "groups", "stored"]


def groups(body: bytes, schema: SignalSchema, limits: Limits) -> list[Any]:
    """The resource groups of a request, as (group, [(scope group, items)]).

    Raises:
        TooLargeError: it holds more than `limits.items` or `limits.values`.
        PermanentError: it cannot be parsed.
    """
    if len(body) > LEAST_BYTES * limits.items:
        items = items_of(schema.request.DESCRIPTOR, schema.resources, schema.scopes, schema.items)
        limits.check_items(count_messages(body, items, limits.items))
    if len(body) > LEAST_BYTES * limits.values:
        limits.check_values(count_messages(body, values_of(schema.request.DESCRIPTOR), limits.values))
    try:
        request = schema.request.FromString(body)
    except DecodeError:
        raise PermanentError(
            f"not a valid {schema.request.DESCRIPTOR.name}: the bytes are no protobuf of this type, "
            "a string is not UTF-8, or a value is nested too deep for protobuf"
        ) from None
    return [
        (group, [(scoped, getattr(scoped, schema.items)) for scoped in getattr(group, schema.scopes)])
        for group in getattr(request, schema.resources)
    ]


def count_points(metric: Any) -> int:
    """The data points of a metric."""
    kind = metric.WhichOneof("data")
    return len(getattr(metric, kind).data_points) if kind else 0


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
