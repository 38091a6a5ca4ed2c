"""The OTLP/HTTP receiver: the application under uvicorn, in the event loop of the caller."""

from __future__ import annotations

import logging

from pydantic import Field

from ....schemas.config_base import Section
from .http_app import otlp_app
from .intake import Intake
from .web_server import WebServer

log = logging.getLogger(__name__)


class HttpConfig(Section):
    """Address and time-outs of the receiver."""

    endpoint: str = "127.0.0.1:4318"
    """HOST:PORT; port 0 picks a free one."""
    read_seconds: float = Field(default=60.0, gt=0)
    """The longest a request body may take to arrive."""
    idle_seconds: int = Field(default=75, ge=1)
    """How long a connection without requests is kept open."""


class HttpReceiver:
    """Answers 200 only after the commit; takes protobuf and JSON, each also gzipped."""

    def __init__(self, config: HttpConfig, intake: Intake, *, grpc_port: int | None = None) -> None:
        self._grpc_port = grpc_port or 4317
        self._port = 0
        self._told_grpc_client = False
        self._server = WebServer(
            otlp_app(intake, config.read_seconds),
            config.endpoint,
            "otlp-http",
            on_http2=self._tell_grpc_client,
            timeout_keep_alive=config.idle_seconds,
        )

    async def start(self) -> int:
        """Listen; returns the port.

        Raises:
            ConfigError: the endpoint cannot be bound.
        """
        self._port = await self._server.start()
        return self._port

    async def stop(self, deadline: float) -> None:
        """Take no more requests and finish those at hand, within `deadline` seconds. Safe without start, and twice."""
        await self._server.stop(deadline)

    def _tell_grpc_client(self) -> None:
        if not self._told_grpc_client:
            self._told_grpc_client = True
            log.warning(
                "a gRPC client came to the OTLP/HTTP port %d: gRPC is on port %d (or it may use http/protobuf)",
                self._port,
                self._grpc_port,
            )
