"""One request to a backend, over gRPC or HTTP, and what its answer means for whoever holds the request.

OTLP specification, "Failures" and "Failures 1": what may pass is told from what never will. A third kind is ours: a
door that is closed to every request (credentials, address) is no reason to drop any.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, cast
from urllib.parse import urlsplit

import grpc
import grpc.aio
import httpx
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ....schemas.errors import PermanentError, RetryableError, TracejuryError
from .connection import Door, metadata
from .export_requests import Parcel, Signal
from .grpc_sender import RETRYABLE as RETRYABLE_CODES
from .grpc_sender import retry_delay
from .http_sender import RETRYABLE as RETRYABLE_STATUSES
from .http_sender import asked_delay
from .sending import Reply

MAX_ANSWER: Final = 1 << 20
"""Bytes of an answer that are read."""

FAST: Final = 1
"""Level of compression: less than half the time of the usual one, for 40 % more bytes (measured on traces)."""

_CLOSED_STATUSES: Final = frozenset({401, 402, 403, 404, 405, 407, 415, 501})
_CLOSED_CODES: Final = frozenset(
    {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED}
)
_METHODS: Final = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
_RESPONSES: Final[Mapping[Signal, type[Any]]] = {
    Signal.TRACES: ExportTraceServiceResponse,
    Signal.LOGS: ExportLogsServiceResponse,
}


class ClosedError(TracejuryError):
    """The backend takes no request of this signal at all: its address or our credentials are wrong."""


class BackendSender(Protocol):
    """One backend's connection."""

    async def send(self, parcel: Parcel) -> Reply:
        """Send one request.

        Raises:
            RetryableError: worth another try, after `retry_after` seconds where that is not 0.
            ClosedError: no request of this kind is taken, whatever is in it.
            PermanentError: this one never will be taken.
        """

    async def close(self) -> None:
        """Close the connection; safe to call twice."""


class GrpcBackend:
    """A `BackendSender` over OTLP/gRPC. `target`: host and port, as gRPC names them."""

    def __init__(self, door: Door) -> None:
        parts = urlsplit(door.endpoint)
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
        self.target = target = f"{host}:{parts.port or 4317}"
        options: list[tuple[str, Any]] = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", MAX_ANSWER),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 500),
            ("grpc.max_reconnect_backoff_ms", 10_000),
        ]
        compression = grpc.Compression.Gzip if door.gzip else grpc.Compression.NoCompression
        self._channel = (
            grpc.aio.secure_channel(target, _credentials(door), options, compression)
            if parts.scheme == "https"
            else grpc.aio.insecure_channel(target, options, compression)
        )
        self._calls = {
            signal: self._channel.unary_unary(method, request_serializer=None, response_deserializer=None)
            for signal, method in _METHODS.items()
        }
        self._metadata = tuple(metadata(key.lower(), value) for key, value in door.headers.items())
        self._timeout = door.timeout

    async def send(self, parcel: Parcel) -> Reply:
        """See `BackendSender`."""
        try:
            answer = await self._calls[parcel.signal](parcel.body, timeout=self._timeout, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise _of_code(error) from None
        return _reply(parcel.signal, cast("bytes", answer))

    async def close(self) -> None:
        """See `BackendSender`."""
        await self._channel.close(grace=None)


class HttpBackend:
    """A `BackendSender` over OTLP/HTTP with protobuf; annotations for Phoenix go as JSON beside it."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._client = httpx.AsyncClient(
            timeout=door.timeout, verify=_context(door), headers={"user-agent": "tracejury", **door.headers}
        )

    async def send(self, parcel: Parcel) -> Reply:
        """See `BackendSender`."""
        body = await asyncio.to_thread(gzip.compress, parcel.body, FAST) if self._door.gzip else parcel.body
        if parcel.signal is Signal.PHOENIX:
            body, headers = parcel.body, {"content-type": "application/json"}
        else:
            headers = {"content-type": "application/x-protobuf"}
            headers |= {"content-encoding": "gzip"} if self._door.gzip else {}
        url = f"{self._door.endpoint}/v1/{parcel.signal}"
        try:
            async with (
                asyncio.timeout(self._door.timeout),
                self._client.stream("POST", url, content=body, headers=headers) as response,
            ):
                answer = await _read(response)
        except TimeoutError:
            raise RetryableError(f"no answer within {self._door.timeout:g} s", retry_after=0.0) from None
        except (httpx.HTTPError, OSError) as error:  # the latter: TLS that breaks in the middle
            raise RetryableError(f"{type(error).__name__}: {error}", retry_after=0.0) from None
        _check(response, answer)
        return _reply(parcel.signal, answer)

    async def close(self) -> None:
        """See `BackendSender`."""
        await self._client.aclose()


def _of_code(error: grpc.aio.AioRpcError) -> TracejuryError:
    text = f"{error.code().name}: {error.details() or 'no details'}"
    asked = retry_delay(error)
    if error.code() in RETRYABLE_CODES or (error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and asked is not None):
        return RetryableError(text, retry_after=asked or 0.0)
    return ClosedError(text) if error.code() in _CLOSED_CODES else PermanentError(text)


def _check(response: httpx.Response, answer: bytes) -> None:
    """Raise what a status other than success means; a page for people is no answer to OTLP, whatever its status."""
    status, media = response.status_code, response.headers.get("content-type", "")
    text = f"HTTP {status}: {_reason(media, answer) or response.reason_phrase}"
    if response.is_success:
        if media.startswith("text/html"):
            raise ClosedError("it answers with a web page: is this the address of its OTLP endpoint?")
        return
    if status in RETRYABLE_STATUSES:
        raise RetryableError(text, retry_after=asked_delay(response))
    if status in _CLOSED_STATUSES or response.is_redirect:
        raise ClosedError(text)
    raise PermanentError(text)


async def _read(response: httpx.Response) -> bytes:
    answer = b""
    async for piece in response.aiter_bytes():
        answer += piece
        if len(answer) > MAX_ANSWER:
            break
    return answer[:MAX_ANSWER]


def _reply(signal: Signal, answer: bytes) -> Reply:
    """The partial success of an answer; one that is none of OTLP's says nothing against the request."""
    if signal not in _RESPONSES:
        return Reply()
    try:
        partial = _RESPONSES[signal].FromString(answer).partial_success
    except DecodeError:
        return Reply()
    rejected = partial.rejected_log_records if signal is Signal.LOGS else partial.rejected_spans
    return Reply(max(rejected, 0), partial.error_message)


def _reason(media: str, answer: bytes) -> str:
    try:
        return Status.FromString(answer).message if media.startswith("application/x-protobuf") else ""
    except DecodeError:
        return ""


def _credentials(door: Door) -> grpc.ChannelCredentials:
    if door.certificate is None:
        return grpc.ssl_channel_credentials(door.ca)
    certificate, key = (Path(path).read_bytes() for path in door.certificate)
    return grpc.ssl_channel_credentials(door.ca, key, certificate)


def _context(door: Door) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=door.ca.decode() if door.ca else None)
    if door.certificate is not None:
        context.load_cert_chain(*door.certificate)
    return context
