"""Requests cut to what a receiver takes at once, and put in another order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final

from ..codec.groups import LOGS, SPANS, Request, Row, Signal, count, group, rows, signal_of

MAX_ITEMS: Final = 512
"""What the batching processors of OpenTelemetry's SDKs send at most."""

MAX_BYTES: Final = 4 * 1024 * 1024 - 64 * 1024
"""Below the 4 MiB that gRPC servers take by default, with room for framing."""

_ITEM_OVERHEAD = 16  # tags and lengths around an item


def batches(request: Request, max_items: int = MAX_ITEMS, max_bytes: int = MAX_BYTES) -> Iterator[Request]:
    """The request in parts of at most so many items and bytes, in order; one larger item goes alone."""
    if count(request) <= max_items and request.ByteSize() <= max_bytes:
        yield request
        return
    signal = signal_of(request)
    part: list[Row] = []
    size = 0
    for row in rows(request):
        weight = sum(message.ByteSize() + _ITEM_OVERHEAD for message in row)
        if part and (len(part) == max_items or size + weight > max_bytes):
            yield group(signal, part)
            part, size = [], 0
        part.append(row)
        size += weight
    if part:
        yield group(signal, part)


def shuffled(requests: Iterable[Request], seed: int, items: int = 32) -> list[Request]:
    """All spans and log records of the requests in random order, in new requests of `items`, those shuffled too."""
    random = Random(seed)  # noqa: S311 - an order to test with, nothing secret
    kinds: dict[Signal, list[Row]] = {SPANS: [], LOGS: []}
    for request in requests:
        kinds[signal_of(request)].extend(rows(request))
    mixed: list[Request] = []
    for signal, found in kinds.items():
        random.shuffle(found)
        mixed += [group(signal, part) for part in _chunks(found, items)]
    random.shuffle(mixed)
    return mixed


def _chunks(found: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    return (found[at : at + size] for at in range(0, len(found), size))
