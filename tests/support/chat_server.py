"""A chat endpoint on loopback for agents that behave badly: it plays bytes, and holds the heads of requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


@dataclass
class ChatServer:
    """`url` is the agent's; `requests`: the headers and the body of each."""

    url: str = ""
    requests: list[tuple[dict[str, str], Any]] = field(default_factory=list)


@asynccontextmanager
async def chat_server(reply: Callable[[], Iterable[bytes]]) -> AsyncIterator[ChatServer]:
    """A server that answers each request with the pieces of `reply`, and then closes the connection."""
    server = ChatServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
        server.requests.append((headers, json.loads(await reader.readexactly(int(headers["content-length"])))))
        try:
            for piece in reply():
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass  # the client has had enough
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        yield server


def completion(content: Any) -> bytes:
    """A reply with this message."""
    return HEAD + json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
