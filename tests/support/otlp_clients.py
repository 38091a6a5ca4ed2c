"""Clients that speak OTLP to a receiver, one a protocol, and say in one vocabulary what they were told."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any, Final

import grpc
import httpx
from google.protobuf.json_format import Parse
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from otlp_parts import json_body

PROTOCOLS: Final = ("grpc", "http", "json")
METHODS: Final = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
RESPONSES: Final[dict[str, Any]] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
MEDIA: Final = {"http": "application/x-protobuf", "json": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """`code` is gRPC's name or HTTP's number; `retry` whether the answer asks for a retry (seconds, else None)."""

    code: str
    message: str = ""
    retry: float | None = None
    rejected: int = 0
    partial: bool = False
    media: str = ""

    @property
    def ok(self) -> bool:
        """Whether the request was accepted, at least in part."""
        return self.code in ("OK", "200")


class Client:
    """Sends bodies to one receiver; `protocol` is one of PROTOCOLS."""

    def __init__(self, protocol: str, port: int) -> None:
        self.protocol = protocol
        self._port = port

    def body(self, request: Message) -> bytes:
        """A request as this client writes it."""
        return json_body(request) if self.protocol == "json" else request.SerializeToString()

    async def send(self, request: Message, signal: str = "traces", *, gzipped: bool = False) -> Answer:
        """Send a request."""
        return await self.send_bytes(self.body(request), signal, gzipped=gzipped)

    async def send_bytes(self, body: bytes, signal: str = "traces", *, gzipped: bool = False) -> Answer:
        """Send bytes as they are."""
        if self.protocol == "grpc":
            return await self._call(body, signal, gzipped=gzipped)
        headers = {"content-type": MEDIA[self.protocol]}
        if gzipped:
            body, headers["content-encoding"] = gzip.compress(body), "gzip"
        return await self.post(f"/v1/{signal}", body, headers)

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        """One POST."""
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self._port}", timeout=60) as http:
            return read(await http.post(path, content=body, headers=headers))

    async def _call(self, body: bytes, signal: str, *, gzipped: bool) -> Answer:
        options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._port}", options=options) as channel:
            call = channel.unary_unary(METHODS[signal], request_serializer=None, response_deserializer=None)
            compression = grpc.Compression.Gzip if gzipped else grpc.Compression.NoCompression
            try:
                raw = await call(body, timeout=60, compression=compression)
            except grpc.aio.AioRpcError as error:
                trailers: Any = error.trailing_metadata()
                details = [value for key, value in trailers if key == "grpc-status-details-bin"]
                return Answer(
                    error.code().name, error.details() or "", _retry(Status.FromString(details[0])) if details else None
                )
            return _accepted("OK", RESPONSES[signal].FromString(raw))


def read(response: httpx.Response) -> Answer:
    """What an HTTP answer says."""
    code, media = str(response.status_code), response.headers.get("content-type", "")
    if response.status_code == httpx.codes.OK:
        signal = response.request.url.path.removeprefix("/v1/")
        return _accepted(code, _message(response, RESPONSES[signal]()), media)
    if not media.startswith("application/"):
        return Answer(code, response.text, media=media)
    status = _message(response, Status())
    announced = response.headers.get("retry-after")
    assert (announced is None) == (_retry(status) is None), "the header and the body must agree"
    return Answer(code, status.message, None if announced is None else float(announced), media=media)


def _message(response: httpx.Response, message: Any) -> Any:
    if response.headers["content-type"] == "application/json":
        return Parse(response.content, message)
    message.ParseFromString(response.content)
    return message


def _accepted(code: str, response: Any, media: str = "") -> Answer:
    partial = response.partial_success
    rejected = next((value for field, value in partial.ListFields() if field.name.startswith("rejected_")), 0)
    return Answer(code, partial.error_message, None, rejected, response.HasField("partial_success"), media)


def _retry(status: Status) -> float | None:
    for detail in status.details:
        info = RetryInfo()
        if detail.Unpack(info):
            return float(info.retry_delay.ToNanoseconds()) / 1e9
    return None
