"""Owned spans to agent runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ..schemas.normalized import Kind, Message, NormalizedSpan, ToolDefinition
from ..schemas.trajectory import AgentRun, TraceState, Turn, TurnKind
from .calls import CallContext, join_calls
from .logged_arguments import add_logged_arguments
from .message_history import complete_histories
from .novelty import Novelty
from .ownership import Ownership
from .phases import kinds_of, states_plan
from .run_skeletons import RunSkeleton, build_skeletons
from .span_tree import SpanTree, time_key
from .task import answer_of, goal_from_calls, with_closing_call
from .turn_spans import TurnSpans

_REACH: Final = 16  # levels of wrappers between a TOOL span and the agent run that it starts


def build_runs(tree: SpanTree, ownership: Ownership, state: TraceState) -> tuple[AgentRun, ...]:
    """All runs, managers in order of start, each followed by what it started."""
    outlines = build_skeletons(tree, ownership)
    shows_tools = any(span.kind is Kind.TOOL for span in tree.order)
    builder = _Builder(tree, ownership, state, shows_tools)
    # Sub-agents first: a manager's calls hold what its sub-agents answered.
    built: dict[str, AgentRun] = {}
    for run in reversed(outlines):
        built[run] = builder.build(outlines[run], built)
    return tuple(built[run] for run in outlines)


@dataclass(frozen=True, slots=True)
class _Builder:
    tree: SpanTree
    ownership: Ownership
    state: TraceState
    shows_tools: bool

    def build(self, outline: RunSkeleton, built: dict[str, AgentRun]) -> AgentRun:
        """The run; `built` holds those below it."""
        span = outline.span
        turns = self._turns(outline, built)
        acting = next((t for t in turns if t.kind is TurnKind.ACT and t.llm), None)
        answer, status = answer_of(self._last(outline), turns), self._status(outline)
        if status == "ok" and not answer and outline.turns and any(s.is_error for s in outline.turns[-1].steps):
            status = "error"  # not all agents' spans tell of the step in which they failed
        return AgentRun(
            id=outline.id,
            name=outline.name,
            role="sub-agent" if outline.above else "manager",
            span=span,
            parent_id=outline.above,
            parent_turn=outline.parent_turn,
            goal=outline.goal or goal_from_calls(turns) or (span.input_text if span else ""),
            system_prompt=_system_prompt(acting),
            answer=answer,
            status=status,
            turns=turns,
            tools=_tools(turns, span),
            plans=tuple(t.index for t in turns if t.kind is TurnKind.PLAN or states_plan(t)),
            managed_agents=span.managed_agents if span else (),
            max_steps=span.max_steps if span else None,
        )

    def _last(self, outline: RunSkeleton) -> NormalizedSpan | None:
        """The AGENT span in which the run ended, None where that is unknown."""
        return self.ownership.segments.get(outline.id, [outline.span])[-1]

    def _status(self, outline: RunSkeleton) -> str:
        """Of its own spans, else of the tool that the run worked for."""
        own = outline.span or self.tree.spans.get(outline.id)
        if own is None:
            return "unfinished"
        if outline.span is None and own.kind is Kind.LLM:
            # A bare client's run ends as its last call did.
            own = next((t.llm for t in reversed(outline.turns) if t.llm is not None and not t.inner), own)
        twin = self.ownership.twins.get(own.raw.span_id)
        spans = [own, *self.ownership.segments.get(outline.id, ())]
        if spans[-1].raw.pending:
            return "unfinished"
        return "error" if any(s.is_error for s in spans) or (twin is not None and twin.is_error) else "ok"

    def _turns(self, outline: RunSkeleton, built: dict[str, AgentRun]) -> tuple[Turn, ...]:
        complete_histories(outline.turns)
        add_logged_arguments(outline.turns, self.tree)
        finished = self._status(outline) != "unfinished"
        last_call = max((i for i, t in enumerate(outline.turns) if t.llm and not t.inner), default=-1)
        kinds = kinds_of(outline.turns, outline.goal)
        novelty = Novelty()
        new = [novelty.of_turn(t.llm, inner=t.inner) for t in outline.turns]
        results = {m.tool_call_id: m.text for messages in new for m in messages if m.tool_call_id}
        turns = []
        for index, spans in enumerate(outline.turns):
            over = finished or index < last_call
            context = CallContext(
                results=results,
                sub_runs={agent: built[agent] for agent in spans.agents},
                started_by=self._started_by(spans),
                shows_tools=self.shows_tools,
                over=over,
            )
            turns.append(
                Turn(
                    index=index,
                    kind=kinds[index],
                    llm=spans.llm,
                    tool_calls=join_calls(spans, context),
                    sub_run_ids=tuple(spans.agents),
                    new_messages=new[index],
                    wrappers=tuple(sorted(spans.wrappers, key=time_key)),
                    observation=_observation(spans),
                    closed=over or self.state is not TraceState.OPEN,
                )
            )
        return with_closing_call(turns) if finished else tuple(turns)

    def _started_by(self, spans: TurnSpans) -> dict[str, str]:
        """TOOL span id, or the request's call id, to the run that it started."""
        calls = {c.raw.span_id for c in spans.calls}
        found: dict[str, str] = {}
        for run in spans.agents:
            if start := self.ownership.starts.get(run):
                found.setdefault(start.call_id, run)
                continue
            if run in calls:
                found.setdefault(run, run)
                continue
            for ancestor in islice(self.tree.ancestors(run), _REACH):
                if ancestor in calls:
                    found.setdefault(ancestor, run)
                if ancestor in calls or ancestor == self.ownership.runs[run]:
                    break
        return found


def _observation(spans: TurnSpans) -> str:
    """The outcome that the outermost step around the LLM call records."""
    return next((s.output_text for s in spans.steps if s.output_text), "")


def _system_prompt(turn: Turn | None) -> str:
    messages: tuple[Message, ...] = turn.llm.input_messages if turn and turn.llm else ()
    return "\n".join(m.text for m in messages if m.role in ("system", "developer"))


def _tools(turns: Sequence[Turn], agent: NormalizedSpan | None) -> tuple[ToolDefinition, ...]:
    """Of the calls, of the tools' own spans, and of the agent's span."""
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
