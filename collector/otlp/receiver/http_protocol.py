"""uvicorn's HTTP/1 protocol, which also detects HTTP/2 and bounds the head of a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES: Final = 64 * 1024
"""The longest request line and headers together; h11, uvicorn's other parser, has such a bound itself."""

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # uvicorn warns of every request that is no HTTP: anyone could fill the log

_HTTP2: Final = b"PRI * HTTP/2.0"  # RFC 9113, section 3.4


def http_protocol(on_http2: Callable[[], None]) -> type[asyncio.Protocol]:
    """The protocol class; `on_http2` is called for every connection that opens with HTTP/2's preface.

    Such a connection is closed: an answer in HTTP/2 (GOAWAY) makes gRPC clients connect again without a pause.
    """

    class Protocol(HttpToolsProtocol):
        _in_head = True
        _head_bytes = 0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.logger = _log

        def data_received(self, data: bytes) -> None:
            if data.startswith(_HTTP2):
                on_http2()
                self.transport.close()
                return
            super().data_received(data)
            if self._in_head:
                self._head_bytes += len(data)
                if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
                    self.send_400_response("the request's head is too long")

        def on_message_begin(self) -> None:
            self._in_head, self._head_bytes = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_head = False
            super().on_headers_complete()

    return Protocol
