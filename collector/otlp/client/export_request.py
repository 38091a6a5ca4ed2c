"""Encoded export requests, and the packer that fills them with items up to a size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson
from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from tracejury.collector.otlp.codec import otlp_json
from tracejury.collector.otlp.codec.encode import resource_of, scope_of
from tracejury.collector.otlp.codec.groups import Request, count, group, rows, schema_of
from tracejury.collector.otlp.codec.signals import LOGS, SPANS, Encoding, SignalSchema
from tracejury.schemas.spans import LogRecord, Span

PHOENIX_ITEMS: Final = 500
_FRAME: Final = 8  # bytes that an item or a header takes beside its own
_MAX_ORIGINS: Final = 256


class ExportSignal(StrEnum):
    """The content of a request, named as in the path of its HTTP endpoint."""

    TRACES = "traces"
    LOGS = "logs"
    PHOENIX = "span_annotations"


SCHEMAS: Final[Mapping[ExportSignal, SignalSchema]] = {ExportSignal.TRACES: SPANS, ExportSignal.LOGS: LOGS}


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """One encoded request. `items`: spans, log records or annotations in it."""

    signal: ExportSignal
    body: bytes
    items: int
    encoding: Encoding = Encoding.PROTOBUF

    @property
    def compressible(self) -> bool:
        """Whether the endpoint takes it compressed: Phoenix does not."""
        return self.signal is not ExportSignal.PHOENIX

    def halves(self) -> tuple[ExportRequest, ...]:
        """The same items in two requests; itself where there is only one."""
        if self.items < 2:  # noqa: PLR2004  the smallest number that has halves
            return (self,)
        if self.signal is ExportSignal.PHOENIX:
            data = orjson.loads(self.body)["data"]
            middle = len(data) // 2
            return (phoenix_request(data[:middle]), phoenix_request(data[middle:]))
        schema = SCHEMAS[self.signal]
        whole = list(rows(schema.request.FromString(self.body)))
        middle = len(whole) // 2
        return tuple(encoded(group(schema, part)) for part in (whole[:middle], whole[middle:]))


def encoded(request: Request, encoding: Encoding = Encoding.PROTOBUF) -> ExportRequest:
    """The request, encoded."""
    body = otlp_json.render(request) if encoding is Encoding.JSON else request.SerializeToString()
    return ExportRequest(ExportSignal(schema_of(request).signal), body, count(request), encoding)


def phoenix_request(data: list[dict[str, Any]]) -> ExportRequest:
    """Annotations for Phoenix."""
    return ExportRequest(ExportSignal.PHOENIX, orjson.dumps({"data": data}), len(data), Encoding.JSON)


@dataclass(frozen=True, slots=True)
class ItemOrigin:
    """Resource and scope that items share, and `key`, their bytes."""

    resource: Resource
    scope: InstrumentationScope
    key: bytes


class OriginCache:
    """Origins of stored items; each is made once."""

    def __init__(self) -> None:
        self._known: dict[Any, ItemOrigin] = {}

    def of(self, item: Span | LogRecord, types: Mapping[str, str]) -> ItemOrigin:
        """The origin of a span (`types` of its resource attributes) or log record."""
        names = (item.scope_name, item.scope_version)
        key = (tuple(item.resource_attributes.items()), tuple(types.items()), names)
        if key not in self._known:
            if len(self._known) >= _MAX_ORIGINS:
                self._known.clear()
            self._known[key] = item_origin(resource_of(item.resource_attributes, types), *names)
        return self._known[key]


def item_origin(resource: Resource, name: str, version: str) -> ItemOrigin:
    """An origin with this resource and scope."""
    scope = scope_of(name, version)
    return ItemOrigin(resource, scope, resource.SerializeToString() + b"\0" + scope.SerializeToString())


class RequestPacker:
    """Collects items of one signal; gives a request whenever one more item would make it too large."""

    def __init__(self, signal: ExportSignal, max_bytes: int) -> None:
        self._schema, self._max = SCHEMAS[signal], max_bytes
        self._start()

    def put(self, item: Message, size: int, origin: ItemOrigin) -> Iterator[ExportRequest]:
        """Add an item of `size` bytes; gives the request that has no room for it, if any."""
        added = size + _FRAME + (0 if origin.key in self._scopes else len(origin.key) + 2 * _FRAME)
        if self._items and self._size + added > self._max:
            yield from self.flush()
            added = size + len(origin.key) + 3 * _FRAME
        getattr(self._scope(origin), self._schema.items).append(item)
        self._size += added
        self._items += 1

    def flush(self) -> Iterator[ExportRequest]:
        """The request with the items left, if there are any."""
        if self._items:
            yield encoded(self._request)
            self._start()

    def _start(self) -> None:
        self._request: Any = self._schema.request()
        self._scopes: dict[bytes, Any] = {}
        self._size = self._items = 0

    def _scope(self, origin: ItemOrigin) -> Any:
        if origin.key not in self._scopes:
            group = getattr(self._request, self._schema.resources).add()
            group.resource.CopyFrom(origin.resource)
            scoped = self._scopes[origin.key] = getattr(group, self._schema.scopes).add()
            scoped.scope.CopyFrom(origin.scope)
        return self._scopes[origin.key]
