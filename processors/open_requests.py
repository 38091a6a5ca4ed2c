"""Requests of models that no span shows the execution of yet: by these a loose tool's span finds who called it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Json, NormalizedSpan, ToolRequest

from .delegation import addressee, is_handoff
from .names import canonical, same_name
from .normalize.values import as_text

_MOST_OPEN: Final = 64  # requests of one name that are looked at for one span


@dataclass(slots=True)
class OpenRequest:
    """A request of `holder` (a run, or what else asked). `at`: start of its LLM call; `taken`: a span shows it."""

    holder: str
    request: ToolRequest
    at: int
    taken: bool = False


class OpenRequests:
    """Requests in order of time."""

    def __init__(self) -> None:
        self._by_id: defaultdict[str, list[OpenRequest]] = defaultdict(list)
        self._by_name: defaultdict[str, deque[OpenRequest]] = defaultdict(deque)

    def add(self, call: NormalizedSpan, holder: str) -> None:
        """Enter what an LLM call of `holder` asked for; calls come in order of time."""
        for request in call.tool_requests:
            one = OpenRequest(holder, request, call.raw.start)
            self._by_name[_called(request.name, request.arguments)].append(one)
            if request.call_id:
                self._by_id[request.call_id].append(one)

    def with_id(self, span: NormalizedSpan) -> list[OpenRequest]:
        """All requests with the call id of a tool's span."""
        return self._by_id.get(span.tool_call_id, []) if span.tool_call_id else []

    def given(self, span: NormalizedSpan, holder: str) -> str:
        """Close the request of `holder` that a tool's span shows the execution of; returns `holder`."""
        asked = next(self._open(span, holder), None)
        if asked is not None:
            asked.taken = True
        return holder

    def holder_by_content(self, span: NormalizedSpan, fits: Callable[[OpenRequest], bool]) -> str | None:
        """Who asked for a call of this name and arguments, else of this name; None where nobody did.

        "" where several did. The first such request is closed.
        """
        asked = [one for one in self._open(span) if one.at <= span.raw.start and fits(one)]
        arguments = as_text(span.tool_arguments)
        asked = [one for one in asked if as_text(one.request.arguments) == arguments] or asked
        return take(asked) if asked else None

    def _open(self, span: NormalizedSpan, holder: str = "") -> Iterator[OpenRequest]:
        """Requests that the execution may be of: without a span, of its name, of no other call's id.

        `holder`: of this one alone.
        """
        call_id = span.tool_call_id
        named: deque[OpenRequest] | list[OpenRequest]
        if known := self.with_id(span):
            named = known
        else:
            named = self._by_name.get(_called(span.tool_name, span.tool_arguments), deque())
            while named and named[0].taken:
                named.popleft()
        for one in islice(named, _MOST_OPEN):
            if not one.taken and holder in ("", one.holder) and (known or not (call_id and one.request.call_id)):
                yield one


def _called(name: str, arguments: Json) -> str:
    """What is called: a hand-over is one to that agent, for models and spans name it differently."""
    return f"-> {addressee(name, arguments)}" if is_handoff(name, arguments) else canonical(name)


def same_arguments(asked: ToolRequest, span: NormalizedSpan) -> bool:
    """Whether a tool's span has the arguments of a request, perhaps with some that the program added, or tells none."""
    given, told = asked.arguments, span.tool_arguments
    if not told or not given or is_handoff(span.tool_name, told):
        return True
    if isinstance(given, dict) and isinstance(told, dict):
        return all(key in told and told[key] == value for key, value in given.items())
    return as_text(given) == as_text(told)


def take(asked: list[OpenRequest]) -> str:
    """The holder of these requests, if it is one; the first is closed."""
    if not asked or any(one.holder != asked[0].holder for one in asked):
        return ""
    asked[0].taken = True
    return asked[0].holder


def free_of_name(asked: list[OpenRequest], span: NormalizedSpan) -> list[OpenRequest]:
    """Those of the requests that have no span yet and are of the tool."""
    return [one for one in asked if not one.taken and same_name(one.request.name, span.tool_name)]
