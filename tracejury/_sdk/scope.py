"""`agent` and `task`: a part of the program that is an agent's, or a task's, whatever runs in it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

from opentelemetry import context, trace
from opentelemetry.trace import TracerProvider

from .identity import Identity, read, written
from .names import SCOPE

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_INVOKE: Final = "invoke_agent"


class AgentScope:
    """A context manager (`with`, `async with`) and decorator (functions, coroutines, generators of both).

    What is entered is left again in reverse order; a decorated function enters a scope of its own at each call.
    """

    def __init__(self, agent: str, task_id: str, *, span: bool, tracer_provider: TracerProvider | None) -> None:
        self._agent, self._task, self._span, self._provider = agent, task_id, span, tracer_provider
        self._entered: list[ExitStack] = []

    def __enter__(self) -> Identity:
        identity = read().below(self._agent, self._task)
        stack = ExitStack()
        token = context.attach(written(identity))
        stack.callback(context.detach, token)
        if self._span and self._agent:
            tracer = trace.get_tracer(SCOPE, tracer_provider=self._provider)
            stack.enter_context(tracer.start_as_current_span(f"{_INVOKE} {self._agent}", attributes=_marks(identity)))
        self._entered.append(stack)
        return identity

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        self._entered.pop().__exit__(kind, error, trace_back)

    async def __aenter__(self) -> Identity:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace_back)

    def __call__(self, function: F) -> F:
        """The function, each call of it in a scope of its own."""
        return _decorated(function, self._fresh)  # type: ignore[return-value]  # it has the function's signature

    def _fresh(self) -> AgentScope:
        return AgentScope(self._agent, self._task, span=self._span, tracer_provider=self._provider)


def agent(
    name: str, *, task_id: str = "", span: bool = True, tracer_provider: TracerProvider | None = None
) -> AgentScope:
    """A scope whose spans are the agent `name`'s, started by the agent of the scope around it.

    `span`: open a span for the agent (`invoke_agent name`, of the global provider unless told otherwise). With
    `span=False` its name only stands on the spans that others open.
    """
    return AgentScope(name, task_id, span=span, tracer_provider=tracer_provider)


def task(task_id: str) -> AgentScope:
    """A scope whose spans belong to one task, in whichever trace they are."""
    return AgentScope("", task_id, span=False, tracer_provider=None)


def carry(function: Callable[P, T]) -> Callable[P, T]:
    """The function in the context of now, wherever it is called: threads start in an empty one.

    `executor.submit(carry(work), item)`.
    """
    here = context.get_current()

    @functools.wraps(function)
    def carried(*args: P.args, **kwargs: P.kwargs) -> T:
        token = context.attach(here)
        try:
            return function(*args, **kwargs)
        finally:
            context.detach(token)

    return carried


def _marks(identity: Identity) -> dict[str, str]:
    # Source: OpenTelemetry GenAI semantic conventions, "invoke agent".
    return {"gen_ai.operation.name": _INVOKE, "gen_ai.agent.name": identity.agent, **identity.attributes}


def _decorated(function: Callable[..., Any], scope: Callable[[], AgentScope]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def streaming(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with scope():
                async for item in function(*args, **kwargs):
                    yield item

        return streaming
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaiting(*args: Any, **kwargs: Any) -> Any:
            with scope():
                return await function(*args, **kwargs)

        return awaiting
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def yielding(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with scope():
                return (yield from function(*args, **kwargs))

        return yielding

    @functools.wraps(function)
    def calling(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return function(*args, **kwargs)

    return calling
