"""Requests of one client take turns: those that nobody reads keep none, and many pause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from tracejury.collector.mcp import endpoint, sdk
from tracejury.collector.mcp.endpoint import MOST_REFUSED, PAUSES, TURNS, WAITING, McpEndpoint

Sender = Callable[[Message], Coroutine[Any, Any, None]]
DONE: Message = {"type": "http.response.start", "status": 200, "headers": []}
BODY: Message = {"type": "http.request", "body": b"{}", "more_body": False}


@dataclass
class SlowServer:
    """Stands for the SDK: answers after so many seconds."""

    seconds: float = 0.0
    began: list[float] = field(default_factory=list)
    most: int = 0
    now: int = 0

    async def answer_http(self, _ask: object, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer."""
        self.began.append(asyncio.get_running_loop().time())
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds)
        self.now -= 1
        await send(DONE)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SlowServer:
    """In place of the SDK's."""
    made = SlowServer()
    monkeypatch.setattr(sdk, "loaded", lambda: made)
    return made


def asks(served: McpEndpoint, send: Sender, *, gone: bool = False) -> asyncio.Task[None]:
    """A request of the one client, which has gone once it is read, or stays."""
    messages = [BODY]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        if not gone:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "scheme": "http", "headers": headers, "app": None}
    return asyncio.create_task(served(scope, receive, send))


async def statuses_of(served: McpEndpoint, count: int) -> list[int]:
    """How so many requests at once are answered."""
    found: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await asyncio.gather(*(asks(served, send) for _ in range(count)))
    return found


async def test_answers_that_nobody_reads_keep_no_turn(server: SlowServer) -> None:
    """However many there are."""
    served = McpEndpoint()

    sending: asyncio.Queue[None] = asyncio.Queue()

    async def stuck(_message: Message) -> None:
        sending.put_nowait(None)
        await asyncio.Event().wait()

    unread = []
    for _ in range(2 * WAITING):
        unread.append(asks(served, stuck))
        await sending.get()
    assert await statuses_of(served, 1) == [200]
    for task in unread:
        task.cancel()
    assert len(server.began) == 2 * WAITING + 1


async def test_who_has_gone_is_not_answered(server: SlowServer) -> None:
    """Neither is one that is refused waited for."""
    served = McpEndpoint()

    async def send(_message: Message) -> None:
        raise AssertionError("nobody is there")

    await asyncio.gather(*(asks(served, send, gone=True) for _ in range(4 * WAITING)))
    assert server.began == []
    assert await statuses_of(served, 1) == [200]


async def test_a_client_has_few_turns_at_a_time(server: SlowServer) -> None:
    """The more wait, the longer it pauses; too many are refused."""
    server.seconds = 0.02
    statuses = await statuses_of(McpEndpoint(), 2 * WAITING)
    assert (statuses.count(200), statuses.count(429)) == (WAITING, WAITING)
    assert server.most == TURNS
    taken = server.began[-1] - server.began[0]
    assert taken > 0.02 * sum(range(WAITING - TURNS)) / PAUSES


async def test_few_wait_to_be_refused(server: SlowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is refused at once: connections are kept for others."""
    monkeypatch.setattr(endpoint, "REFUSED_AFTER", 60)
    server.seconds = 60
    served = McpEndpoint()

    async def send(_message: Message) -> None:
        """Nobody looks."""

    waiting = [asks(served, send) for _ in range(WAITING + MOST_REFUSED)]
    while not (crowd := served._crowds.get("")) or crowd.refused < MOST_REFUSED:  # noqa: ASYNC110  nothing tells it
        await asyncio.sleep(0)
    assert await statuses_of(served, 1) == [429]
    assert crowd.refused == MOST_REFUSED
    for task in waiting:
        task.cancel()


async def test_one_question_at_a_time_never_pauses(server: SlowServer) -> None:
    """An agent that waits for its answers."""
    served = McpEndpoint()
    for _ in range(5):
        assert await statuses_of(served, 1) == [200]
    assert len(server.began) == 5
    assert served._crowds == {}


async def test_an_answer_without_end_is_given_up(server: SlowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would keep its turn for ever."""
    monkeypatch.setattr(endpoint, "PATIENCE", 0.01)
    server.seconds = 3600
    assert await statuses_of(McpEndpoint(), 1) == [503]
