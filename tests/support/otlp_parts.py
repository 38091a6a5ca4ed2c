"""OTLP requests for tests, and a real sink that keeps what it is given."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import Span as StoredSpan

TRACE = bytes(range(1, 17))
SPAN = bytes(range(1, 9))
START = 1_700_000_000_000_000_000


def text(key: str, value: str) -> KeyValue:
    """A string attribute."""
    return KeyValue(key=key, value=AnyValue(string_value=value))


def span(**fields: Any) -> Span:
    """A valid span with the given fields changed."""
    defaults: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": SPAN,
        "name": "step",
        "start_time_unix_nano": START,
        "end_time_unix_nano": START + 1,
    }
    return Span(**(defaults | fields))


def spans(*ids: int) -> list[Span]:
    """Valid spans of one trace with these ids."""
    return [span(span_id=number.to_bytes(8)) for number in ids]


def traces(*items: Span, service: str = "agent") -> ExportTraceServiceRequest:
    """A request of one resource and one scope."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.append(text("service.name", service))
    scoped = group.scope_spans.add()
    scoped.scope.name = "tests"
    scoped.spans.extend(items)
    return request


def logs(*records: LogRecord) -> ExportLogsServiceRequest:
    """A request of one resource and one scope."""
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.append(text("service.name", "agent"))
    group.scope_logs.add().log_records.extend(records)
    return request


def nest_arrays(value: AnyValue, depth: int) -> None:
    """Make a value an empty array within arrays, `depth` in all; in place, for protobuf cannot copy deep ones."""
    for _ in range(depth - 1):
        value = value.array_value.values.add()
    value.array_value.SetInParent()


def nest_kvlists(value: AnyValue, depth: int) -> None:
    """Make a value an empty key-value list within such lists, `depth` in all; in place."""
    for _ in range(depth - 1):
        value = value.kvlist_value.values.add(key="k").value
    value.kvlist_value.SetInParent()


def json_tree(request: Message) -> dict[str, Any]:
    """A request as OTLP JSON: protobuf's JSON, but for ids, which are hex."""
    tree = MessageToDict(request)
    _hex_ids(tree)
    return tree


def json_body(request: Message) -> bytes:
    """The same as bytes."""
    return json.dumps(json_tree(request)).encode()


def nested_json_array(depth: int) -> dict[str, Any]:
    """An empty array within arrays as an OTLP JSON value, `depth` in all."""
    value: dict[str, Any] = {"arrayValue": {}}
    for _ in range(depth - 1):
        value = {"arrayValue": {"values": [value]}}
    return value


def nested_json_kvlist(depth: int) -> dict[str, Any]:
    """An empty key-value list within key-value lists as an OTLP JSON value, `depth` in all."""
    value: dict[str, Any] = {"kvlistValue": {}}
    for _ in range(depth - 1):
        value = {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
    return value


def _hex_ids(tree: Any) -> None:
    if isinstance(tree, list):
        for item in tree:
            _hex_ids(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("traceId", "spanId", "parentSpanId") and isinstance(value, str):
                tree[key] = base64.b64decode(value).hex()
            else:
                _hex_ids(value)


class RecordingSink:
    """Keeps batches. `errors` are raised first, one a call; `hold()` makes calls wait until `release()`."""

    def __init__(self, errors: Iterable[Exception] = ()) -> None:
        self.batches: list[Batch] = []
        self.errors = list(errors)
        self.waiting = 0
        self._arrived = asyncio.Condition()
        self._open = asyncio.Event()
        self._open.set()

    async def submit(self, batch: Batch) -> int:
        """Keep a batch."""
        async with self._arrived:
            self.waiting += 1
            self._arrived.notify_all()
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1
        if self.errors:
            raise self.errors.pop(0)
        self.batches.append(batch)
        return 0

    def hold(self) -> None:
        """Let calls wait from now on."""
        self._open.clear()

    def release(self) -> None:
        """Let all calls go on."""
        self._open.set()

    async def until_waiting(self, calls: int) -> None:
        """Return once so many calls wait."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.waiting >= calls)

    @property
    def spans(self) -> list[StoredSpan]:
        """All spans kept."""
        return [span for batch in self.batches for span in batch.spans]
