"""The health of the gRPC receiver (grpc.health.v1), for whoever asks: no key is needed.

The servicer of grpcio-health-checking takes names of any length and any number of watchers, and lets a watcher that
reads nothing hold up all others and the shutdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from tracejury.schemas.errors import PermanentError, TracejuryError

from .grpc_message import Context, MessageReader
from .status import refusal

MOST_WATCHERS: Final = 1000
"""Calls that may watch at a time; further ones are refused."""
LONGEST: Final = 1024
"""Bytes of a request."""
TELLING_SECONDS: Final = 1.0
"""How long the shutdown waits for watchers to be told of it."""

_SERVICE: Final = "/grpc.health.v1.Health"
if TYPE_CHECKING:
    _GenericHandler = grpc.GenericRpcHandler[Any, Any]
else:
    _GenericHandler = grpc.GenericRpcHandler


class HealthHandler(_GenericHandler):
    """All services serve until the receiver stops."""

    def __init__(self, services: Collection[str], reader: MessageReader) -> None:
        self._services, self._reader = frozenset({"", *services}), reader
        self._stopping = asyncio.Event()
        self._watchers: set[asyncio.Task[Any]] = set()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler of `Check` or `Watch`."""
        handle = {f"{_SERVICE}/Check": self._check, f"{_SERVICE}/Watch": self._watch}.get(handler_call_details.method)
        return grpc.stream_stream_rpc_method_handler(handle) if handle else None

    async def stop(self) -> None:
        """Tell all who watch, and whoever asks from now on, that nothing is served any more."""
        self._stopping.set()
        if self._watchers:
            await asyncio.wait(self._watchers, timeout=TELLING_SECONDS)

    async def _check(self, _: Any, context: Context) -> None:
        name = await self._name(context)
        if name not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        await context.write(self._status(name))

    async def _watch(self, _: Any, context: Context) -> None:
        if len(self._watchers) >= MOST_WATCHERS:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MOST_WATCHERS} calls watch already")
        if task := asyncio.current_task():
            self._watchers.add(task)
            task.add_done_callback(self._watchers.discard)
        name = await self._name(context)
        await context.write(self._status(name))
        await self._stopping.wait()
        await context.write(self._status(name))

    async def _name(self, context: Context) -> str:
        """The service that is asked about; a call whose request is none is aborted."""
        try:
            return _name_in(await self._reader.read(context))
        except TracejuryError as error:
            answer = refusal(error)
        return await context.abort(answer.grpc, answer.message, answer.trailers())

    def _status(self, name: str) -> bytes:
        if name not in self._services:
            status = HealthCheckResponse.SERVICE_UNKNOWN
        else:
            status = HealthCheckResponse.NOT_SERVING if self._stopping.is_set() else HealthCheckResponse.SERVING
        return bytes(HealthCheckResponse(status=status).SerializeToString())


def _name_in(message: bytes) -> str:
    if len(message) > LONGEST:
        raise PermanentError(f"a request for health has {LONGEST} bytes at most")
    try:
        return str(HealthCheckRequest.FromString(message).service)
    except DecodeError:
        raise PermanentError("the request is no HealthCheckRequest") from None
