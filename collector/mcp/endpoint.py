"""`/mcp`: MCP over streamable HTTP, with the keys and the project of the API.

Requests of a client take turns; more wait, too many are refused, and one that has many waiting pauses between turns, so
that one that floods delays nobody else. A request is read before its turn and answered after it: a client that does
not send or read keeps no turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import httpx
from anyio import CapacityLimiter, current_time, fail_after, move_on_after, sleep_until, to_thread
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from tracejury.collector.api.answers import problem
from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.guard import again, whole
from tracejury.schemas.errors import ConfigError

from . import sdk
from .in_process import OwnApi
from .tools import Caller

THREADS: Final = 4
"""Questions of all clients at a time."""
TURNS: Final = 2
"""Requests of one client that are answered at a time."""
PAUSES: Final = 4
"""A client pauses after a turn as long as the turn took, times the requests that wait, by this."""
WAITING: Final = 16
"""Requests of one client, with those that wait."""
REFUSED_A_SECOND: Final = 20
"""Requests of one client: one that asks again at once would cost as much as one that is served."""
REFUSED_AFTER: Final = 0.25
"""Seconds at least before one too many is refused."""
MOST_REFUSED: Final = 64
"""Requests of one client that wait to be refused: each keeps a connection, and there are so many for everybody."""
PATIENCE: Final = 60.0
"""Seconds that answering may take."""

Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Crowd:
    """The requests of one client. `pauses_until`: the time of the event loop before which no turn begins."""

    held: int = 0
    refused: int = 0
    pauses_until: float = 0.0
    turns: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(TURNS))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A turn, and a pause for the client after it: see `PAUSES`."""
        async with self.turns:
            await sleep_until(self.pauses_until)
            began = current_time()
            yield
            now = current_time()
            waiting = self.held - self.turns.borrowed_tokens
            self.pauses_until = max(now, self.pauses_until) + (now - began) * waiting / PAUSES


class McpEndpoint:
    """An ASGI application for requests that were admitted; clients are told apart by key, else by address."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(THREADS)
        self._crowds: dict[str, _Crowd] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse: 429 where the client has too many requests, 501 without the SDK."""
        body = await whole(receive)
        if body is None:
            return
        api = OwnApi(scope)
        client = api.key.id or (scope["client"][0] if scope.get("client") else "")
        crowd = self._crowds.setdefault(client, _Crowd())
        if crowd.held >= WAITING:
            if await _refused(crowd, receive):
                return
            busy = f"{WAITING} requests of this client wait: send the next one once they are answered"
            await problem(429, busy, {"Retry-After": "1"})(scope, receive, send)
            return
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        crowd.held += 1
        try:
            async with crowd.turn():
                if not await Request(scope, receive).is_disconnected():
                    await self._answer(api, scope, again(body, receive), keep)
        finally:
            crowd.held -= 1
            if not crowd.held:
                self._crowds.pop(client, None)
        for message in answer:
            await send(message)

    async def _answer(self, api: OwnApi, scope: Scope, receive: Receive, send: Send) -> None:
        async def ask(question: Callable[[Caller], Answer]) -> Answer:
            return await to_thread.run_sync(partial(_asked, api, url, question), limiter=self._threads)

        try:
            url = _address(scope)
            server = await to_thread.run_sync(sdk.loaded, limiter=self._threads)
            with fail_after(PATIENCE):
                await server.answer_http(ask, scope, receive, send)
        except httpx.InvalidURL as error:
            await problem(400, f"the header Host is no address: {error}")(scope, receive, send)
        except ConfigError as error:
            await problem(501, f"this collector has no MCP: {error}")(scope, receive, send)
        except TimeoutError:
            await problem(503, f"no answer within {PATIENCE:.0f} s: ask for less")(scope, receive, send)


async def _refused(crowd: _Crowd, receive: Receive) -> bool:
    """Wait: the more are refused, the longer, up to `MOST_REFUSED`. Whether the client has gone meanwhile."""
    if crowd.refused >= MOST_REFUSED:
        return False
    crowd.refused += 1
    try:
        with move_on_after(max(REFUSED_AFTER, crowd.refused / REFUSED_A_SECOND)):
            return await whole(receive) is None
        return False
    finally:
        crowd.refused -= 1


def _asked(api: OwnApi, url: str, question: Callable[[Caller], Answer]) -> Answer:
    with ApiClient(url, http=httpx.Client(base_url=url, transport=api, trust_env=False)) as client:
        return question(Caller(client, api.key.name))


def _address(scope: Scope) -> str:
    """Where the client found us: addresses of pages begin with it. Raises InvalidURL."""
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "localhost")
    return str(httpx.URL(f"{scope['scheme']}://{host}"))
