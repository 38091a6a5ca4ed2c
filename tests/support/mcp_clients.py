"""The SDK's client of MCP, over HTTP with a key and over stdio as an agent starts it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from processes import COMMAND


@asynccontextmanager
async def over_http(url: str, token: str = "") -> AsyncIterator[Client]:
    """A client of the collector at `url`, with that key."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(url: str, token: str = "") -> AsyncIterator[Client]:
    """A client of `tracejury mcp`, which asks the collector at `url`."""
    env = {"TRACEJURY_KEY": token} if token else None
    arguments = [*COMMAND[1:], "mcp", "--url", url]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments, env=env))) as client:
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    """The structure of an answer."""
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, text_of(found)
    return found.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The line of an answer that is an error."""
    found = await client.call_tool(tool, arguments)
    assert found.is_error, found
    return text_of(found)


def text_of(found: CallToolResult) -> str:
    """The text of an answer."""
    (content,) = found.content
    assert isinstance(content, TextContent)
    return content.text
