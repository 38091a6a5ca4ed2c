"""Agent runs from their grouped spans: goal, turns, answer, tools, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.trajectory import AgentRun, KnownRun, KnownRuns, Turn, TurnKind

from .calls import CallContext, join_calls
from .calls_as_text import read_text_calls
from .novelty import new_messages
from .phases import kinds_of
from .plans import planning_turns
from .run_spans import RunSpans, TurnSpans
from .sent_results import sent_results
from .span_tree import time_key
from .task import answer_of, ends_with_answer, goal_from_calls, with_closing_call

_make_run: Final = maker(AgentRun)
_make_turn: Final = maker(Turn)


def build_runs(
    grouped: Sequence[RunSpans], known: KnownRuns, *, is_open: bool, shows_tools: bool
) -> tuple[AgentRun, ...]:
    """All runs in the order of their spans, which is parents first; `is_open`: the trace may go on.

    `shows_tools`: see `CallContext`. A run that is made of the same, with unchanged runs below it, is the one that is
    known; `known` is brought up to date.
    """
    changed: set[str] = set()
    # Sub-agents first: a manager's calls hold what its sub-agents answered.
    for spans in reversed(grouped):
        before, goes_on = known.get(spans.id), is_open and (spans.status == "unfinished" or spans.awaits)
        made_of = (spans, goes_on, shows_tools)
        below = {run: known[run].run for turn in spans.turns for run in turn.agents}
        if before is None or before.made_of != made_of or not changed.isdisjoint(below):
            run = _build(spans, below, goes_on=goes_on, shows_tools=shows_tools)
            known[spans.id] = KnownRun(made_of, run)
            changed.add(spans.id)
    for gone in known.keys() - {spans.id for spans in grouped}:
        del known[gone]
    return tuple(known[spans.id].run for spans in grouped)


def _build(spans: RunSpans, below: Mapping[str, AgentRun], *, goes_on: bool, shows_tools: bool) -> AgentRun:
    """The run; `below`: those that it started, `goes_on`: its last turn may not be over."""
    turns = _turns(spans, below, goes_on=goes_on, shows_tools=shows_tools)
    agent, status = spans.span, spans.status
    tools, managed = _tools(turns, agent), agent.managed_agents if agent else ()
    acting = next((t for t in turns if t.kind is TurnKind.ACT and t.llm), None)
    if status == "unfinished" and not goes_on and spans.last_span is None and ends_with_answer(turns):
        status, turns = "ok", with_closing_call(turns)
    answer = answer_of(spans.last_span, turns)
    if status == "ok" and not answer and spans.turns and any(s.is_error for s in spans.turns[-1].steps):
        status = "error"  # not all agents' spans tell of the step in which they failed
    return _make_run(
        id=spans.id,
        name=spans.name,
        role="sub-agent" if spans.above else "manager",
        span=agent,
        parent_id=spans.above,
        parent_turn=spans.parent_turn,
        goal=spans.goal or goal_from_calls(turns) or (agent.input_text if agent else "") or spans.asked,
        system_prompt=_system_prompt(acting),
        answer=answer,
        status=status,
        turns=turns,
        tools=tools,
        plans=planning_turns(turns, means=bool(tools or managed)),
        managed_agents=managed,
        max_steps=agent.max_steps if agent else None,
        inferred=spans.inferred,
        beside=spans.beside,
    )


def _turns(run: RunSpans, below: Mapping[str, AgentRun], *, goes_on: bool, shows_tools: bool) -> tuple[Turn, ...]:
    new = new_messages(run.turns)
    written = read_text_calls(run, new, below)
    results = sent_results(run.turns, new, shows_tools=shows_tools)
    finished = run.status != "unfinished" and not goes_on
    # A turn is over once the model is called again; where its calls are not recorded, once something else is done.
    last_call = max((i for i, t in enumerate(run.turns) if t.llm and not t.inner), default=len(run.turns) - 1)
    turns: list[Turn] = []
    for index, (spans, kind) in enumerate(zip(run.turns, kinds_of(run.turns, run.goal), strict=True)):
        over = finished or index < last_call
        calls = written.get(index, ())
        if spans.calls or spans.agents or (spans.llm and spans.llm.tool_requests):
            claimed = {call.sub_run_id for call in calls}
            context = CallContext(
                results=results[index],
                sub_runs={agent: below[agent] for agent in spans.agents if agent not in claimed},
                started_by=spans.started_by,
                shows_tools=shows_tools,
                over=over,
            )
            calls = (*calls, *join_calls(spans, context))
        turns.append(
            _make_turn(
                index=index,
                kind=TurnKind.ACT if index in written else kind,
                llm=spans.llm,
                tool_calls=calls,
                sub_run_ids=tuple(spans.agents),
                new_messages=new[index],
                wrappers=tuple(sorted(spans.wrappers, key=time_key)) if spans.wrappers else (),
                observation=_observation(spans),
                closed=over or not goes_on,
            )
        )
    return with_closing_call(turns) if finished else tuple(turns)


def _observation(spans: TurnSpans) -> str:
    """The outcome that the outermost step around the LLM call records; a state that ends with the reply is none."""
    for step in spans.steps:
        if step.output_text and not step.output_messages:
            return step.output_text
    return ""


def _system_prompt(turn: Turn | None) -> str:
    messages: tuple[Message, ...] = turn.llm.input_messages if turn and turn.llm else ()
    return "\n".join(m.text for m in messages if m.role in ("system", "developer"))


def _tools(turns: Sequence[Turn], agent: NormalizedSpan | None) -> tuple[ToolDefinition, ...]:
    """Of the calls, of the tools' own spans, and what the agent's span lists besides."""
    found: dict[str, ToolDefinition] = {}
    for turn in turns:
        for tool in turn.llm.tools if turn.llm and turn.kind is not TurnKind.INNER else ():
            found.setdefault(tool.name, tool)
        for call in turn.tool_calls:
            span = call.span
            if span is not None and span.tool_parameters is not None:
                found.setdefault(call.name, ToolDefinition(call.name, span.tool_description, span.tool_parameters))
    for tool in agent.tools if agent else ():
        found.setdefault(tool.name, tool)
    return tuple(found.values())
