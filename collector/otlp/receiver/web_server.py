"""An ASGI application under uvicorn, in the event loop of the caller."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import uvicorn
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from .crowd import Crowd
from .http_config import ConnectionLimits, bounded_connections
from .http_protocol import BoundedProtocol, ConnectionContext
from .ports import bind
from .stray_clients import StrayClients
from .tls import ListenerTls

_ANSWER_SECONDS = 1.0
_ACCEPTED_AT_ONCE = 128
"""Connections that the event loop takes before it turns to others; asyncio would take as many as may wait."""
_WAITING = 4096
"""Connections that may wait to be taken: one that finds no place tries again after a second, then after three."""

TICK_SECONDS = 1.0


class TlsProtocol(SSLProtocol):
    """asyncio's TLS around a connection of HTTP.

    asyncio's servers hide a connection until its handshake is complete, and allow 60 seconds for it. Here it is one of
    the listener's connections at once, and has as long as the head of a request has.
    """

    def __init__(self, inner: BoundedProtocol, context: ssl.SSLContext, strays: StrayClients, seconds: float) -> None:
        """`seconds`: the longest that the handshake may take, and the flushing when it is closed."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        ready.add_done_callback(self._ready)
        super().__init__(
            loop, inner, context, ready, server_side=True, ssl_shutdown_timeout=seconds,
            ssl_handshake_timeout=seconds,  # type: ignore[arg-type]  # fractions are fine
        )  # fmt: skip
        self._inner, self._strays = inner, strays
        self._peer: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  a TCP listener has no others
        self._peer = transport.get_extra_info("peername")
        self._inner.handshake_began(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection is gone, perhaps before the handshake was complete."""
        self._inner.handshake_lost()
        super().connection_lost(exc)

    def _ready(self, ready: asyncio.Future[None]) -> None:
        if not ready.cancelled():
            self._strays.with_error(self._peer, ready.exception())

    def _on_handshake_complete(self, handshake_exc: BaseException | None) -> None:
        # The base would drop the alert that tells the client why it is refused. One without TLS could not read it.
        if handshake_exc is not None and not self._strays.is_plain(handshake_exc):
            self._process_outgoing()  # type: ignore[attr-defined]  # the stubs leave it out
        super()._on_handshake_complete(handshake_exc)

    def _do_shutdown(self) -> None:
        # The base would wait for the peer to say goodbye, too, which idle clients do not. Nobody has to wait
        # (RFC 8446, section 6.1), and what is still to be sent is in the transport by now.
        transport = self._transport
        super()._do_shutdown()  # type: ignore[misc]  # the stubs leave it out
        if transport is not None:
            transport.close()


class WebServer:
    """Serves `app` at HOST:PORT within `limits`; signals are left to the caller. `options` are uvicorn's.

    `on_http2` is called for every connection that speaks HTTP/2, and closed. With `tls` all are https.
    """

    def __init__(
        self,
        app: ASGIApp,
        endpoint: str,
        name: str,
        limits: ConnectionLimits,
        *,
        on_http2: Callable[[], None] = lambda: None,
        tls: ListenerTls | None = None,
        **options: Any,
    ) -> None:
        self._app, self._endpoint, self._name = _until_gone(app), endpoint, name
        crowd, strays = Crowd(name, bounded_connections(limits.connections)), StrayClients(name)
        plain = partial(BoundedProtocol, ConnectionContext(limits, crowd, strays, on_http2))
        context = tls.context() if tls else None

        def secured(**of_uvicorn: Any) -> TlsProtocol:
            assert context is not None  # noqa: S101
            return TlsProtocol(plain(**of_uvicorn), context, strays, limits.head_seconds)

        self._options = {"http": secured if context else plain, **options}
        self._server: _UvicornServer | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Listen; returns the port.

        Raises:
            ConfigError: the endpoint cannot be bound.
        """
        listener = bind(self._endpoint)
        config = uvicorn.Config(
            self._app,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_ACCEPTED_AT_ONCE,
            **self._options,
        )
        self._server = _UvicornServer(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]), name=self._name)
        await self._server.ready.wait()
        if not self._server.started:
            await self._serving  # raises what went wrong
        listener.listen(_WAITING)
        return int(listener.getsockname()[1])

    async def stop(self, deadline: float) -> None:
        """Take no more requests and finish those at hand, within `deadline` seconds. Safe without start, and twice."""
        server, self._server = self._server, None
        if server is None or self._serving is None:
            return
        server.config.timeout_graceful_shutdown = deadline  # type: ignore[assignment]  # what it is given to takes floats
        server.exit_soon()
        await self._serving
        # What did not end in time is cancelled by now, and still has to be answered.
        if server.server_state.tasks:
            await asyncio.wait(server.server_state.tasks, timeout=_ANSWER_SECONDS)
        for connection in list(server.server_state.connections):
            connection.transport.close()


def _until_gone(app: ASGIApp) -> ASGIApp:
    """The application; that a client leaves before its request is complete is no error of it."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(ClientDisconnect):
            await app(scope, receive, send)

    return call


class _UvicornServer(uvicorn.Server):
    """Leaves signals to its caller, and says when it listens or cannot."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._exiting = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()

    def exit_soon(self) -> None:
        """Leave the main loop."""
        self.should_exit = True
        self._exiting.set()

    async def main_loop(self) -> None:
        """Renew the date header every second, where uvicorn looks ten times a second whether to exit."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._exiting.wait(), TICK_SECONDS)
