"""Requests of a model matched with the executions that instrumentation recorded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence

from tracejury.schemas.normalized import Json, NormalizedSpan, ToolRequest

from .names import canonical, same_name
from .normalize.values import as_text

_MOST_PAIRS = 4096  # beyond that, names are compared in their canonical form only


def match_requests(
    requests: Sequence[ToolRequest], executed: Sequence[NormalizedSpan], elsewhere: Collection[int] = ()
) -> tuple[dict[int, NormalizedSpan], list[NormalizedSpan]]:
    """Request index to its execution (a TOOL span), and the executions that nobody asked for.

    By call id, else by name and arguments, else by name, each in order; what is then left over is joined in order if
    there is as much of one as of the other. Two different call ids never match. `elsewhere`: requests that something
    else seems to have executed, so that order alone joins them with nothing.
    """
    if not requests or not executed:
        return {}, list(executed)
    if len(requests) == len(executed) == 1 and not elsewhere:  # most turns: all keys and order say the same
        return ({}, list(executed)) if _differ(requests[0], executed[0]) else ({0: executed[0]}, [])
    left = dict(enumerate(executed))
    matched: dict[int, NormalizedSpan] = {}
    for key in (_by_id, _by_call, _by_name):
        if not left or len(matched) == len(requests):
            break
        _match_by(key, requests, left, matched)
    waiting = [i for i in range(len(requests)) if i not in matched]
    if len(waiting) * len(left) <= _MOST_PAIRS:
        _match_loosely(requests, waiting, left, matched)
    waiting = [i for i in waiting if i not in matched and i not in elsewhere]
    if len(waiting) == len(left) and not any(
        _differ(requests[i], s) for i, s in zip(waiting, left.values(), strict=True)
    ):
        matched.update(zip(waiting, list(left.values()), strict=True))
        left.clear()
    return matched, list(left.values())


_Key = Callable[[str, str, Json], Hashable]


def _by_id(call_id: str, name: str, arguments: Json) -> Hashable:  # noqa: ARG001 - one signature for all keys
    return call_id or None


def _by_call(call_id: str, name: str, arguments: Json) -> Hashable:  # noqa: ARG001 - one signature for all keys
    return (canonical(name), as_text(arguments))


def _by_name(call_id: str, name: str, arguments: Json) -> Hashable:  # noqa: ARG001 - one signature for all keys
    return canonical(name) or None


def _match_by(
    key: _Key, requests: Sequence[ToolRequest], left: dict[int, NormalizedSpan], matched: dict[int, NormalizedSpan]
) -> None:
    buckets: dict[tuple[bool, Hashable], deque[int]] = {}
    for k, span in left.items():
        found = key(span.tool_call_id, span.tool_name, span.tool_arguments)
        if found is not None:
            buckets.setdefault((bool(span.tool_call_id), found), deque()).append(k)
    for i, request in enumerate(requests):
        if i in matched:
            continue
        wanted = key(request.call_id, request.name, request.arguments)
        # An execution that carries a call id is another call's, unless the ids are what is compared.
        with_id = (True,) if key is _by_id else (False,) if request.call_id else (False, True)
        for has_id in with_id:
            if bucket := buckets.get((has_id, wanted)):
                matched[i] = left.pop(bucket.popleft())
                break


def _match_loosely(
    requests: Sequence[ToolRequest],
    waiting: Sequence[int],
    left: dict[int, NormalizedSpan],
    matched: dict[int, NormalizedSpan],
) -> None:
    for i in waiting:
        request = requests[i]
        found = next(
            (k for k, s in left.items() if same_name(request.name, s.tool_name) and not _differ(request, s)), None
        )
        if found is not None:
            matched[i] = left.pop(found)


def _differ(request: ToolRequest, span: NormalizedSpan) -> bool:
    return bool(request.call_id) and bool(span.tool_call_id) and request.call_id != span.tool_call_id
