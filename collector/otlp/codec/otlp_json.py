"""OTLP/JSON to protobuf messages and back: the protobuf JSON mapping, but ids are hex text and enums are integers.

Source of the deviations: OpenTelemetry Protocol specification, "JSON Protobuf Encoding".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from .groups import Request
from .json_fields import has, snake
from .signals import LOGS, SPANS

Json = dict[str, Any]

_IDS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")


def is_traces(document: object) -> bool:
    """Whether decoded JSON has the shape of an ExportTraceServiceRequest."""
    return isinstance(document, dict) and has(document, "resourceSpans")


def is_logs(document: object) -> bool:
    """Whether decoded JSON has the shape of an ExportLogsServiceRequest."""
    return isinstance(document, dict) and has(document, "resourceLogs")


def parse(document: Json) -> Request:
    """The request that a decoded OTLP/JSON document holds; unknown fields are ignored, the document is changed.

    Raises:
        ValueError: it does not fit the protocol.
    """
    request: Request = (LOGS if is_logs(document) else SPANS).request()
    _convert_ids(document, lambda text: base64.b64encode(bytes.fromhex(text)).decode())
    try:
        ParseDict(document, request, ignore_unknown_fields=True)
    except ParseError as error:
        raise ValueError(str(error)) from error
    return request


def render(request: Request) -> bytes:
    """The request as an OTLP/JSON body: hex ids, integer enums, 64-bit integers as decimal strings."""
    document = MessageToDict(request, use_integers_for_enums=True)
    _convert_ids(document, lambda text: base64.b64decode(text).hex())
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _convert_ids(document: Json, convert: Callable[[str], str]) -> None:
    for record in _records(document):
        for key in _IDS:
            value = record.get(key)
            if isinstance(value, str):
                record[key] = convert(value)


def _records(document: Json) -> Iterator[Json]:
    for span in _below(document, "resourceSpans", "scopeSpans", "spans"):
        yield span
        yield from _below(span, "links")
    yield from _below(document, "resourceLogs", "scopeLogs", "logRecords")


def _below(parent: Json, *path: str) -> Iterator[Json]:
    if not path:
        yield parent
        return
    children = parent.get(path[0], parent.get(snake(path[0])))
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict):
            yield from _below(child, *path[1:])
