"""A turn's tool calls: what the model asked for joined with what ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..schemas.normalized import Json, NormalizedSpan, ToolRequest
from ..schemas.trajectory import ToolCall


def join_calls(
    llm: NormalizedSpan | None,
    executed: Sequence[NormalizedSpan],
    sub_runs: Mapping[str, str],
) -> tuple[ToolCall, ...]:
    """Tool calls in order of request, then what ran without one, in order of time.

    A request and an execution are one call by call id, else by name and arguments, else by name alone, in order.
    `executed`: TOOL spans in order of time. `sub_runs`: TOOL span id to the run that it started.
    """
    requests = [r for m in llm.output_messages for r in m.tool_requests] if llm else []
    captured = llm is not None and bool(llm.output_messages or llm.output_text)
    left = list(executed)
    matched = _match(requests, left)
    calls = [_requested(r, matched.get(i), sub_runs) for i, r in enumerate(requests)]
    extra = [_executed(s, None if not captured else False, sub_runs) for s in left]
    return tuple(calls + extra)


def _match(requests: Sequence[ToolRequest], left: list[NormalizedSpan]) -> dict[int, NormalizedSpan]:
    """Request index to execution; executions taken are removed from `left`."""
    matched: dict[int, NormalizedSpan] = {}
    for same in (_same_id, _same_call, _same_name):
        for i, request in enumerate(requests):
            if i in matched:
                continue
            found = next((s for s in left if same(request, s)), None)
            if found is not None:
                matched[i] = found
                left.remove(found)
    return matched


def _same_id(request: ToolRequest, span: NormalizedSpan) -> bool:
    return bool(request.call_id) and request.call_id == span.tool_call_id


def _same_call(request: ToolRequest, span: NormalizedSpan) -> bool:
    return _same_name(request, span) and request.arguments == span.tool_arguments


def _same_name(request: ToolRequest, span: NormalizedSpan) -> bool:
    return request.name == span.tool_name


def _requested(request: ToolRequest, span: NormalizedSpan | None, sub_runs: Mapping[str, str]) -> ToolCall:
    if span is None:
        return ToolCall(request.name, request.arguments, None, True, False, None, request.call_id)
    call = _executed(span, True, sub_runs)
    arguments: Json = call.arguments if call.arguments not in (None, "") else request.arguments
    return replace(call, arguments=arguments, call_id=request.call_id or call.call_id)


def _executed(span: NormalizedSpan, requested: bool | None, sub_runs: Mapping[str, str]) -> ToolCall:
    return ToolCall(
        name=span.tool_name,
        arguments=span.tool_arguments,
        result=span.tool_result,
        requested=requested,
        executed=True,
        error=error_of(span),
        call_id=span.tool_call_id,
        span=span,
        sub_run_id=sub_runs.get(span.raw.span_id, ""),
    )


def error_of(span: NormalizedSpan) -> str | None:
    """The failure's text where the span's status or an exception says that it failed, else None."""
    if not span.is_error:
        return None
    if span.exceptions:
        last = span.exceptions[-1]
        return f"{last.type}: {last.message}" if last.type else last.message
    return span.raw.status_message or span.output_text or "error"
