"""Small rebuilt traces written by hand, for tests of detectors: turns in, a `Trace` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracejury.processors.plans import planning_turns
from tracejury.schemas.normalized import ExceptionInfo, Json, Kind, Message, NormalizedSpan, ToolDefinition, ToolRequest
from tracejury.schemas.spans import STATUS_ERROR, STATUS_UNSET, Span
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TraceState, Turn, TurnKind

TRACE_ID = "0" * 31 + "1"


@dataclass(frozen=True)
class Did:
    """A tool call of a turn; `span_id` "" for a call without a span of its own."""

    name: str
    arguments: Json = None
    result: str | None = "done"
    error: str | None = None
    span_id: str = ""
    executed: bool | None = True
    sub_run_id: str = ""
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Said:
    """A turn: what the LLM wrote and called, the messages that it was sent newly, what its step put out."""

    span_id: str
    text: str = ""
    did: Sequence[Did] = ()
    sees: Sequence[str] = ()
    kind: TurnKind = TurnKind.ACT
    step_error: str = ""
    closed: bool = True
    tools: Sequence[ToolDefinition] = ()
    finish_reasons: tuple[str, ...] = ()
    llm_error: str = ""
    observed: str = ""


def raw(span_id: str, name: str, *, error: str = "", start: int = 0) -> Span:
    """A stored span without attributes."""
    status = STATUS_ERROR if error else STATUS_UNSET
    return Span(TRACE_ID, span_id, "", name, start, start + 1, status_code=status, status_message=error)


def tool(name: str, required: Sequence[str] = (), **properties: str) -> ToolDefinition:
    """A tool with a JSON schema; `properties`: name to JSON type."""
    schema = {"type": "object", "properties": {k: {"type": v} for k, v in properties.items()}, "required": [*required]}
    return ToolDefinition(name, f"the tool {name}", schema)


class _Clock:
    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> int:
        self.now += 10
        return self.now


def run(
    run_id: str,
    *turns: Said,
    role: str = "manager",
    goal: str = "Find it.",
    answer: str = "",
    tools: Sequence[ToolDefinition] = (),
    managed: tuple[str, ...] = (),
    parent_id: str = "",
    ended: bool = True,
    max_steps: int | None = None,
    name: str = "agent",
    error: str = "",
) -> AgentRun:
    """An agent run; `ended` False: its own span has not arrived; `error`: the message with which it failed."""
    clock = _Clock()
    built = tuple(_turn(i, said, clock) for i, said in enumerate(turns))
    given: dict[str, ToolDefinition] = {t.name: t for t in tools}
    for said in turns:
        for did in said.did:
            if did.parameters is not None:
                given.setdefault(did.name, ToolDefinition(did.name, "", did.parameters))
    return AgentRun(
        id=run_id,
        name=name,
        role=role,
        span=NormalizedSpan(raw(run_id, f"{name}.run", error=error), Kind.AGENT, "test") if ended else None,
        parent_id=parent_id,
        parent_turn=None,
        goal=goal,
        system_prompt="",
        answer=answer,
        status="unfinished" if not ended else "error" if error else "ok",
        turns=built,
        tools=tuple(given.values()),
        plans=planning_turns(built, means=bool(given or managed)),
        managed_agents=managed,
        max_steps=max_steps,
    )


def _turn(index: int, said: Said, clock: _Clock) -> Turn:
    requests = tuple(ToolRequest(d.name, d.arguments) for d in said.did if d.arguments is not None)
    llm = NormalizedSpan(
        raw(said.span_id, "chat", error=said.llm_error, start=clock.tick()),
        Kind.PLAN if said.kind is TurnKind.PLAN else Kind.LLM,
        "test",
        output_messages=(Message("assistant", said.text, requests),) if said.text or requests else (),
        tools=tuple(said.tools),
        finish_reasons=said.finish_reasons,
    )
    wrappers: tuple[NormalizedSpan, ...] = ()
    if said.step_error or said.observed:
        step = raw(f"{said.span_id}-step", "step", error=said.step_error, start=clock.tick())
        wrappers = (NormalizedSpan(step, Kind.CHAIN, "test", output_text=said.observed),)
    return Turn(
        index=index,
        kind=said.kind,
        llm=llm,
        tool_calls=tuple(_call(d, clock) for d in said.did),
        sub_run_ids=tuple(d.sub_run_id for d in said.did if d.sub_run_id),
        new_messages=tuple(Message("tool", text) for text in said.sees),
        wrappers=wrappers,
        observation=said.observed,
        closed=said.closed,
    )


def _call(did: Did, clock: _Clock) -> ToolCall:
    span = None
    if did.span_id:
        span = NormalizedSpan(
            raw(did.span_id, did.name, error=did.error or "", start=clock.tick()),
            Kind.TOOL,
            "test",
            tool_name=did.name,
            tool_arguments=did.arguments,
            tool_result=did.result if did.error is None else None,
            tool_parameters=did.parameters,
            exceptions=(ExceptionInfo("Error", did.error),) if did.error else (),
        )
    return ToolCall(
        name=did.name,
        arguments=did.arguments,
        result=did.result if did.error is None else None,
        requested=did.arguments is not None,
        executed=did.executed,
        error=did.error,
        span=span,
        sub_run_id=did.sub_run_id,
    )


def trace(*runs: AgentRun, state: TraceState = TraceState.SETTLED, tenant: str = "") -> Trace:
    """A trace of these runs."""
    spans: dict[str, NormalizedSpan] = {}
    for agent_run in runs:
        found = [agent_run.span] if agent_run.span else []
        for turn in agent_run.turns:
            found += [turn.llm] if turn.llm else []
            found += [c.span for c in turn.tool_calls if c.span]
            found += turn.wrappers
        spans |= {s.span_id: s for s in found}
    return Trace(TRACE_ID, tenant, "shop", "", state, tuple(runs), spans, (), ("test",))


def without_content(whole: Trace) -> Trace:
    """The same trace as instrumentation records it with content capture off: names and times only, no failures."""

    def bare(span: NormalizedSpan) -> NormalizedSpan:
        plain = replace(span.raw, status_code=STATUS_UNSET, status_message="")
        return NormalizedSpan(plain, span.kind, span.convention, tool_name=span.tool_name, agent_name=span.agent_name)

    def bare_turn(turn: Turn) -> Turn:
        calls = tuple(
            replace(c, arguments=None, result=None, requested=None, error=None, span=bare(c.span) if c.span else None)
            for c in turn.tool_calls
        )
        llm = bare(turn.llm) if turn.llm else None
        wrappers = tuple(bare(w) for w in turn.wrappers)
        # What a call was for is read from its wording.
        kind = TurnKind.ACT
        return replace(turn, kind=kind, llm=llm, tool_calls=calls, new_messages=(), wrappers=wrappers, observation="")

    runs = [
        replace(
            r,
            goal="",
            answer="",
            tools=(),
            span=bare(r.span) if r.span else None,
            turns=tuple(bare_turn(t) for t in r.turns),
        )
        for r in whole.runs
    ]
    return trace(*runs, state=whole.state, tenant=whole.tenant)
