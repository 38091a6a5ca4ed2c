"""A webhook receiver in a thread: it keeps what it is sent, checks the signature, and behaves as a test says."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PATIENCE = 60.0
"""Seconds until a test fails; nothing waits that long where all is well."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def said(self) -> Any:
        return json.loads(self.body)

    @property
    def signed(self) -> bool:
        """Whether one of the signatures is ours; written from the specification, not with our code."""
        content = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        made = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        return f"v1,{made}" in self.headers["webhook-signature"].split(" ")


Behave = Callable[[BaseHTTPRequestHandler, Received], None]


def answer(status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Behave:
    """Always the same answer."""

    def behave(handler: BaseHTTPRequestHandler, _received: Received) -> None:
        handler.send_response(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


class Held:
    """Answers once it may."""

    def __init__(self, then: Any) -> None:
        self.go_on, self._then = threading.Event(), then

    def __call__(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        assert self.go_on.wait(PATIENCE)
        self._then(handler, received)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that was killed, or that read enough, leaves in the middle."""


class HookServer:
    """What was received, in order."""

    def __init__(self, behave: Behave, tls: ssl.SSLContext | None = None) -> None:
        self.behave = behave
        self.received: list[Received] = []
        self._more = threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(self.path, headers, body)
                with outer._more:
                    outer.received.append(received)
                    outer._more.notify_all()
                outer.behave(self, received)

            do_GET = do_POST  # noqa: N815  a followed redirect would arrive as one

            def log_message(self, *_: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def wait(self, count: int) -> list[Received]:
        """The first `count` requests, once they are there."""
        with self._more:
            assert self._more.wait_for(lambda: len(self.received) >= count, PATIENCE), len(self.received)
            return self.received[:count]

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hook_server(behave: Behave | None = None, tls: ssl.SSLContext | None = None) -> Iterator[HookServer]:
    """A receiver that says 204 unless told otherwise; https with `tls`."""
    server = HookServer(behave or answer(204), tls)
    server.start()
    try:
        yield server
    finally:
        server.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for it."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  it is asked for, as Prometheus does
            await asyncio.sleep(0.002)
