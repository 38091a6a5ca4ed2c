"""A turn's tool calls: what the model asked for joined with what ran.

`executed` is true if a span, a sub-agent's run or a result shows the execution. It is false if a finished turn of a
trace with tool spans shows none, or only the text of a failure, and if the call failed with an error about its
arguments that the tool's known parameters do not accept. Otherwise it is unknown. A failure is taken from the status,
from the result or attributes, or from the text in the next call's messages. Of two spans of one call the worse outcome
counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Json, NormalizedSpan, ToolRequest
from tracejury.schemas.trajectory import AgentRun, ToolCall

from .code import arguments_of
from .delegation import addressee
from .matching import match_requests
from .names import canonical, same_name
from .normalize.values import as_text
from .refusals import refused
from .run_spans import TurnSpans
from .sent_results import SentResults, failure_of


@dataclass(frozen=True, slots=True)
class CallContext:
    """The surroundings of a turn.

    `results`: those that later calls of the run were sent. `sub_runs`: runs started in the turn by
    id, in order; `started_by`: TOOL span id, or call id of a request, to the run that it started. `shows_tools`:
    executed tools have spans in this trace. `over`: no span of the turn is expected any more.
    """

    results: SentResults = field(default_factory=SentResults)
    sub_runs: Mapping[str, AgentRun] = field(default_factory=dict)
    started_by: Mapping[str, str] = field(default_factory=dict)
    shows_tools: bool = True
    over: bool = True


_make: Final = maker(ToolCall)
_NO_REQUEST: Final = ToolRequest("", None)
"""Stands for the request for what ran without one."""


def join_calls(turn: TurnSpans, context: CallContext) -> tuple[ToolCall, ...]:
    """Tool calls in order of request, then what ran without one, in order of time.

    A request whose name is that of an agent run started in the turn was executed by that run.
    """
    requests = turn.llm.tool_requests if turn.llm else ()
    if context.sub_runs and turn.calls and (beside := _beside(turn.calls, context)):
        context = replace(context, started_by=beside | dict(context.started_by))
    matched, left = match_requests(requests, turn.calls, _addressing(requests, context))
    delegated, free = _delegated(requests, matched, context)
    calls = []
    for i, request in enumerate(requests):
        span = matched.get(i)
        if span is not None:
            calls.append(_executed(span, turn, context, request, i))
        elif (run := delegated.get(i)) is not None:
            calls.append(_delegation(run, request))
        else:
            calls.append(_unseen(request, turn, context, i))
    written = _model_text(turn) if left or free else None
    calls += [_executed(s, turn, context, requested=_asked_in(written, s.tool_name)) for s in left]
    return (*_with_step_failure(calls, turn), *_written_calls(free, written))


def _addressing(requests: Sequence[ToolRequest], context: CallContext) -> set[int]:
    """The requests that name an agent run started in the turn, without a tool span of its own."""
    if not context.sub_runs:
        return set()
    vouched = set(context.started_by.values())
    free = {canonical(run.name) for key, run in context.sub_runs.items() if key not in vouched}
    return {i for i, r in enumerate(requests) if addressee(r.name, r.arguments) in free}


def _beside(calls: Sequence[NormalizedSpan], context: CallContext) -> dict[str, str]:
    """TOOL span id to the run beside it in the turn that its name or arguments name."""
    named: dict[str, deque[str]] = {}
    vouched = set(context.started_by.values())
    for key, run in ((k, r) for k, r in context.sub_runs.items() if k not in vouched):
        named.setdefault(canonical(run.name), deque()).append(key)
    found = {}
    for span in calls:
        waiting = named.get(addressee(span.tool_name, span.tool_arguments))
        if waiting and span.raw.span_id not in context.started_by:
            found[span.raw.span_id] = waiting.popleft()
    return found


def _delegated(
    requests: Sequence[ToolRequest], matched: Mapping[int, NormalizedSpan], context: CallContext
) -> tuple[dict[int, AgentRun], list[AgentRun]]:
    """Request index to the run that executed it without a TOOL span; and runs that nothing asked for by a request."""
    if not context.sub_runs:
        return {}, []
    asked = {r.call_id for r in requests}
    below_tools = {context.started_by.get(s.raw.span_id) for s in matched.values()}
    below_tools |= {context.started_by.get(requests[i].call_id) for i in matched if requests[i].call_id}
    below_tools |= {run for key, run in context.started_by.items() if key not in asked}
    free = {k: run for k, run in context.sub_runs.items() if k not in below_tools}
    named: dict[str, deque[str]] = {}
    for k, run in free.items():
        named.setdefault(canonical(run.name), deque()).append(k)
    found: dict[int, AgentRun] = {}
    for i, request in enumerate(requests):
        if i in matched:
            continue
        key = context.started_by.get(request.call_id, "") if request.call_id else ""
        if key not in free:
            key = _first_left(named.get(addressee(request.name, request.arguments)), free)
        if key:
            found[i] = free.pop(key)
    return found, list(free.values())


def _first_left(keys: deque[str] | None, free: Mapping[str, AgentRun]) -> str:
    """The first of `keys` that is still free, "" without one; drops those that are not."""
    while keys and keys[0] not in free:
        keys.popleft()
    return keys[0] if keys else ""


def _executed(
    span: NormalizedSpan,
    turn: TurnSpans,
    context: CallContext,
    request: ToolRequest = _NO_REQUEST,
    position: int = -1,
    *,
    requested: bool | None = True,
) -> ToolCall:
    """A call that has a span, and the request for it, if any, at `position` among the turn's."""
    asked, started_by = request.arguments, context.started_by
    twin = turn.twins.get(span.raw.span_id)
    result, arguments, call_id = span.tool_result, span.tool_arguments, span.tool_call_id
    if twin is not None:
        result = twin.tool_result if result is None else result
        arguments = twin.tool_arguments if arguments is None else arguments
        call_id = call_id or twin.tool_call_id
    error = error_of(span) or (error_of(twin) if twin else None)
    given = asked if isinstance(asked, Mapping) else arguments  # some record a lone argument without its name
    sent = context.results.of(call_id, position)
    told = sent.text if sent is not None else ""
    if result is None and sent is not None and told:
        result = told
        error = error or failure_of(sent) or None
    elif sent is not None and sent.failed:
        error = error or failure_of(sent)
    sub_run = started_by.get(span.raw.span_id) or (started_by.get(request.call_id) if request.call_id else "")
    return _make(
        name=request.name or span.tool_name,
        arguments=arguments if request is _NO_REQUEST else _fuller(arguments, asked),
        result=result,
        requested=requested,
        executed=None
        if span.paused and not result
        else not (error and _refused(turn, span.tool_name, given, f"{error}\n{told}", span.tool_parameters)),
        error=error,
        call_id=request.call_id or call_id,
        span=span,
        sub_run_id=sub_run or "",
    )


def _fuller(recorded: Json, requested: Json) -> Json:
    """Arguments as the span records them, unless it has none, or less or more than the request names.

    Some write a lone string argument bare, and of a hand-off who made it; some add what the framework passes. Arguments
    that are no JSON stay as the model wrote them, also where something else was passed on.
    """
    if recorded in (None, "") or _is_broken(requested, recorded):
        return {} if requested == "" else requested
    if not isinstance(requested, Mapping):
        return {} if requested == "" and not isinstance(recorded, Mapping) else recorded
    if not isinstance(recorded, Mapping) or (requested and requested.items() <= recorded.items()):
        return requested
    return recorded


def _is_broken(requested: Json, recorded: Json) -> bool:
    """Whether the model wrote an object with such arguments that is no JSON, of which its framework made another.

    Not where the text is only cut short: so it may have been for the record.
    """
    if not isinstance(recorded, Mapping) or not isinstance(requested, str) or requested.lstrip()[:1] != "{":
        return False
    written, whole = ("".join(text.split()) for text in (requested, as_text(dict(recorded))))
    named = any(f'"{name}"' in requested for name in recorded)
    return named and not whole.startswith(written.rstrip('."\u2026'))


def _delegation(run: AgentRun, request: ToolRequest, *, requested: bool | None = True) -> ToolCall:
    """A call that an agent run executed, as far as the run itself and the request show it."""
    return _make(
        name=request.name,
        arguments=request.arguments,
        result=run.answer or _told(run, request.call_id),
        requested=requested,
        executed=True,
        error=error_of(run.span) if run.span else None,
        call_id=request.call_id,
        sub_run_id=run.id,
    )


def _told(run: AgentRun, call_id: str) -> str | None:
    """The result of the hand-off that started a run, as the conversation that it was handed tells it."""
    first = next((t.new_messages for t in run.turns if t.llm is not None), ())
    return next((m.text for m in first if call_id and m.tool_call_id == call_id), None)


def _unseen(request: ToolRequest, turn: TurnSpans, context: CallContext, position: int) -> ToolCall:
    """A request without an execution.

    A result that the model was sent shows that it ran, or failed: where this trace shows tools that run, before it
    ran. Without one it did not run, if this trace shows tools that run and the turn is over.
    """
    sent = context.results.of(request.call_id, position)
    failure = failure_of(sent) if sent is not None else ""
    executed: bool | None = None
    if sent is not None:
        executed = not (failure and (context.shows_tools or _refused(turn, request.name, request.arguments, failure)))
    elif context.shows_tools and context.over:
        executed = False
    return _make(
        name=request.name,
        arguments={} if request.arguments == "" else request.arguments,
        result=sent.text if sent is not None else None,
        requested=True,
        executed=executed,
        error=failure or None,
        call_id=request.call_id,
    )


def _refused(
    turn: TurnSpans, name: str, arguments: Json, complaint: str, parameters: Mapping[str, Any] | None = None
) -> bool:
    """Whether a failed call never ran for its arguments, by the parameters that the model or the span was given."""
    given = turn.llm.tools if turn.llm else ()
    schema = parameters or next((t.parameters for t in given if same_name(t.name, name)), None)
    return refused(complaint, arguments, schema)


def _written_calls(runs: Sequence[AgentRun], written: str | None) -> Iterator[ToolCall]:
    """Calls of runs that no request asked for: a code agent's code does, with what arguments it says."""
    made: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        if run.name not in made:
            made[run.name] = arguments_of(written, run.name)[::-1] if written and run.name in written else []
        arguments = made[run.name].pop() if made[run.name] else None
        yield _delegation(run, ToolRequest(run.name, arguments), requested=_asked_in(written, run.name))


def _model_text(turn: TurnSpans) -> str | None:
    """The model's text, None where it was not recorded."""
    llm = turn.llm
    return llm.output if llm is not None and (llm.output_messages or llm.output_text) else None


def _asked_in(written: str | None, name: str) -> bool | None:
    """Whether the model asked for what ran in other words than a request: code agents do in their code."""
    return None if written is None else bool(name) and name in written


def _with_step_failure(calls: list[ToolCall], turn: TurnSpans) -> list[ToolCall]:
    """A step that failed though none of its calls did failed at the first one that did not run."""
    at = next((i for i, c in enumerate(calls) if c.executed is False), None) if turn.steps else None
    if at is None or any(c.error for c in calls):
        return calls
    error = next((e for s in turn.steps if (e := error_of(s))), None)
    return calls if error is None else [*calls[:at], replace(calls[at], error=error), *calls[at + 1 :]]


def error_of(span: NormalizedSpan) -> str | None:
    """The failure's text where the span says that it failed, else None."""
    return span.error_text or "error" if span.is_error else None
