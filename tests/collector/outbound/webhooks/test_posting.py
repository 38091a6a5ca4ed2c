"""One POST to a receiver that behaves badly."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
from hook_server import PATIENCE, Received, answer, hook_server

from tracejury.collector.outbound.webhooks.posting import DeliveryError, PostAnswer, Poster


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
def raw_server(
    said: bytes, *, reset: bool = False, host: str = "127.0.0.1", heard: list[bytes] | None = None
) -> Iterator[str]:
    """A server that writes `said` to whoever connects, and closes; `reset`: as one does that left something unread.

    `heard`: gets the first that each client sends.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)

    def serve() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    first = connection.recv(65536)
                    if heard is not None:
                        heard.append(first)
                    connection.sendall(said)
                    if reset:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            return  # closed: the test is over

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


async def test_an_answer_and_what_it_asks_for() -> None:
    """Status and Retry-After; the body arrived as it was sent."""
    with hook_server(answer(503, {"retry-after": "7"}, b"later")) as server:
        async with poster(server.url) as made:
            assert await made.post({"webhook-id": "msg_1"}, b'{"a":1}') == PostAnswer(503, "7")
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
    """Also one that answers with a byte now and then: the time-out is of the whole, and the status counts."""
    stop = threading.Event()

    def drip(handler: BaseHTTPRequestHandler, _received: Received) -> None:
        handler.wfile.write(b"HTTP/1.1 201 Created\r\ncontent-length: 100000\r\n\r\n")
        try:
            while not stop.wait(0.01):
                handler.wfile.write(b"x")
                handler.wfile.flush()
        except OSError:
            pass  # the client has left

    with hook_server(drip) as server:
        async with poster(server.url, seconds=3.0) as made:
            assert (await made.post({}, b"{}")).status == 201
        stop.set()


async def test_an_answer_that_breaks_off_after_its_status_counts() -> None:
    """What was taken would be sent again else."""
    with raw_server(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf") as url:
        async with poster(url) as made:
            assert (await made.post({}, b"{}")).status == 200


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


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH_9\r\n", b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000]
)
async def test_what_is_no_http(said: bytes, *, reset: bool) -> None:
    """One word, however the connection ends, and nothing of what the other side wrote."""
    with raw_server(said, reset=reset) as url:
        assert await outcome(url) == "no-answer"


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, b"HTTP/1.1 200 OK\r\nx: ", b""], ids=["1xx", "drips", "silent"]
)
async def test_an_answer_that_never_comes(said: bytes) -> None:
    """Interim answers without end, a header that drips, silence: the time-out is of the whole."""
    stop = threading.Event()

    def drip(handler: BaseHTTPRequestHandler, _received: Received) -> None:
        try:
            handler.wfile.write(said)
            while not stop.wait(0.01):
                handler.wfile.write(said[-1:] if said.endswith(b" ") else said)
        except OSError:
            pass  # the client has left

    with hook_server(drip) as server:
        assert await outcome(server.url, seconds=0.2) == "timeout"
        stop.set()


async def test_the_host_header_of_an_ipv6_address() -> None:
    """In brackets, as in the URL; servers refuse it otherwise (RFC 9112, 3.2)."""
    heard: list[bytes] = []
    with raw_server(b"HTTP/1.1 204 No Content\r\n\r\n", host="::1", heard=heard) as url:
        async with poster(url) as made:
            assert (await made.post({}, b"{}")).status == 204
    host = next(line for line in heard[0].split(b"\r\n") if line.lower().startswith(b"host:"))
    assert host.split()[1].decode() == url.removeprefix("http://").rstrip("/")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate, and is not here")
async def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    """It has a word of its own, and so has a server without TLS; nothing of the finding is sent."""
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(["openssl", "req", *options, "-keyout", key, "-out", cert], check=True, capture_output=True)  # noqa: ASYNC221, S603, S607  a tool
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    with hook_server(tls=context) as server:
        assert await outcome(server.url) == "tls"
        assert server.received == []
    with raw_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        assert await outcome(url.replace("http:", "https:")) == "tls"


async def test_nobody_there() -> None:
    """A port at which nothing listens, and a name that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert await outcome(f"http://127.0.0.1:{port}/") == "no-connection"
    assert await outcome("http://nobody.invalid/") == "unknown-host"


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "0.0.0.0", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518",
     "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "100.100.100.200", "169.254.170.2"],
)  # fmt: skip
async def test_metadata_addresses_are_refused_however_written(host: str) -> None:
    """Before anything is sent."""
    assert await outcome(f"http://{host}:9/") == "refused-address"


def entry(address: str, port: int) -> Any:
    """As getaddrinfo gives it."""
    return socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)


async def test_an_address_that_swallows_everything_leaves_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an IPv6 address does where only IPv4 is routed: a full queue of connections answers nobody, either."""
    with hook_server() as server, socket.socket() as full, socket.socket() as first, socket.socket() as second:
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        full.bind(("127.0.0.2", port))
        full.listen(0)
        for waits in (first, second):
            waits.setblocking(False)  # noqa: FBT003  its signature
            waits.connect_ex(("127.0.0.2", port))
        found = [entry("127.0.0.2", port), entry("127.0.0.1", port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        async with poster(f"http://two.invalid:{port}/", seconds=2.0) as made:
            assert (await made.post({}, b"{}")).status == 204


async def test_a_name_that_is_looked_up_for_long_keeps_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up cannot be given up; what the process does in other threads goes on meanwhile."""
    answered = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        assert answered.wait(2 * PATIENCE)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    asyncio.get_running_loop().set_default_executor(pool := ThreadPoolExecutor(1))
    try:
        assert await outcome("http://slow.invalid/", seconds=0.1) == "timeout"
        await asyncio.wait_for(asyncio.to_thread(answered.set), PATIENCE)
    finally:
        answered.set()
        pool.shutdown()


async def test_the_address_that_was_checked_is_the_one_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to a good address, and to metadata a moment later, is resolved once."""
    with hook_server() as server:
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        found = iter(["127.0.0.1", "169.254.169.254"])

        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [entry(next(found), port)])
        async with poster(f"http://rebinding.invalid:{port}/") as made:
            assert (await made.post({}, b"{}")).status == 204
        assert next(found) == "169.254.169.254"
        assert server.received[0].headers["host"] == f"rebinding.invalid:{port}"


async def test_an_operator_may_allow_them() -> None:
    """0.0.0.0 reaches this machine, so what is allowed can be shown."""
    with hook_server() as server:
        async with poster(server.url.replace("127.0.0.1", "0.0.0.0"), any_address=True) as made:
            assert (await made.post({}, b"{}")).status == 204
