"""A small collector in which the engine decodes OTLP: `python tests/bench/floor.py FOLDER`.

It prints the port of its gRPC server. Requests that wait share an insert, and are answered after it, as in ours. It
checks nothing, has no limits and loses values that are not strings or numbers: no collector on this engine does less.
"""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import grpc

from tracejury.collector.store import opening
from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate

METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PROTO: Final = """
syntax = "proto3";
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
}
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4;
  string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; Status status = 15; fixed32 flags = 16;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Request { repeated ResourceSpans resource_spans = 1; }
"""
_VALUE: Final = "Tuple(string_value String, int_value Int64, double_value Float64)"
_ATTRIBUTES: Final = f"Array(Tuple(key LowCardinality(String), value {_VALUE}))"
_SPAN: Final = f"""Tuple(trace_id String, span_id String, trace_state String, parent_span_id String,
    name String, kind Int32, start_time_unix_nano UInt64, end_time_unix_nano UInt64, attributes {_ATTRIBUTES},
    events Array(Tuple(time_unix_nano UInt64, name String, attributes {_ATTRIBUTES})),
    status Tuple(message String, code Int32), flags UInt32)"""
_REQUEST: Final = f"""resource_spans Array(Tuple(resource Tuple(attributes {_ATTRIBUTES}),
    scope_spans Array(Tuple(scope Tuple(name String, version String), spans Array({_SPAN})))))"""


def _map(attributes: str) -> str:
    text = "multiIf(a.2.2 != 0, toString(a.2.2), a.2.3 != 0, toString(a.2.3), a.2.1)"
    return f"mapFromArrays(arrayMap(a -> a.1, {attributes}), arrayMap(a -> {text}, {attributes}))"


_VIEW: Final = f"""
CREATE MATERIALIZED VIEW decoded TO spans AS
WITH arrayJoin(resource_spans) AS r, arrayJoin(r.scope_spans) AS s, arrayJoin(s.spans) AS i
SELECT lower(hex(i.trace_id)) AS TraceId, lower(hex(i.span_id)) AS SpanId,
    lower(hex(i.parent_span_id)) AS ParentSpanId, i.trace_state AS TraceState, i.flags AS Flags, i.name AS SpanName,
    i.kind AS Kind, i.start_time_unix_nano AS StartNanos, i.end_time_unix_nano AS EndNanos, i.status.code AS Status,
    i.status.message AS StatusMessage, {_map("r.resource.attributes")} AS ResourceAttributes,
    ResourceAttributes['service.name'] AS ServiceName, s.scope.name AS ScopeName, s.scope.version AS ScopeVersion,
    {_map("i.attributes")} AS SpanAttributes, arrayMap(e -> e.1, i.events) AS `Events.Nanos`,
    arrayMap(e -> e.2, i.events) AS `Events.Name`, arrayMap(e -> {_map("e.3")}, i.events) AS `Events.Attributes`,
    now64(9) AS ReceivedAt
FROM requests
"""
_GROUP_BYTES: Final = 32 << 20


class Floor:
    """The engine, and the requests that wait for it."""

    def __init__(self, folder: Path) -> None:
        dsn = f"chdb://{folder}/db"
        self._store = Store.open(dsn, StoreConfig(dsn=dsn))
        migrate(self._store)
        opening.apply_settings(self._store)
        for statement in (f"CREATE TABLE requests ({_REQUEST}) ENGINE = Null", _VIEW):
            self._store.command(statement)
        self._thread = ThreadPoolExecutor(1)
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._arrived = asyncio.Event()

    async def export(self, body: bytes, _context: object) -> bytes:
        """Answer once the request is stored."""
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, stored))
        self._arrived.set()
        await stored
        return b""

    async def run(self) -> None:
        """Insert what waits, group by group."""
        while True:
            await self._arrived.wait()
            group, size = [], 0
            while self._waiting and size < _GROUP_BYTES:
                group.append(self._waiting.pop(0))
                size += len(group[-1][0])
            if not self._waiting:
                self._arrived.clear()
            await asyncio.get_running_loop().run_in_executor(self._thread, self._insert, [body for body, _ in group])
            for _, stored in group:
                stored.set_result(None)

    def _insert(self, bodies: list[bytes]) -> None:
        with self._store._client() as client:  # the engine itself is what is measured
            connection: Any = client._backend._handle.conn  # type: ignore[attr-defined]
            for name, value in {
                "format_schema_source": "string", "format_schema": PROTO, "format_schema_message_name": "Request"
            }.items():  # fmt: skip
                connection.query(f"SET {name} = '{value}'")
            insert = connection.send_insert(f"INSERT INTO {self._store.database}.requests (resource_spans)", "Protobuf")
            for body in bodies:
                insert.append(_varint(len(body)) + body)
            insert.finish()


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


async def serve(folder: Path) -> None:
    """Serve until killed."""
    floor = Floor(folder)
    handler = grpc.unary_unary_rpc_method_handler(floor.export)
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 64 << 20)])
    service, _, method = METHOD[1:].partition("/")
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await floor.run()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
