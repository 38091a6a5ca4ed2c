"""An OTLP backend on loopback, over HTTP or gRPC, that keeps what it took and misbehaves as it is told."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
import grpc.aio
import orjson
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import (
    LogsServiceServicer,
    add_LogsServiceServicer_to_server,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

REQUESTS: Final[Mapping[str, Any]] = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
RESPONSES: Final[Mapping[str, Any]] = {"traces": ExportTraceServiceResponse, "logs": ExportLogsServiceResponse}


@dataclass(frozen=True, slots=True)
class Act:
    """How one request is answered; without anything it is taken.

    `status`: of HTTP, with `headers` and `body`; `code`: of gRPC, with RetryInfo of `retry` seconds unless None, or
    with `body` as its details;
    `rejected`: items of a partial success; `hangs` until the client gives up; `drops` the connection, after reading
    half of the request; `raw`: what is written in place of HTTP. `too_large`: refuses more items than these.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    code: grpc.StatusCode = grpc.StatusCode.OK
    retry: float | None = None
    rejected: int = 0
    hangs: bool = False
    drops: bool = False
    raw: bytes = b""
    most_items: int = 0


@dataclass(slots=True)
class Taken:
    """One request that was taken: its signal, what it holds, and the headers that came with it."""

    signal: str
    request: Any
    headers: Mapping[str, Any]


class Backend:
    """`script`: acts for the next requests, in order; `always`: for the others, by their signal and request."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []
        self.asked: list[str] = []
        self.script: deque[Act] = deque()
        self.always: Callable[[str, Any], Act] = lambda _signal, _request: Act()
        self.url = ""
        self._news = asyncio.Condition()

    @property
    def spans(self) -> list[Span]:
        """Every span taken, carriers included, in order."""
        return [
            span
            for taken in self.taken
            if taken.signal == "traces"
            for group in taken.request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    @property
    def records(self) -> list[LogRecord]:
        """Every log record taken, in order."""
        return [
            record
            for taken in self.taken
            if taken.signal == "logs"
            for group in taken.request.resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait for requests until it is so."""
        async with asyncio.timeout(60), self._news:
            await self._news.wait_for(ready)

    async def asked_for(self, signal: str, request: Any) -> Act:
        """What to do with a request."""
        act = self.script.popleft() if self.script else self.always(signal, request)
        async with self._news:
            self.asked.append(signal)
            self._news.notify_all()
        return act

    async def take(self, taken: Taken) -> None:
        """Keep a request."""
        async with self._news:
            self.taken.append(taken)
            self._news.notify_all()


def count(request: Any) -> int:
    """Items of a request."""
    if isinstance(request, ExportLogsServiceRequest):
        return sum(len(s.log_records) for r in request.resource_logs for s in r.scope_logs)
    if isinstance(request, ExportTraceServiceRequest):
        return sum(len(s.spans) for r in request.resource_spans for s in r.scope_spans)
    return len(request["data"])


@asynccontextmanager
async def http_backend(tls: ssl.SSLContext | None = None) -> AsyncIterator[Backend]:
    """A backend over HTTP, behind TLS where there is a context."""
    backend = Backend()
    server = await asyncio.start_server(lambda r, w: _serve_http(backend, r, w), "127.0.0.1", 0, ssl=tls)
    backend.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield backend
    finally:
        server.close()


async def _serve_http(backend: Backend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await _answer_http(backend, reader, writer):
            pass
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):  # the client left, or the test
        pass
    finally:
        writer.close()


async def _answer_http(backend: Backend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    path = head[0].split(" ")[1]
    headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers["content-length"]))
    plain = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
    signal = path.rpartition("/")[2]
    request = REQUESTS[signal].FromString(plain) if signal in REQUESTS else orjson.loads(plain)
    act = await backend.asked_for(signal, request)
    if act.hangs:
        await reader.read()
        return False
    if act.drops or act.raw:
        writer.write(act.raw)
        await writer.drain()
        return False
    status, answer, media = act.status, act.body, act.headers.get("content-type", "application/x-protobuf")
    if act.most_items and count(request) > act.most_items:
        status = 413
    if status == 200:
        await backend.take(Taken(signal, request, {**headers, ":path": path}))
        if act.rejected:
            answer = _partial(signal, act.rejected).SerializeToString()
    lines = [f"HTTP/1.1 {status} no", f"content-length: {len(answer)}", f"content-type: {media}"]
    lines += [f"{key}: {value}" for key, value in act.headers.items() if key != "content-type"]
    writer.write("\r\n".join([*lines, "", ""]).encode() + answer)
    await writer.drain()
    return True


def _partial(signal: str, rejected: int) -> Any:
    response = RESPONSES[signal]()
    setattr(response.partial_success, "rejected_spans" if signal == "traces" else "rejected_log_records", rejected)
    response.partial_success.error_message = "not these"
    return response


@asynccontextmanager
async def grpc_backend(credentials: grpc.ServerCredentials | None = None) -> AsyncIterator[Backend]:
    """A backend over gRPC, behind TLS where there are credentials."""
    backend = Backend()
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    add_TraceServiceServicer_to_server(_Traces(backend), server)  # type: ignore[no-untyped-call]
    add_LogsServiceServicer_to_server(_Logs(backend), server)  # type: ignore[no-untyped-call]
    if credentials is None:
        backend.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    else:
        backend.url = f"https://127.0.0.1:{server.add_secure_port('127.0.0.1:0', credentials)}"
    await server.start()
    try:
        yield backend
    finally:
        await server.stop(None)


async def _answer_grpc(backend: Backend, signal: str, request: Any, context: Any) -> Any:
    act = await backend.asked_for(signal, request)
    if act.hangs:
        await asyncio.Event().wait()
    code = act.code
    if act.most_items and count(request) > act.most_items:
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
    if code is not grpc.StatusCode.OK:
        status = Status(code=code.value[0], message="no")
        if act.retry is not None:
            delay = Duration()
            delay.FromNanoseconds(round(act.retry * 1e9))
            status.details.add().Pack(RetryInfo(retry_delay=delay))
        trailers = (("grpc-status-details-bin", act.body or status.SerializeToString()),)
        await context.abort(code, "no", trailers)
    headers = dict(context.invocation_metadata())
    await backend.take(Taken(signal, request, headers))
    return _partial(signal, act.rejected) if act.rejected else RESPONSES[signal]()


class _Traces(TraceServiceServicer):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def Export(self, request: Any, context: Any) -> Any:  # noqa: N802  gRPC's
        return await _answer_grpc(self._backend, "traces", request, context)


class _Logs(LogsServiceServicer):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def Export(self, request: Any, context: Any) -> Any:  # noqa: N802  gRPC's
        return await _answer_grpc(self._backend, "logs", request, context)
