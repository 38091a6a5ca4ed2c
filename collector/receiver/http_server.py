"""The OTLP/HTTP receiver: the application under uvicorn, in the event loop of the caller."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator

import uvicorn
from pydantic import BaseModel, ConfigDict, Field

from .http_app import otlp_app
from .http_protocol import http_protocol
from .intake import Intake
from .ports import bind

log = logging.getLogger(__name__)

_ANSWER_SECONDS = 1.0


class HttpConfig(BaseModel):
    """Where the receiver listens."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    endpoint: str = "127.0.0.1:4318"
    """HOST:PORT; port 0 picks a free one."""
    read_seconds: float = Field(default=60.0, gt=0)
    """The longest a request body may take to arrive."""
    idle_seconds: int = Field(default=75, ge=1)
    """How long a connection without requests is kept open."""


class HttpReceiver:
    """Answers 200 only after the commit; takes protobuf and JSON, each also gzipped."""

    def __init__(self, config: HttpConfig, intake: Intake, *, grpc_port: int | None = None) -> None:
        self._config = config
        self._intake = intake
        self._grpc_port = grpc_port or 4317
        self._port = 0
        self._told_grpc_client = False
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Listen; returns the port.

        Raises:
            ConfigError: the endpoint cannot be bound.
        """
        listener = bind(self._config.endpoint)
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            otlp_app(self._intake, self._config.read_seconds),
            http=http_protocol(self._tell_grpc_client),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=self._config.idle_seconds,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]), name="otlp-http")
        await self._server.ready.wait()
        if not self._server.started:
            await self._serving  # raises what went wrong
        return self._port

    async def stop(self, deadline: float) -> None:
        """Take no more requests and finish those at hand, within `deadline` seconds. Safe without start, and twice."""
        server, self._server = self._server, None
        if server is None or self._serving is None:
            return
        server.config.timeout_graceful_shutdown = deadline  # type: ignore[assignment]  # what it is given to takes floats
        server.should_exit = True
        await self._serving
        # What did not end in time is cancelled by now, and still has to be answered.
        if server.server_state.tasks:
            await asyncio.wait(server.server_state.tasks, timeout=_ANSWER_SECONDS)
        for connection in list(server.server_state.connections):
            connection.transport.close()

    def _tell_grpc_client(self) -> None:
        if not self._told_grpc_client:
            self._told_grpc_client = True
            log.warning(
                "a gRPC client came to the OTLP/HTTP port %d: gRPC is on port %d (or it may use http/protobuf)",
                self._port,
                self._grpc_port,
            )


class _Server(uvicorn.Server):
    """Leaves signals to its caller, and says when it listens or cannot."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()
