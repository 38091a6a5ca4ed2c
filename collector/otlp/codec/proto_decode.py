"""OTLP protobuf, as the messages that `decode` reads."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from tracejury.schemas.errors import PermanentError

from .limits import Limits
from .proto_count import LEAST_BYTES, count_messages, items_of, values_of
from .proto_values import attributes, stored
from .signals import SignalSchema

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
