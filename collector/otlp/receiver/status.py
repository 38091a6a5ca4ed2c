"""Protocol codes of errors, and the bytes of every answer, for gRPC and HTTP.

Rules: opentelemetry-proto, docs/specification.md. Clients retry gRPC UNAVAILABLE and HTTP 503; they drop
RESOURCE_EXHAUSTED without RetryInfo, INVALID_ARGUMENT, INTERNAL, UNKNOWN and most other HTTP statuses. So whatever is
not known to be permanent is answered as passing. Overload is 503, too: the specification allows 429 as well, but the
Python SDK dropped what was answered 429 for years (open-telemetry/opentelemetry-python, 3122).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import SCHEMAS, Encoding, Signal
from tracejury.schemas.errors import (
    ForbiddenError,
    PermanentError,
    RetryableError,
    TooLargeError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)

DETAILS_KEY: Final = "grpc-status-details-bin"
_UNFORESEEN: Final = "the collector failed for a reason of its own: try again"
_RETRY_AFTER: Final = 1.0

# The first row whose class fits counts.
TABLE: Final[tuple[tuple[type[Exception], grpc.StatusCode, int], ...]] = (
    (TooLargeError, grpc.StatusCode.RESOURCE_EXHAUSTED, 413),
    (UnsupportedMediaTypeError, grpc.StatusCode.INVALID_ARGUMENT, 415),
    (UnauthorizedError, grpc.StatusCode.UNAUTHENTICATED, 401),
    (ForbiddenError, grpc.StatusCode.PERMISSION_DENIED, 403),
    (PermanentError, grpc.StatusCode.INVALID_ARGUMENT, 400),
    (RetryableError, grpc.StatusCode.UNAVAILABLE, 503),
    (Exception, grpc.StatusCode.UNAVAILABLE, 503),
)


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error with its codes in both protocols; `retry_after` in seconds, None: do not try again."""

    grpc: grpc.StatusCode
    http: int
    message: str
    retry_after: float | None

    def status(self) -> Status:
        """The `google.rpc.Status`, with RetryInfo where a retry may help."""
        status = Status(code=self.grpc.value[0], message=self.message)
        if self.retry_after is not None:
            delay = Duration()
            delay.FromNanoseconds(round(self.retry_after * 1e9))
            status.details.add().Pack(RetryInfo(retry_delay=delay))
        return status

    def trailers(self) -> tuple[tuple[str, bytes], ...]:
        """GRPC's trailing metadata."""
        return ((DETAILS_KEY, self.status().SerializeToString()),)

    def headers(self) -> dict[str, str]:
        """HTTP's additional headers."""
        return {} if self.retry_after is None else {"Retry-After": str(max(1, math.ceil(self.retry_after)))}

    def body(self, encoding: Encoding) -> bytes:
        """HTTP's body."""
        return _encoded(self.status(), encoding)


def refusal(error: Exception) -> ErrorResponse:
    """The answer to `error`. The text of unforeseen errors is not shown to clients."""
    code, http = next((code, http) for kind, code, http in TABLE if isinstance(error, kind))
    if isinstance(error, RetryableError):
        return ErrorResponse(code, http, str(error), error.retry_after)
    if isinstance(error, PermanentError):
        return ErrorResponse(code, http, str(error), None)
    return ErrorResponse(code, http, _UNFORESEEN, _RETRY_AFTER)


def success(signal: Signal, encoding: Encoding, partial: PartialSuccess) -> bytes:
    """The body of an acknowledgement; the partial success is unset where nothing was rejected."""
    schema = SCHEMAS[signal]
    response = schema.response()
    if partial.rejected:
        setattr(response.partial_success, schema.rejected, partial.rejected)
        response.partial_success.error_message = partial.message
    return _encoded(response, encoding)


def _encoded(message: Message, encoding: Encoding) -> bytes:
    if encoding is Encoding.JSON:
        return MessageToJson(message, indent=None).encode()
    return message.SerializeToString()
