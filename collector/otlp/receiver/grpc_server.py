"""The OTLP/gRPC receiver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import grpc
from pydantic import Field

from tracejury.collector.auth.key import KeyScope
from tracejury.collector.auth.tokens_sent import token_sent
from tracejury.collector.otlp.codec.signals import SCHEMAS, Encoding, Signal
from tracejury.schemas.config_base import Seconds, Section
from tracejury.schemas.errors import ConfigError, RetryableError, TracejuryError

from .grpc_health import HealthHandler
from .grpc_message import Context, MessageReader, host_of
from .http_config import bounded_connections
from .intake import Intake
from .ports import bind, split_endpoint, unusable
from .status import refusal, success
from .tls import ListenerTls
from .tls_config import TlsConfig

TRANSPORT: Final = "grpc"
if TYPE_CHECKING:
    _GenericHandler = grpc.GenericRpcHandler[Any, Any]
else:
    _GenericHandler = grpc.GenericRpcHandler
_LONGEST: Final = 2**31 - 1  # milliseconds that grpcio's core can count
SERVICES: Final = {schema.service: signal for signal, schema in SCHEMAS.items()}
_METHODS: Final = {f"/{service}/Export": signal for service, signal in SERVICES.items()}


class GrpcConfig(Section):
    """Address and limits of the receiver."""

    endpoint: str = "127.0.0.1:4317"
    """HOST:PORT; port 0 picks a free one."""
    tls: TlsConfig | None = None
    """The certificate to serve with TLS; null serves without."""
    concurrent_streams: int = Field(default=128, ge=1)
    """Requests of one connection at a time; HTTP/2 makes the client wait with more."""
    handshake_seconds: Seconds = 10.0
    """The longest a new connection may take until it speaks HTTP/2, its TLS handshake included."""
    read_seconds: Seconds = 60.0
    """The longest a request may take to arrive."""
    idle_seconds: Seconds = 300.0
    """How long a connection without requests is kept open; clients connect again by themselves."""
    connections: int = Field(default=4096, ge=1)
    """Open connections, at most a quarter of the files that the process may open; beyond it new ones are closed."""


class GrpcReceiver:
    """Answers OK only after the commit; takes gzip; reports its health."""

    def __init__(self, config: GrpcConfig, intake: Intake) -> None:
        self._config = config
        self._intake = intake
        reader = MessageReader(intake.inflight, intake.limits.request_bytes, config.read_seconds)
        self._exports = _Exports(intake, reader)
        self._health = HealthHandler(SERVICES, reader)
        self._tls = ListenerTls(config.tls, "grpc.tls") if config.tls else None
        self._server: grpc.aio.Server | None = None

    async def start(self) -> int:
        """Listen; returns the port.

        Raises:
            ConfigError: the endpoint cannot be bound.
        """
        _, port = split_endpoint(self._config.endpoint)
        if port or self._tls:
            bind(self._config.endpoint).close()  # grpcio's core has many lines for a taken port, and no pid
        server = grpc.aio.server(options=self._options())
        server.add_generic_rpc_handlers((self._exports, self._health))
        at = self._config.endpoint
        try:
            port = (
                server.add_secure_port(at, self._tls.grpc_credentials()) if self._tls else server.add_insecure_port(at)
            )
        except RuntimeError as error:
            if self._tls:  # the address was tried above
                raise self._tls.unusable_for_grpc() from None
            raise ConfigError(unusable(at, str(error))) from None
        await server.start()
        self._server = server
        return port

    async def stop(self, deadline: float) -> None:
        """Take no more requests and finish those at hand, within `deadline` seconds. Safe without start, and twice."""
        server, self._server = self._server, None
        if server is None:
            return
        await self._health.stop()
        stopping = asyncio.create_task(server.stop(deadline))
        # Those who watch our health stay connected for as long as they may; exports are what is worth waiting for.
        finished = asyncio.create_task(self._exports.finished())
        await asyncio.wait((stopping, finished), return_when=asyncio.FIRST_COMPLETED)
        finished.cancel()
        await server.stop(None)
        await stopping

    def _options(self) -> list[tuple[str, Any]]:
        return [
            ("grpc.max_receive_message_length", self._intake.limits.request_bytes),
            ("grpc.max_concurrent_streams", self._config.concurrent_streams),
            ("grpc.server_handshake_timeout_ms", _milliseconds(self._config.handshake_seconds)),
            ("grpc.max_connection_idle_ms", _milliseconds(self._config.idle_seconds)),
            ("grpc.max_allowed_incoming_connections", bounded_connections(self._config.connections)),
            ("grpc.so_reuseport", 0),  # else a second collector would share the port in silence
        ]


def _milliseconds(seconds: float) -> int:
    return min(round(seconds * 1000), _LONGEST)


class _Exports(_GenericHandler):
    """The Export methods, and which of their calls are under way."""

    def __init__(self, intake: Intake, reader: MessageReader) -> None:
        self._intake, self._reader = intake, reader
        self._calls: set[asyncio.Task[Any]] = set()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler of a call: that of its method, or, without a key that may send, one that reads no request."""
        signal = _METHODS.get(handler_call_details.method)
        if signal is None:
            return None
        token = token_sent(handler_call_details.invocation_metadata or ())
        key = self._intake.keyring.valid(token)
        if key is None or not key.allows(KeyScope.INGEST):
            return grpc.stream_unary_rpc_method_handler(self._refused(signal, token))
        # As a stream of one, so that the request is read when we say so; without a deserialiser the bytes are ours, and
        # so is what to answer when they are no protobuf.
        return grpc.stream_unary_rpc_method_handler(self._method(signal, key.project))

    def _refused(self, signal: Signal, token: str) -> Callable[[Any, Context], Awaitable[bytes]]:
        async def refuse(_: Any, context: Context) -> bytes:
            try:
                self._intake.keyring.check(token, KeyScope.INGEST, host_of(context.peer()))
                raise RetryableError("the key holds since a moment ago: try again")
            except TracejuryError as error:
                self._intake.refused(TRANSPORT, signal, error)
                answer = refusal(error)
            return await context.abort(answer.grpc, answer.message, answer.trailers())

        return refuse

    def _method(self, signal: Signal, tenant: str) -> Callable[[Any, Context], Awaitable[bytes]]:
        """The Export method of one signal for a project; every error is answered from the table."""

        async def export(_: Any, context: Context) -> bytes:
            call = asyncio.current_task()
            if call:
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
            try:
                body = await self._reader.read(context)
                with self._intake.inflight.request(len(body)):
                    receipt = await self._intake.take(
                        TRANSPORT, signal, Encoding.PROTOBUF, body, context.peer(), tenant
                    )
                return success(signal, Encoding.PROTOBUF, receipt)
            except Exception as error:  # noqa: BLE001 - every error has a row in the table
                self._intake.refused(TRANSPORT, signal, error)
                answer = refusal(error)
            return await context.abort(answer.grpc, answer.message, answer.trailers())

        return export

    async def finished(self) -> None:
        """Return once no call is under way; a call ends when its answer is sent."""
        while self._calls:
            await asyncio.wait(self._calls)
