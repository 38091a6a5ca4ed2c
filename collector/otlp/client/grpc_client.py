"""OTLP over gRPC, from the client's side."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError

from .backend_connection import BackendConnection, metadata
from .client import MAX_ANSWER, EndpointError, partial_success
from .export_request import SCHEMAS, ExportRequest

_RETRYABLE: Final = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
"""OTLP specification, "Failures"; RESOURCE_EXHAUSTED joins them where it carries RetryInfo."""

_OF_ENDPOINT: Final = frozenset(
    {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED}
)
_DETAILS: Final = "grpc-status-details-bin"


class GrpcClient:
    """An `OtlpClient` over OTLP/gRPC. `target`: host and port, as gRPC names them."""

    def __init__(self, connection: BackendConnection) -> None:
        parts = urlsplit(connection.endpoint)
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
        self.target = target = f"{host}:{parts.port or 4317}"
        options: list[tuple[str, Any]] = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", MAX_ANSWER),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 500),
            ("grpc.max_reconnect_backoff_ms", 10_000),
        ]
        compression = grpc.Compression.Gzip if connection.gzip else grpc.Compression.NoCompression
        self._channel = (
            grpc.aio.secure_channel(target, _credentials(connection), options, compression)
            if parts.scheme == "https"
            else grpc.aio.insecure_channel(target, options, compression)
        )
        self._calls = {
            signal: self._channel.unary_unary(
                f"/{schema.service}/Export", request_serializer=None, response_deserializer=None
            )
            for signal, schema in SCHEMAS.items()
        }
        self._metadata = tuple(metadata(key.lower(), value) for key, value in connection.headers.items())
        self._timeout = connection.timeout

    async def send(self, request: ExportRequest) -> PartialSuccess:
        """See `OtlpClient`."""
        try:
            answer = await self._calls[request.signal](request.body, timeout=self._timeout, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise _translate(error) from None
        return partial_success(request, cast("bytes", answer))

    async def close(self) -> None:
        """See `OtlpClient`."""
        await self._channel.close(grace=None)


def _translate(error: grpc.aio.AioRpcError) -> TracejuryError:
    code, asked = error.code(), _retry_delay(error)
    text = f"{code.name}: {error.details() or 'no details'}"
    if code in _RETRYABLE or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and asked is not None):
        return RetryableError(text, retry_after=asked or 0.0)
    return EndpointError(text) if code in _OF_ENDPOINT else PermanentError(text)


def _retry_delay(error: grpc.aio.AioRpcError) -> float | None:
    """Seconds that the status' RetryInfo asks for, None without one."""
    trailers = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata() or ())
    for key, value in trailers:
        if key != _DETAILS or not isinstance(value, bytes):
            continue
        try:
            for detail in Status.FromString(value).details:
                info = RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
        except DecodeError:  # invalid details say nothing
            return None
    return None


def _credentials(connection: BackendConnection) -> grpc.ChannelCredentials:
    if connection.certificate is None:
        return grpc.ssl_channel_credentials(connection.ca)
    certificate, key = (Path(path).read_bytes() for path in connection.certificate)
    return grpc.ssl_channel_credentials(connection.ca, key, certificate)
