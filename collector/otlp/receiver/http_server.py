"""The OTLP/HTTP receiver: the application under uvicorn, in the event loop of the caller."""

from __future__ import annotations

import logging

from .http_app import otlp_app
from .http_config import HttpConfig
from .intake import Intake
from .tls import ListenerTls
from .web_server import WebServer

log = logging.getLogger(__name__)

_ANSWER_SECONDS = 1.0
"""How much longer than the application the server waits for a body: the application answers in OTLP."""


class HttpReceiver:
    """Answers 200 only after the commit; takes protobuf and JSON, each also compressed (gzip, deflate, zstd).

    `any_host` lets requests for any host name pass, `grpc_port` is what clients that speak gRPC are told.
    """

    def __init__(
        self, config: HttpConfig, intake: Intake, *, any_host: bool = False, grpc_port: int | None = None
    ) -> None:
        self._grpc_port = grpc_port or 4317
        self._port = 0
        self._told_grpc_client = False
        self._server = WebServer(
            otlp_app(intake, config, any_host=any_host),
            config.endpoint,
            "otlp-http",
            config.model_copy(update={"read_seconds": config.read_seconds + _ANSWER_SECONDS}),
            on_http2=self._tell_grpc_client,
            tls=ListenerTls(config.tls, "http.tls") if config.tls else None,
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
