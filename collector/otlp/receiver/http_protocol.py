"""uvicorn's HTTP/1 protocol, which also detects HTTP/2 and bounds what a client costs until its request is complete."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from .crowd import Crowd
from .http_config import ConnectionLimits
from .stray_clients import TLS_OPENING, StrayClients

HEAD_BYTES: Final = 64 * 1024
"""The longest request line and headers together; h11, uvicorn's other parser, has such a bound itself.

As much may stand between two parts of a body, and after it (trailers).
"""

MOST_PIPELINED: Final = 32
"""Requests that a client may send before earlier ones are answered; the next one closes the connection."""

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # uvicorn warns of every request that is no HTTP: anyone could fill the log

_HTTP2: Final = b"PRI * HTTP/2.0"  # RFC 9113, section 3.4
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """State that connections of a server share; `on_http2` is called for each that opens with HTTP/2's preface.

    Such a connection is closed: an answer in HTTP/2 (GOAWAY) makes gRPC clients connect again without a pause.
    """

    limits: ConnectionLimits
    crowd: Crowd
    strays: StrayClients
    on_http2: Callable[[], None]


@dataclass(frozen=True, slots=True)
class AnswerTransport:
    """The connection as the answer to one request has it."""

    write: Callable[[bytes], None]
    is_closing: Callable[[], bool]
    close: Callable[[], None]


class PipelinedFlow(FlowControl):
    """Reads nothing more while requests wait behind the one that is answered; uvicorn would, with each answer."""

    def __init__(self, transport: asyncio.Transport, pipeline: Sized) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Read on, unless requests wait."""
        if not self._pipeline:
            super().resume_reading()


class BoundedProtocol(HttpToolsProtocol):
    """One connection. There is a deadline while a request, or the first byte of one, is awaited.

    None holds while a request is answered, however long that takes; then `timeout_keep_alive` counts.
    """

    def __init__(self, shared: ConnectionContext, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self.logger = _log
        self._shared = shared
        self._in_head, self._in_body = True, False
        self._idle_bytes = 0  # that arrived without completing a head or adding to a body
        self._got_on = False
        self._closes = False  # once the body is complete
        self._stops = False
        self._deadline: asyncio.TimerHandle | None = None

    def handshake_began(self, transport: asyncio.Transport) -> None:
        """A TLS handshake comes first: the connection is open, and waits with the others."""
        self.transport = transport
        self.connections.add(self)
        self._shared.crowd.enter(self)

    def handshake_lost(self) -> None:
        """The connection is closed; whether its handshake was complete does not matter."""
        self._shared.crowd.leave(self)
        self.connections.discard(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Expect a request."""
        super().connection_made(transport)
        self.flow = PipelinedFlow(transport, self.pipeline)
        self._expect_within(self._shared.limits.head_seconds)
        self._shared.crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._shared.crowd.leave(self)
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, unless it is HTTP/2 or there is no end to a head."""
        if data.startswith(_HTTP2):
            self._shared.on_http2()
            self.transport.close()
            return
        cycle: RequestResponseCycle | None = self.cycle
        is_first = cycle is None and not self._idle_bytes  # later such bytes may be those of a body
        if is_first and data.startswith(TLS_OPENING):
            self._shared.strays.with_tls(self.transport.get_extra_info("peername"))
            self.transport.close()
            return
        if self._deadline is None:
            self._expect_within(self._shared.limits.head_seconds)
        self._got_on = False
        super().data_received(data)
        self._idle_bytes = 0 if self._got_on else self._idle_bytes + len(data)
        if self._idle_bytes > HEAD_BYTES and not self.transport.is_closing():
            if self._in_head:
                self.send_400_response("the request's head is too long")
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Expect the body."""
        self._in_head, self._in_body, self._got_on = False, True, True
        super().on_headers_complete()
        if len(self.pipeline) > MOST_PIPELINED:
            raise ValueError("too many requests wait for earlier ones")  # the parser ends, and the connection with it
        # uvicorn would close the connection behind an early refusal: the client, still sending, would find it reset.
        self.cycle.transport = AnswerTransport(self.transport.write, self.transport.is_closing, self._close)  # type: ignore[assignment]  # all that it uses
        self._expect_within(self._shared.limits.read_seconds)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._got_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete: it is our turn."""
        self._in_body, self._got_on = False, True
        self._expect_nothing()
        self._shared.crowd.leave(self)
        super().on_message_complete()
        if self._closes:
            self.transport.close()

    def on_response_complete(self) -> None:
        """The rest of a body that was refused early is thrown away, as long as a body may take."""
        super().on_response_complete()
        if not self._in_body and not self.transport.is_closing():
            self._shared.crowd.enter(self)
            if not self._in_head:
                self._expect_nothing()

    def shutdown(self) -> None:
        """Close the connection once the request at hand is answered: the server stops."""
        self._stops = True
        super().shutdown()

    def _close(self) -> None:
        """Close the connection once the body has been read: an answer to a client that still sends would be lost."""
        if self._in_body and not self.pipeline and not self._stops:
            self._closes = True
        else:
            self.transport.close()

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._too_late, seconds)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self, seconds: float) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        answering = cycle is not None and not cycle.response_complete
        if self.pipeline or (answering and not self._in_body):
            self._expect_within(seconds)  # an earlier request is being answered, perhaps without end
        elif not self.transport.is_closing():
            unanswered = cycle is not None and not cycle.response_started if self._in_body else self._idle_bytes
            if unanswered:
                self.transport.write(_TOO_SLOW)
            self.transport.close()
