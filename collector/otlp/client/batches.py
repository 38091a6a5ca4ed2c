"""Requests split to a receiver's limits, or shuffled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from tracejury.collector.otlp.codec.groups import Request, Row, count, group, rows, schema_of
from tracejury.collector.otlp.codec.signals import LOGS, SPANS, SignalSchema

MAX_ITEMS: Final = 512
"""The most that the batching processors of OpenTelemetry's SDKs send."""

MAX_BYTES: Final = 4 * 1024 * 1024 - 64 * 1024
"""Below the 4 MiB that gRPC servers take by default, with room for framing."""

_ITEM_OVERHEAD = 16  # tags and lengths around an item


def batches(request: Request, max_items: int = MAX_ITEMS, max_bytes: int = MAX_BYTES) -> Iterator[Request]:
    """The request in parts of at most so many items and bytes, in order; one larger item goes alone."""
    if count(request) <= max_items and request.ByteSize() <= max_bytes:
        yield request
        return
    schema = schema_of(request)
    part: list[Row] = []
    size = 0
    for row in rows(request):
        weight = sum(message.ByteSize() + _ITEM_OVERHEAD for message in row)
        if part and (len(part) == max_items or size + weight > max_bytes):
            yield group(schema, part)
            part, size = [], 0
        part.append(row)
        size += weight
    if part:
        yield group(schema, part)


def shuffled(requests: Iterable[Request], seed: int, items: int = 32) -> list[Request]:
    """All spans and log records of the requests in random order, in new requests of `items`, those shuffled too."""
    random = Random(seed)  # noqa: S311 - an order to test with, nothing secret
    found: dict[SignalSchema, list[Row]] = {SPANS: [], LOGS: []}
    for request in requests:
        found[schema_of(request)].extend(rows(request))
    mixed: list[Request] = []
    for schema, own in found.items():
        random.shuffle(own)
        mixed += [group(schema, part) for part in (own[at : at + items] for at in range(0, len(own), items))]
    random.shuffle(mixed)
    return mixed
