"""One POST to a receiver that behaves badly."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler

import httpx
import pytest
from hook_server import PATIENCE, Received, answer, hook_server

from tracejury.collector.webhooks.posting import Answer, DeliveryError, Poster


@asynccontextmanager
async def poster(url: str, *, seconds: float = PATIENCE, any_address: bool = False) -> AsyncIterator[Poster]:
    tls = httpx.create_ssl_context(trust_env=False)
    async with Poster(url, timeout=seconds, connections=2, any_address=any_address, tls=tls) as made:
        yield made


async def outcome(url: str, **settings: float) -> str:
    """The word on a POST that fails."""
    async with poster(url, **settings) as made:  # type: ignore[arg-type]  # only a time-out is given
        with pytest.raises(DeliveryError) as caught:
            await made.post({}, b"{}")
    return caught.value.reason


@contextmanager
def raw_server(said: bytes) -> Iterator[str]:
    """A server that writes `said` to whoever connects, and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(said)
        except OSError:
            return  # closed: the test is over

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


async def test_an_answer_and_what_it_asks_for() -> None:
    """Status and Retry-After; the body arrived as it was sent."""
    with hook_server(answer(503, {"retry-after": "7"}, b"later")) as server:
        async with poster(server.url) as made:
            assert await made.post({"webhook-id": "msg_1"}, b'{"a":1}') == Answer(503, "7")
        (received,) = server.received
    assert (received.path, received.body) == ("/hook", b'{"a":1}')
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].startswith("tracejury/")


async def test_a_redirect_is_not_followed() -> None:
    """It could lead anywhere, with the finding in hand."""
    with hook_server() as other, hook_server(answer(307, {"location": other.url})) as server:
        async with poster(server.url) as made:
            assert (await made.post({}, b"{}")).status == 307
        assert other.received == []


async def test_a_receiver_that_hangs_is_left_after_the_time_out() -> None:
    """Also one that keeps the connection busy with a byte now and then: the time-out is of the whole."""
    stop = threading.Event()

    def drip(handler: BaseHTTPRequestHandler, _received: Received) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        try:
            while not stop.wait(0.01):
                handler.wfile.write(b"x")
                handler.wfile.flush()
        except OSError:
            pass  # the client has left

    with hook_server(drip) as server:
        assert await outcome(server.url, seconds=0.2) == "timeout"
        stop.set()


async def test_a_huge_answer_is_not_read_to_its_end() -> None:
    """Its status is all that counts; what is read of the body is bounded."""
    stop = threading.Event()
    written = 0

    def flood(handler: BaseHTTPRequestHandler, _received: Received) -> None:
        nonlocal written
        handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n")
        try:
            while not stop.is_set():
                written += handler.wfile.write(b"x" * 65536) or 0
        except OSError:
            stop.set()  # the client has left

    with hook_server(flood) as server:
        async with poster(server.url) as made:
            assert (await made.post({}, b"{}")).status == 200
        assert stop.wait(PATIENCE), "the connection was closed, not drained"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "not-http"),
        (b"", "not-http"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000, "not-http"),
    ],
)
async def test_what_is_no_http(said: bytes, reason: str) -> None:
    """One word, and nothing of what the other side wrote."""
    with raw_server(said) as url:
        assert await outcome(url) == reason


async def test_nobody_there() -> None:
    """A port at which nothing listens, and a name that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert await outcome(f"http://127.0.0.1:{port}/") == "no-connection"
    assert await outcome("http://nobody.invalid/") == "unknown-host"


@pytest.mark.parametrize("host", ["169.254.169.254", "0.0.0.0", "2852039166", "[::ffff:169.254.169.254]"])
async def test_metadata_addresses_are_refused_however_written(host: str) -> None:
    """Before anything is sent."""
    assert await outcome(f"http://{host}:9/") == "refused-address"


async def test_an_operator_may_allow_them() -> None:
    """0.0.0.0 reaches this machine, so what is allowed can be shown."""
    with hook_server() as server:
        async with poster(server.url.replace("127.0.0.1", "0.0.0.0"), any_address=True) as made:
            assert (await made.post({}, b"{}")).status == 204
