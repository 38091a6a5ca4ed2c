"""Owned spans to agent runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..schemas.normalized import Kind, Message, NormalizedSpan, ToolDefinition
from ..schemas.trajectory import AgentRun, TraceState, Turn, TurnKind
from .calls import join_calls
from .novelty import Novelty
from .ownership import Ownership
from .phases import phase
from .span_tree import SpanTree, time_key
from .task import answer_of, goal_of
from .turns import TurnSpans, group_turns


def build_runs(tree: SpanTree, ownership: Ownership, state: TraceState) -> tuple[AgentRun, ...]:
    """All runs, in order of start, each manager before its sub-agents."""
    own: dict[str, list[NormalizedSpan]] = {run: [] for run in ownership.runs}
    started: dict[str, list[NormalizedSpan]] = {run: [] for run in ownership.runs}
    for span in tree.order:
        run = ownership.owner[span.raw.span_id]
        if run == span.raw.span_id:
            if above := ownership.runs[run]:
                started[above].append(span)
        elif run:
            own[run].append(span)
    runs: dict[str, AgentRun] = {}
    for run_id, above in ownership.runs.items():
        turns = group_turns(run_id, own[run_id], started[run_id], tree)
        runs[run_id] = _build(run_id, runs.get(above), turns, tree, state)
    return tuple(runs.values())


def _build(
    run_id: str, above: AgentRun | None, turns: Sequence[TurnSpans], tree: SpanTree, state: TraceState
) -> AgentRun:
    span = tree.spans.get(run_id)
    goal = goal_of(span, turns)
    built = _turns(turns, goal, tree, closed=span is not None or state is not TraceState.OPEN)
    acting = next((t.llm for t in built if t.kind is TurnKind.ACT and t.llm), None)
    return AgentRun(
        id=run_id,
        name=_name(span, turns, above, goal),
        role="sub-agent" if above else "manager",
        span=span,
        parent_id=above.id if above else "",
        parent_turn=_parent_turn(run_id, above),
        goal=goal,
        system_prompt=_system_prompt(acting),
        answer=answer_of(span, built),
        status=_status(span),
        turns=built,
        tools=_tools(built),
        plans=tuple(t.index for t in built if t.kind is TurnKind.PLAN),
        managed_agents=span.managed_agents if span else (),
        max_steps=span.max_steps if span else None,
    )


def _turns(turns: Sequence[TurnSpans], goal: str, tree: SpanTree, *, closed: bool) -> tuple[Turn, ...]:
    novelty = Novelty()
    built = []
    for index, spans in enumerate(turns):
        new: tuple[Message, ...] = ()
        if spans.llm:
            new = spans.llm.input_messages if spans.inner else novelty.new_messages(spans.llm)
        delegated = _delegated(spans, tree)
        built.append(
            Turn(
                index=index,
                kind=_kind(spans, goal),
                llm=spans.llm,
                tool_calls=join_calls(spans.llm, spans.calls, delegated),
                sub_run_ids=tuple(a.raw.span_id for a in spans.agents),
                new_messages=new,
                wrappers=tuple(sorted(spans.wrappers, key=time_key)),
                observation=_observation(spans),
                closed=closed or index < len(turns) - 1,
            )
        )
    return tuple(built)


def _kind(spans: TurnSpans, goal: str) -> TurnKind:
    if spans.llm is None or spans.calls or spans.agents:
        return TurnKind.ACT
    if spans.inner:
        return TurnKind.INNER
    in_step = any(w.kind is Kind.CHAIN for w in spans.wrappers)
    return phase(spans.llm, in_step=in_step, goal=goal)


def _delegated(spans: TurnSpans, tree: SpanTree) -> dict[str, str]:
    """TOOL span id to the run started below it."""
    calls = {c.raw.span_id for c in spans.calls}
    found: dict[str, str] = {}
    for agent in spans.agents:
        tool = next((a for a in tree.ancestors(agent.raw.span_id) if a in calls), None)
        if tool is not None:
            found.setdefault(tool, agent.raw.span_id)
    return found


def _observation(spans: TurnSpans) -> str:
    steps = sorted((w for w in spans.wrappers if w.kind is Kind.CHAIN and w.output_text), key=time_key)
    return steps[0].output_text if steps else ""


def _name(span: NormalizedSpan | None, turns: Iterable[TurnSpans], above: AgentRun | None, goal: str) -> str:
    if span and span.agent_name:
        return span.agent_name
    if span and above and above.managed_agents and span.raw.name.removesuffix(".run") not in above.managed_agents:
        named = [a for a in above.managed_agents if f"'{a}'" in goal[:500]] or list(above.managed_agents)
        if len(named) == 1:
            return named[0]
    if span:
        return span.raw.name.removesuffix(".run")
    names = Counter(t.llm.agent_name for t in turns if t.llm and t.llm.agent_name)
    return max(names, key=lambda n: (names[n], n)) if names else ""


def _parent_turn(run_id: str, above: AgentRun | None) -> int | None:
    return next((t.index for t in above.turns if run_id in t.sub_run_ids), None) if above else None


def _system_prompt(llm: NormalizedSpan | None) -> str:
    messages = llm.input_messages if llm else ()
    return "\n".join(m.text for m in messages if m.role in ("system", "developer"))


def _status(span: NormalizedSpan | None) -> str:
    if span is None or span.raw.pending:
        return "unfinished"
    return "error" if span.is_error else "ok"


def _tools(turns: Sequence[Turn]) -> tuple[ToolDefinition, ...]:
    found: dict[str, ToolDefinition] = {}
    for turn in turns:
        for tool in turn.llm.tools if turn.llm else ():
            found.setdefault(tool.name, tool)
        for call in turn.tool_calls:
            span = call.span
            if span is not None and span.tool_parameters is not None:
                found.setdefault(call.name, ToolDefinition(call.name, span.tool_description, span.tool_parameters))
    return tuple(found.values())
