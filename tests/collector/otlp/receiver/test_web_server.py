"""The server under the API and the pages: what a client may cost before any endpoint sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from unittest.mock import Mock

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tracejury.collector.otlp.receiver.http_config import ConnectionLimits
from tracejury.collector.otlp.receiver.http_protocol import HEAD_BYTES, MOST_PIPELINED, PipelinedFlow
from tracejury.collector.otlp.receiver.web_server import WebServer


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """Of a server that answers every request."""

    async def hello(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    server = WebServer(Starlette(routes=[Route("/", hello)]), "127.0.0.1:0", "test", ConnectionLimits())
    yield await server.start()
    await server.stop(1.0)


async def test_an_endless_head_is_refused(port: int) -> None:
    """It is kept in memory as it comes, so it is bounded; whoever asks properly is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    for _ in range(HEAD_BYTES // 1024 + 1):
        writer.write(b"x: " + b"a" * 1024 + b"\r\n")
        await writer.drain()
    assert (await reader.readline()).startswith(b"HTTP/1.1 400")
    writer.close()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.close()


async def pipelined(port: int, count: int) -> bytes:
    """What so many requests at once on one connection are answered; the last one closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    again = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    writer.write(again * (count - 1) + again[:-2] + b"connection: close\r\n\r\n")
    answers = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return answers


async def test_some_requests_may_wait_for_earlier_ones(port: int) -> None:
    """Each is answered."""
    assert (await pipelined(port, MOST_PIPELINED)).count(b"HTTP/1.1 200") == MOST_PIPELINED


async def test_many_requests_at_once_close_the_connection(port: int) -> None:
    """They would all be kept in memory."""
    answers = await pipelined(port, 1_000)
    assert answers.count(b"HTTP/1.1 400") == 1
    assert answers.count(b"HTTP/1.1 200") <= MOST_PIPELINED


def test_nothing_is_read_while_requests_wait() -> None:
    """Whoever asks for it: an answer that is complete, or an endpoint that watches for the client to leave."""
    transport, waiting = Mock(spec=asyncio.Transport), ["a request"]
    flow = PipelinedFlow(transport, waiting)
    flow.pause_reading()
    flow.resume_reading()
    transport.resume_reading.assert_not_called()
    waiting.clear()
    flow.resume_reading()
    transport.resume_reading.assert_called_once()
