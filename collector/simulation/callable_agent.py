"""An agent that is a Python callable of this process, synchronous or not."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final

from .talking_agent import ChatMessages, UnansweredError, text_of

_RESPONDS: Final = 5.0
"""Seconds in which the event loop of coroutines does something; one that does not is blocked for good."""


class CallableAgent:
    """Calls `function(messages)` in a daemon thread: one that never returns ends with the process.

    Coroutines all run in one event loop, as their clients hold connections that belong to it.
    """

    def __init__(self, function: Callable[[list[dict[str, str]]], Any]) -> None:
        self._function = function
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    async def answer(self, messages: ChatMessages) -> str:
        """See `TalkingAgent`."""
        given = [dict(message) for message in messages]
        answered: Future[str] = Future()
        work = contextvars.copy_context().run
        threading.Thread(target=work, args=(self._work, given, answered), name="talking-agent", daemon=True).start()
        return await asyncio.wrap_future(answered)

    def _work(self, messages: list[dict[str, str]], answered: Future[str]) -> None:
        """Call the function; `answered` is cancelled meanwhile where nobody waits any longer."""
        try:
            said = self._function(messages)
            if inspect.isawaitable(said):
                task = asyncio.run_coroutine_threadsafe(_awaited(said), self._responding())
                answered.add_done_callback(lambda _: task.cancel())
                said = task.result()
            result = text_of(said)
        except BaseException as error:  # noqa: BLE001  an agent may raise anything, SystemExit too
            failure = error if isinstance(error, Exception) else UnansweredError(f"{type(error).__name__}: {error}")
            with suppress(InvalidStateError):  # cancelled
                answered.set_exception(failure)
        else:
            with suppress(InvalidStateError):
                answered.set_result(result)

    def _responding(self) -> asyncio.AbstractEventLoop:
        """The event loop of coroutines, a new one where a coroutine blocks it."""
        with self._lock:
            if self._loop is not None:
                with suppress(TimeoutError):
                    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result(_RESPONDS)
                    return self._loop
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="talking-agent-loop", daemon=True).start()
            return self._loop


async def _awaited(said: Awaitable[Any]) -> Any:
    return await said
