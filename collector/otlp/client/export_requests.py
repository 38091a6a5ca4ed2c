"""Requests in the making: items that share a resource and scope stand together, and none gets too large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

import orjson
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from ....schemas.spans import StoredAttributes
from ..codec.groups import LOGS as LOG_NAMES
from ..codec.groups import SPANS as SPAN_NAMES
from ..codec.groups import Signal as Names
from ..codec.groups import group, rows
from .encode import resource_of, scope_of

PHOENIX_ITEMS: Final = 500
_FRAME: Final = 8  # bytes that an item or a header takes beside its own
_MOST_ORIGINS: Final = 256


class Signal(StrEnum):
    """What a request carries: the last part of its address."""

    TRACES = "traces"
    LOGS = "logs"
    PHOENIX = "span_annotations"


_NAMES: Final[Mapping[Signal, Names]] = {Signal.TRACES: SPAN_NAMES, Signal.LOGS: LOG_NAMES}
_REQUESTS: Final[Mapping[Signal, type[Any]]] = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}


@dataclass(frozen=True, slots=True)
class Parcel:
    """One request, ready to go. `items`: spans, log records or annotations in it."""

    signal: Signal
    body: bytes
    items: int

    def halves(self) -> tuple[Parcel, ...]:
        """The same items in two requests; itself where there is only one."""
        if self.items < 2:  # noqa: PLR2004  the smallest number that has halves
            return (self,)
        if self.signal is Signal.PHOENIX:
            data = orjson.loads(self.body)["data"]
            middle = len(data) // 2
            return (annotating(data[:middle]), annotating(data[middle:]))
        names = _NAMES[self.signal]
        whole = list(rows(_REQUESTS[self.signal].FromString(self.body)))
        middle = len(whole) // 2
        parts = (whole[:middle], whole[middle:])
        return tuple(Parcel(self.signal, group(names, part).SerializeToString(), len(part)) for part in parts)


def annotating(data: list[dict[str, Any]]) -> Parcel:
    """Annotations for Phoenix."""
    return Parcel(Signal.PHOENIX, orjson.dumps({"data": data}), len(data))


class Originated(Protocol):
    """A span or log record, as far as its origin goes."""

    @property
    def resource_attributes(self) -> StoredAttributes:
        """Of what sent it."""

    @property
    def scope_name(self) -> str:
        """The instrumentation's."""

    @property
    def scope_version(self) -> str:
        """The instrumentation's."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The headers that items share, and their bytes, which tell one from another."""

    resource: Resource
    scope: InstrumentationScope
    key: bytes


class Origins:
    """Origins of stored items; each is made once."""

    def __init__(self) -> None:
        self._known: dict[Any, Origin] = {}

    def of(self, item: Originated, types: Mapping[str, str]) -> Origin:
        """The origin of a span (`types` of its resource attributes) or log record."""
        names = (item.scope_name, item.scope_version)
        key = (tuple(item.resource_attributes.items()), tuple(types.items()), names)
        if key not in self._known:
            if len(self._known) >= _MOST_ORIGINS:
                self._known.clear()
            self._known[key] = origin(resource_of(item.resource_attributes, types), *names)
        return self._known[key]


def origin(resource: Resource, name: str, version: str) -> Origin:
    """An origin of these headers."""
    scope = scope_of(name, version)
    return Origin(resource, scope, resource.SerializeToString() + b"\0" + scope.SerializeToString())


class Packer:
    """Collects items of one signal; gives a request whenever one more would make it too large."""

    def __init__(self, signal: Signal, max_bytes: int) -> None:
        self._signal, self._names, self._max = signal, _NAMES[signal], max_bytes
        self._start()

    def put(self, item: Message, size: int, origin: Origin) -> Iterator[Parcel]:
        """Add an item of `size` bytes; gives the request that it has no more room in, if any."""
        added = size + _FRAME + (0 if origin.key in self._scopes else len(origin.key) + 2 * _FRAME)
        if self._items and self._size + added > self._max:
            yield from self.flush()
            added = size + len(origin.key) + 3 * _FRAME
        getattr(self._scope(origin), self._names.items).append(item)
        self._size += added
        self._items += 1

    def flush(self) -> Iterator[Parcel]:
        """The request with what is left, if anything is."""
        if self._items:
            yield Parcel(self._signal, self._request.SerializeToString(), self._items)
            self._start()

    def _start(self) -> None:
        self._request: Any = _REQUESTS[self._signal]()
        self._scopes: dict[bytes, Any] = {}
        self._size = self._items = 0

    def _scope(self, origin: Origin) -> Any:
        if origin.key not in self._scopes:
            group = getattr(self._request, self._names.resources).add()
            group.resource.CopyFrom(origin.resource)
            scoped = self._scopes[origin.key] = getattr(group, self._names.scopes).add()
            scoped.scope.CopyFrom(origin.scope)
        return self._scopes[origin.key]
