"""`/mcp`: MCP over streamable HTTP, with the keys and the project of the API.

A client has few questions in flight; more wait, and too many are refused, so that one that floods delays nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import httpx
from anyio import CapacityLimiter, sleep, to_thread
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tracejury.collector.api.answers import problem
from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.guard import MCP
from tracejury.schemas.errors import ConfigError

from . import sdk
from .in_process import OwnApi
from .tools import Caller

THREADS: Final = 4
"""Questions of all clients at a time."""
OF_CLIENT: Final = 2
"""Questions of one client at a time."""
WAITING: Final = 16
"""Requests of one client, with those that wait."""
REFUSED_AFTER: Final = 0.25
"""Seconds before one too many is refused: a client that asks again at once would cost as much as one that is served."""

Answer = TypeVar("Answer")


def add_mcp(app: FastAPI) -> None:
    """`POST /mcp`."""
    app.router.routes.append(Route(MCP, endpoint=McpEndpoint(), methods=["POST"], include_in_schema=False))


@dataclass(slots=True)
class _Crowd:
    """The requests of one client."""

    held: int = 0
    asking: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(OF_CLIENT))


class McpEndpoint:
    """An ASGI application for requests that were admitted; clients are told apart by key, else by address."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(THREADS)
        self._crowds: dict[str, _Crowd] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse: 429 where the client has too many requests, 501 without the SDK."""
        api = OwnApi(scope)
        client = api.key.id or (scope["client"][0] if scope.get("client") else "")
        crowd = self._crowds.setdefault(client, _Crowd())
        if crowd.held >= WAITING:
            await sleep(REFUSED_AFTER)
            busy = f"{WAITING} requests of this client wait: send the next one once they are answered"
            await problem(429, busy, {"Retry-After": "1"})(scope, receive, send)
            return
        crowd.held += 1
        try:
            await self._answer(api, crowd, scope, receive, send)
        finally:
            crowd.held -= 1
            if not crowd.held:
                self._crowds.pop(client, None)

    async def _answer(self, api: OwnApi, crowd: _Crowd, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            server = await to_thread.run_sync(sdk.loaded, limiter=self._threads)
        except ConfigError as error:
            await problem(501, f"this collector has no MCP: {error}")(scope, receive, send)
            return

        async def ask(question: Callable[[Caller], Answer]) -> Answer:
            async with crowd.asking:
                return await to_thread.run_sync(partial(_asked, api, _address(scope), question), limiter=self._threads)

        await server.answer_http(ask, scope, receive, send)


def _asked(api: OwnApi, url: str, question: Callable[[Caller], Answer]) -> Answer:
    with ApiClient(url, http=httpx.Client(base_url=url, transport=api, trust_env=False)) as client:
        return question(Caller(client, api.key.name))


def _address(scope: Scope) -> str:
    """Where the client found us: addresses of pages begin with it."""
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "localhost")
    return f"{scope['scheme']}://{host}"
