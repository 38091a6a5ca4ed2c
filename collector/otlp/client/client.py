"""The interface of OTLP clients: one encoded request out, the meaning of its answer back."""

from __future__ import annotations

from typing import Any, Final, Protocol

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.schemas.errors import PermanentError

from .export_request import SCHEMAS, ExportRequest

MAX_ANSWER: Final = 1 << 20
"""Bytes of an answer that are read."""


class EndpointError(PermanentError):
    """The endpoint takes no request of this signal: its address or our credentials are wrong."""


class OtlpClient(Protocol):
    """A connection to one OTLP endpoint."""

    async def send(self, request: ExportRequest) -> PartialSuccess:
        """Send one request.

        Raises:
            RetryableError: worth another try, after `retry_after` seconds where that is not 0.
            EndpointError: no request of this signal is taken, whatever is in it.
            PermanentError: this request will never be taken.
        """

    async def close(self) -> None:
        """Close the connection; safe to call twice."""


def partial_success(request: ExportRequest, answer: bytes, *, json: bool = False) -> PartialSuccess:
    """The partial success in an answer; an answer that is not OTLP says nothing against the request."""
    schema = SCHEMAS.get(request.signal)
    if schema is None:
        return PartialSuccess()
    try:
        partial = parsed(schema.response(), answer, json=json).partial_success
    except DecodeError:
        return PartialSuccess()
    return PartialSuccess(max(getattr(partial, schema.rejected), 0), partial.error_message)


def parsed(message: Any, answer: bytes, *, json: bool) -> Any:
    """`message`, filled from protobuf or JSON. Raises DecodeError."""
    if json:
        try:
            return json_format.Parse(answer, message, ignore_unknown_fields=True)
        except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(str(error)) from None
    message.ParseFromString(answer)
    return message
