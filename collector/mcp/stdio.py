"""MCP on stdin and stdout, answered from a running collector's API."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread

from tracejury.collector.api.client import ApiClient

from . import sdk
from .tools import Caller

THREADS: Final = 4
"""Questions that the collector is asked at a time; others wait."""

Answer = TypeVar("Answer")


async def answer_stdio(url: str) -> None:
    """Answer until stdin ends; the key is that of the environment. Raises ConfigError as `ApiClient` and `loaded`."""
    server, limiter = sdk.loaded(), CapacityLimiter(THREADS)
    with ApiClient(url) as client:
        caller = Caller(client)

        async def ask(question: Callable[[Caller], Answer]) -> Answer:
            return await to_thread.run_sync(partial(question, caller), limiter=limiter)

        await server.serve_stdio(ask)
