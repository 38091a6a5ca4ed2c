"""Spans sent to a collector in a process of its own, as fast as it takes them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from itertools import islice

from otlp_parts import traces
from processes import Serving

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.otlp.codec.encode import span_message
from tracejury.collector.otlp.codec.groups import Request
from tracejury.schemas.spans import Span

PER_REQUEST = 500
SENDERS = 4


async def send(collector: Serving, requests: Iterable[Request]) -> float:
    """Send them, a few at a time; the seconds until all are acknowledged."""
    started, left = time.monotonic(), iter(requests)

    async def sender() -> None:
        client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
        for request in left:
            await client.send(encoded(request))

    await asyncio.gather(*(sender() for _ in range(SENDERS)))
    return time.monotonic() - started


def of_spans(spans: Iterable[Span]) -> Iterable[Request]:
    """The spans of one trace as requests."""
    left = iter(spans)
    while part := list(islice(left, PER_REQUEST)):
        yield traces(*(span_message(one, one.trace_state) for one in part), service="travel")
