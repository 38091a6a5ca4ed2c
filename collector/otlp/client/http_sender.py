"""OTLP over HTTP, as protobuf or JSON, from the client's side."""

from __future__ import annotations

import time
from typing import Any, Final

import httpx
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ....schemas.errors import PermanentError, RetryableError
from ...worker.retry import retry_after
from ..codec import otlp_json
from ..codec.groups import LOGS, Request, signal_of
from .sending import Reply

RETRYABLE: Final = frozenset({429, 502, 503, 504})
"""OTLP specification, "OTLP/HTTP Response": retryable response codes."""

LONGEST_ASKED: Final = 86_400.0
"""Seconds that a Retry-After header may ask for, at most."""

_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"


class HttpSender:
    """A `Sender` to `base` (http://host:port), where the signals have their default paths."""

    def __init__(
        self,
        base: str,
        *,
        json: bool = False,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._json = json
        self._client = httpx.AsyncClient(
            base_url=base,
            timeout=timeout,
            transport=transport,
            headers={"content-type": _JSON if json else _PROTOBUF, "user-agent": "tracejury-replay"},
        )

    async def send(self, request: Request) -> Reply:
        """Send one request; see `Sender.send`."""
        is_logs = signal_of(request) is LOGS
        body = otlp_json.render(request) if self._json else request.SerializeToString()
        try:
            response = await self._client.post("/v1/logs" if is_logs else "/v1/traces", content=body)
        except httpx.RemoteProtocolError as error:
            raise RetryableError(f"the answer is no HTTP ({error}): is this the gRPC port?", retry_after=0.0) from error
        except httpx.TransportError as error:
            raise RetryableError(f"{type(error).__name__}: {error}", retry_after=0.0) from error
        if response.is_success:
            return _partial(response, is_logs=is_logs)
        text = f"HTTP {response.status_code}: {_reason(response)}"
        if response.status_code in RETRYABLE:
            raise RetryableError(text, retry_after=asked_delay(response))
        raise PermanentError(text)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def asked_delay(response: httpx.Response) -> float:
    """Seconds that the Retry-After header asks for: a day at most, 0 where it says nothing."""
    return retry_after(response.headers.get("retry-after", ""), time.time(), LONGEST_ASKED) or 0.0


def _partial(response: httpx.Response, *, is_logs: bool) -> Reply:
    """The partial success of a 200; a body that is none of ours says nothing against the request."""
    rejected = "rejectedLogRecords" if is_logs else "rejectedSpans"
    try:
        if response.headers.get("content-type", "").startswith(_JSON):
            partial: dict[str, Any] = response.json().get("partialSuccess") or {}
            return Reply(int(partial.get(rejected) or 0), str(partial.get("errorMessage") or ""))
        if is_logs:
            logs = ExportLogsServiceResponse.FromString(response.content).partial_success
            return Reply(logs.rejected_log_records, logs.error_message)
        spans = ExportTraceServiceResponse.FromString(response.content).partial_success
        return Reply(spans.rejected_spans, spans.error_message)
    except (ValueError, AttributeError, TypeError, DecodeError):
        return Reply()


def _reason(response: httpx.Response) -> str:
    """The message of the `google.rpc.Status` that the protocol puts into a refusal, else the status' own phrase."""
    try:
        if response.headers.get("content-type", "").startswith(_JSON):
            return str(response.json()["message"])
        return Status.FromString(response.content).message or response.reason_phrase
    except (ValueError, LookupError, TypeError, DecodeError):
        return response.reason_phrase
