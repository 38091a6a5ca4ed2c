"""The server under the API and the pages: what a client may cost before any endpoint sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tracejury.collector.otlp.receiver.http_config import ConnectionLimits
from tracejury.collector.otlp.receiver.http_protocol import HEAD_BYTES
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
