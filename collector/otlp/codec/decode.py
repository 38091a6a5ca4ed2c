"""One OTLP request, decompressed, to the batch that the store takes: the same for gRPC, HTTP and files."""

from __future__ import annotations

from dataclasses import dataclass

from ....schemas.batch import Batch
from . import json_decode, proto_decode
from .limits import Limits
from .rejections import Rejections
from .signals import SCHEMAS, Encoding, Signal


@dataclass(frozen=True, slots=True)
class Decoded:
    """The good part of a request, and what a partial success says of the rest (`message` is empty without one).

    `items` counts the accepted spans, log records or metric points; metrics leave the batch empty.
    """

    batch: Batch
    items: int
    rejected: int = 0
    message: str = ""


_DECODERS = {Encoding.PROTOBUF: proto_decode, Encoding.JSON: json_decode}
_DEFAULTS = Limits()


def decode(signal: Signal, encoding: Encoding, body: bytes, *, received_at: int, limits: Limits = _DEFAULTS) -> Decoded:
    """Decode one request; `received_at` in unix nanos.

    Raises:
        TooLargeError: the body exceeds `limits.request_bytes` or `limits.items`.
        PermanentError: the body as a whole cannot be parsed.
    """
    limits.check_bytes(len(body))
    decoder, rejections = _DECODERS[encoding], Rejections(SCHEMAS[signal].noun)
    match signal:
        case Signal.TRACES:
            spans = decoder.decode_spans(body, received_at, limits, rejections)
            batch, items = Batch(spans=spans, size=len(body)), len(spans)
        case Signal.LOGS:
            logs = decoder.decode_logs(body, received_at, limits, rejections)
            batch, items = Batch(logs=logs, size=len(body)), len(logs)
        case Signal.METRICS:
            batch, items = Batch(size=len(body)), decoder.count_points(body, limits)
    return Decoded(batch, items, rejections.count, rejections.message())
