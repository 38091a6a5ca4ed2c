"""A TLS connection of a web server, which counts as open from its first byte on."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any

from .http_protocol import BoundedProtocol
from .stray_clients import StrayClients


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
