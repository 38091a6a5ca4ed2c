"""Clients that never finish their requests, beside one that does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from otlp_clients import Client
from otlp_parts import RecordingSink, span, traces
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tracejury.collector.otlp.receiver.http_config import ConnectionLimits, HttpConfig
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake, IntakeConfig
from tracejury.collector.otlp.receiver.web_server import WebServer

SOON = 0.05
HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Streams]:
    """One connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def drip(port: int, first: bytes, again: bytes) -> bytes:
    """Send `first`, then `again` as long as the server listens; returns what it answered."""
    answer = bytearray()

    async def listen(reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):  # the server may close while something is on its way to it
            while piece := await reader.read(4096):
                answer.extend(piece)

    async with asyncio.timeout(10), connected(port) as (reader, writer):
        writer.write(first)
        listening = asyncio.create_task(listen(reader))
        with suppress(ConnectionError):
            while not listening.done():
                writer.write(again)
                await asyncio.wait([listening], timeout=SOON / 10)
        await listening
    return bytes(answer)


@asynccontextmanager
async def receiving(intake: Intake, **config: float) -> AsyncIterator[int]:
    """The port of an OTLP/HTTP receiver."""
    receiver = HttpReceiver(HttpConfig.model_validate({"endpoint": "127.0.0.1:0"} | config), intake)
    yield await receiver.start()
    await receiver.stop(1)


@asynccontextmanager
async def web(limits: ConnectionLimits) -> AsyncIterator[int]:
    """The port of a server as the API has it: /stream answers slowly, / says what it was sent."""

    async def echo(request: Request) -> Response:
        return PlainTextResponse(await request.body())

    async def stream(_request: Request) -> Response:
        async def lines() -> AsyncIterator[str]:
            for number in range(6):
                yield f"{number}\n"
                await asyncio.sleep(SOON)

        return StreamingResponse(lines())

    app = Starlette(routes=[Route("/", echo, methods=["GET", "POST"]), Route("/stream", stream)])
    server = WebServer(app, "127.0.0.1:0", "test", limits)
    yield await server.start()
    await server.stop(1)


@pytest.mark.parametrize(
    ("first", "again", "answer"),
    [
        (b"", b"", b""),
        (b"POST /v1/traces HTTP/1.1\r\nx: ", b"a", b"HTTP/1.1 408"),
        (b"", b"\r\n", b"HTTP/1.1 408"),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", b"\r\n", b"HTTP/1.1 "),
    ],
    ids=["silence", "a head", "empty lines", "after a request"],
)
async def test_a_head_that_never_ends_is_given_up(intake: Intake, first: bytes, again: bytes, answer: bytes) -> None:
    """However it drips, on both servers."""
    async with receiving(intake, head_seconds=SOON) as port:
        assert (await drip(port, first, again)).startswith(answer)
    async with web(ConnectionLimits(head_seconds=SOON)) as port:
        assert (await drip(port, first, again)).startswith(answer)


@pytest.mark.parametrize("again", [b"", b"x", b"1\r\nx\r\n"])
async def test_a_body_that_never_ends_is_given_up(again: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Also where the application waits for it; nothing is logged that a client could repeat at will."""
    chunked = b"transfer-encoding: chunked" if again.startswith(b"1") else b"content-length: 60000"
    async with web(ConnectionLimits(read_seconds=SOON)) as port:
        answer = await drip(port, b"POST / HTTP/1.1\r\nhost: localhost\r\n" + chunked + b"\r\n\r\n", again)
    assert answer.startswith(b"HTTP/1.1 408")
    assert caplog.records == []


async def test_endless_trailers_are_given_up() -> None:
    """They are no part of a body, and bounded like a head."""
    async with web(ConnectionLimits(read_seconds=60)) as port:
        begin = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
        assert await drip(port, begin, b"x: " + b"a" * 8192 + b"\r\n") == b""


async def test_answers_and_idle_connections_are_not_cut() -> None:
    """A live stream may last, and whoever keeps its connection may ask again later."""
    async with web(ConnectionLimits(head_seconds=SOON, read_seconds=SOON)) as port, connected(port) as (reader, writer):
        for _ in range(2):
            writer.write(b"GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b"5\n" in await reader.readuntil(b"\r\n0\r\n\r\n")
            await asyncio.sleep(2 * SOON)


async def test_a_slow_body_is_refused_retryably(intake: Intake) -> None:
    """Each byte gains some time, but not enough; the connection ends, though the client goes on."""
    bounds = {"slow_seconds": SOON, "read_seconds": 4 * SOON, "min_bytes_per_second": 10**6}
    async with receiving(intake, **bounds) as port:
        answer = (await drip(port, HEAD, b" ")).lower()
    assert answer.startswith(b"http/1.1 503")
    assert b"retry-after: 1" in answer
    assert (intake.inflight.requests, intake.inflight.bytes) == (0, 0)


async def test_a_body_of_the_least_rate_is_taken(intake: Intake, sink: RecordingSink) -> None:
    """It may take longer than the grace it has at first."""
    body = Client("json", 0).body(traces(span()))
    head = HEAD.replace(b"999", str(len(body)).encode())
    async with (
        receiving(intake, slow_seconds=4 * SOON, min_bytes_per_second=10) as port,
        connected(port) as (reader, writer),
    ):
        writer.write(head)
        for at in range(0, len(body), len(body) // 10):
            writer.write(body[at : at + len(body) // 10])
            await asyncio.sleep(SOON)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert len(sink.spans) == 1


@pytest.mark.parametrize("part", [b"", b"{"], ids=["heads", "first bytes"])
async def test_unfinished_bodies_keep_nobody_out(sink: RecordingSink, part: bytes) -> None:
    """Far more than may be in flight; heads cost nothing, and of begun bodies the oldest give way."""
    intake = Intake(sink, IntakeConfig(inflight_requests=8))
    async with receiving(intake) as port, AsyncExitStack() as stack:
        open_ones = [await stack.enter_async_context(connected(port)) for _ in range(20)]
        for _, writer in open_ones:
            writer.write(HEAD + part)
        for protocol in ("json", "http"):
            assert (await Client(protocol, port).send(traces(span()))).ok
        if part:
            head = (await open_ones[0][0].readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 503")
            assert b"retry-after: 1" in head
    assert len(sink.spans) == 2
    intake.close()


async def test_open_connections_keep_nobody_out(intake: Intake, caplog: pytest.LogCaptureFixture) -> None:
    """Those that wait longest without a request are closed, with one line in the log."""
    async with receiving(intake, connections=5) as port, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(connected(port)) for _ in range(20)]
        assert (await Client("http", port).send(traces(span()))).ok
        with suppress(ConnectionError):
            assert await silent[0][0].read() == b""
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    (line,) = lines
    assert line.startswith("otlp-http: more than 5 connections are open (setting `connections`): those that wait")
