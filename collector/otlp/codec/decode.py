"""One OTLP request, decompressed, to the batch that the store takes: the same for gRPC, HTTP and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from tracejury.processors.collisions import apart
from tracejury.processors.log_spans import with_log_spans
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import PermanentError

from . import json_decode, proto_decode
from .build import Origin, ReadAttributes, log_from, span_from
from .limits import Limits
from .rejections import Rejections
from .signals import SCHEMAS, Encoding, Signal
from .values import Invalid, PartsLeft, Truncator


@dataclass(frozen=True, slots=True)
class Decoded:
    """The valid part of a request, and what a partial success says of the rest (`message` is empty without one).

    `items` counts the accepted spans, log records or metric points; metrics leave the batch empty.
    """

    batch: Batch
    items: int
    rejected: int = 0
    message: str = ""


_READERS: Final = {Encoding.PROTOBUF: proto_decode, Encoding.JSON: json_decode}
_DEFAULTS: Final = Limits()
ITEM_BYTES: Final = 1024
"""About what a stored span or record takes in memory at least; in a body it may take thirty."""


def decode(
    signal: Signal,
    encoding: Encoding,
    body: bytes,
    *,
    received_at: int,
    limits: Limits = _DEFAULTS,
    tenant: str = "",
    events: bool = True,
) -> Decoded:
    """Decode one request of a project; `received_at` in unix nanos. Without `events` log records stay records alone.

    Raises:
        TooLargeError: the body exceeds `limits.request_bytes`, `limits.items` or another bound of requests.
        PermanentError: the body as a whole cannot be parsed.
    """
    limits.check_bytes(len(body))
    reader, schema = _READERS[encoding], SCHEMAS[signal]
    groups, rejections = reader.groups(body, schema, limits), Rejections(schema.noun)
    if signal is Signal.METRICS:
        return Decoded(Batch(size=len(body)), _count_points(groups, reader.count_points))
    read, stored, found = reader.attributes, reader.stored, list[Any]()
    parts = PartsLeft(limits)
    for origin, item in _items(groups, received_at, limits, read, rejections, tenant):
        try:
            if signal is Signal.TRACES:
                found.append(span_from(item, origin, Truncator(limits, parts), read))
            else:
                found.append(log_from(item, origin, Truncator(limits), read, stored))
        except Invalid as reason:
            rejections.add(str(reason))
    size = max(len(body), ITEM_BYTES * len(found))
    batch = Batch(spans=apart(found), size=size) if signal is Signal.TRACES else Batch(logs=found, size=size)
    decoded = Decoded(batch, len(found), rejections.count, rejections.message())
    return with_events(decoded) if events else decoded


def with_events(decoded: Decoded) -> Decoded:
    """The request with the spans that its log events stand for; made last, of what may be stored."""
    if not decoded.batch.logs:
        return decoded
    logs, spans = with_log_spans(decoded.batch.logs)
    size = decoded.batch.size + ITEM_BYTES * len(spans)
    return replace(decoded, batch=Batch(spans=spans, logs=logs, size=size))


def _items(
    groups: list[Any], received_at: int, limits: Limits, read: ReadAttributes, rejections: Rejections, tenant: str
) -> Iterator[tuple[Origin, Any]]:
    """Every item with its origin. Items of an unreadable resource or scope are rejected here."""
    shared_bytes = 0
    for group, scopes in groups:
        try:
            shared = Origin.of(group.resource, received_at, limits, read, tenant)
        except Invalid as reason:
            rejections.add(str(reason), sum(len(items) for _, items in scopes))
            continue
        shared_bytes += shared.size * sum(len(items) for _, items in scopes)
        limits.check_shared(shared_bytes)
        for scoped, items in scopes:
            try:
                origin = shared.in_scope(scoped.scope, limits)
            except Invalid as reason:
                rejections.add(str(reason), len(items))
                continue
            for item in items:
                yield origin, item


def _count_points(groups: list[Any], count: Callable[[Any], int]) -> int:
    try:
        return sum(count(metric) for _, scopes in groups for _, metrics in scopes for metric in metrics)
    except Invalid as reason:
        raise PermanentError(str(reason)) from None
