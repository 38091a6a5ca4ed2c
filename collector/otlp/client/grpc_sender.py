"""OTLP over gRPC, from the client's side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from ....schemas.errors import PermanentError, RetryableError
from ..codec.groups import LOGS, Request, signal_of
from .sending import Reply

RETRYABLE: Final = frozenset(
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

_DETAILS: Final = "grpc-status-details-bin"
_NANOS: Final = 1_000_000_000


class GrpcSender:
    """A `Sender` to `target` (host:port)."""

    def __init__(self, target: str, *, secure: bool = False, timeout: float = 30.0) -> None:
        options = [("grpc.max_send_message_length", -1)]
        self._channel = (
            grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(), options)
            if secure
            else grpc.aio.insecure_channel(target, options)
        )
        self._timeout = timeout
        self._traces = TraceServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._logs = LogsServiceStub(self._channel)  # type: ignore[no-untyped-call]

    async def send(self, request: Request) -> Reply:
        """Send one request; see `Sender.send`."""
        is_logs = signal_of(request) is LOGS
        stub = self._logs if is_logs else self._traces
        try:
            response = await stub.Export(request, timeout=self._timeout)
        except grpc.aio.AioRpcError as error:
            raise _translate(error) from error
        partial = response.partial_success
        return Reply(partial.rejected_log_records if is_logs else partial.rejected_spans, partial.error_message)

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close(grace=None)


def _translate(error: grpc.aio.AioRpcError) -> RetryableError | PermanentError:
    text = f"{error.code().name}: {error.details() or 'no details'}"
    asked = retry_delay(error)
    if error.code() in RETRYABLE or (error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and asked is not None):
        return RetryableError(text, retry_after=asked or 0.0)
    return PermanentError(text)


def retry_delay(error: grpc.aio.AioRpcError) -> float | None:
    """Seconds that the status' RetryInfo asks for, None without one."""
    metadata = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata() or ())
    for key, value in metadata:
        if key != _DETAILS or not isinstance(value, bytes):
            continue
        try:
            for detail in Status.FromString(value).details:
                info = RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.seconds + info.retry_delay.nanos / _NANOS)
        except DecodeError:  # details that are none say nothing
            return None
    return None
