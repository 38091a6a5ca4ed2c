"""Owned spans to agent runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.trajectory import AgentRun, TraceState, Turn, TurnKind

from .calls import CallContext, join_calls
from .logged_arguments import add_logged_arguments
from .message_history import complete_histories
from .novelty import new_messages
from .ownership import Ownership
from .phases import kinds_of, states_plan
from .run_names import name_of
from .run_spans import RunSpans, StartedRun, TurnSpans
from .span_tree import SpanTree, time_key
from .task import answer_of, goal_from_calls, goal_from_span, with_closing_call
from .turns import group_turns

_REACH: Final = 16  # levels of wrappers between a TOOL span and the agent run that it starts

_make_turn: Final = maker(Turn)


def build_runs(tree: SpanTree, ownership: Ownership, state: TraceState) -> tuple[AgentRun, ...]:
    """All runs, managers in order of start, each followed by what it started."""
    grouped = group_runs(tree, ownership)
    builder = _Builder(tree, ownership, state, any(span.kind is Kind.TOOL for span in tree.order))
    # Sub-agents first: a manager's calls hold what its sub-agents answered.
    built: dict[str, AgentRun] = {}
    for run in reversed(grouped.values()):
        built[run.id] = builder.build(run, built)
    return tuple(built[run] for run in grouped)


def group_runs(tree: SpanTree, ownership: Ownership) -> dict[str, RunSpans]:
    """The spans of all runs by turn, parents first."""
    own: dict[str, list[NormalizedSpan]] = {run: [] for run in ownership.runs}
    for one in tree.order:
        run = ownership.owner[one.raw.span_id]
        if run and (run != one.raw.span_id or one.kind is not Kind.AGENT):
            own[run].append(one)
    started = _started(tree, ownership, own)
    grouped: dict[str, list[TurnSpans]] = {}
    for run, spans in own.items():
        grouped[run] = turns = group_turns(run, spans, started[run], tree)
        complete_histories(turns)
        add_logged_arguments(turns, tree)
    place = {run: at for turns in grouped.values() for at, turn in enumerate(turns) for run in turn.agents}
    found: dict[str, RunSpans] = {}
    for run, turns in grouped.items():
        known = tree.spans.get(run)
        span = known if known is not None and known.kind is Kind.AGENT else None  # else it only holds the run
        goal, above = goal_from_span(span), ownership.runs[run]
        found[run] = RunSpans(
            id=run,
            above=above if above in found else "",
            name=name_of(run, span, goal, turns, found, tree, ownership),
            span=span,
            goal=goal,
            turns=turns,
            parent_turn=place.get(run),
        )
    return found


def _started(
    tree: SpanTree, ownership: Ownership, own: Mapping[str, Sequence[NormalizedSpan]]
) -> dict[str, list[StartedRun]]:
    """Run id to the runs right below it."""
    started: dict[str, list[StartedRun]] = {run: [] for run in ownership.runs}
    for run, above in ownership.runs.items():
        span = tree.spans.get(run) or min(own[run], key=time_key, default=None)
        if above and span is not None:
            start = ownership.starts.get(run)
            started[above].append(StartedRun(run, span, start.llm_span_id if start else ""))
    return started


@dataclass(frozen=True, slots=True)
class _Builder:
    """`shows_tools`: see `CallContext`."""

    tree: SpanTree
    ownership: Ownership
    state: TraceState
    shows_tools: bool

    def build(self, run: RunSpans, built: Mapping[str, AgentRun]) -> AgentRun:
        """The run; `built` holds those below it."""
        span, status = run.span, self._status(run)
        turns = self._turns(run, built, finished=status != "unfinished")
        acting = next((t for t in turns if t.kind is TurnKind.ACT and t.llm), None)
        answer = answer_of(self.ownership.segments.get(run.id, [span])[-1], turns)
        if status == "ok" and not answer and run.turns and any(s.is_error for s in run.turns[-1].steps):
            status = "error"  # not all agents' spans tell of the step in which they failed
        return AgentRun(
            id=run.id,
            name=run.name,
            role="sub-agent" if run.above else "manager",
            span=span,
            parent_id=run.above,
            parent_turn=run.parent_turn,
            goal=run.goal or goal_from_calls(turns) or (span.input_text if span else ""),
            system_prompt=_system_prompt(acting),
            answer=answer,
            status=status,
            turns=turns,
            tools=_tools(turns, span),
            plans=tuple(t.index for t in turns if t.kind is TurnKind.PLAN or states_plan(t)),
            managed_agents=span.managed_agents if span else (),
            max_steps=span.max_steps if span else None,
        )

    def _status(self, run: RunSpans) -> str:
        """Of its own spans, else of the tool that the run worked for."""
        own = run.span or self.tree.spans.get(run.id)
        if own is None:
            return "unfinished"
        if run.span is None and own.kind is Kind.LLM:
            # A bare client's run ends as its last call did.
            own = next((t.llm for t in reversed(run.turns) if t.llm is not None and not t.inner), own)
        twin = self.ownership.twins.get(own.raw.span_id)
        spans = [own, *self.ownership.segments.get(run.id, ())]
        if spans[-1].raw.pending:
            return "unfinished"
        return "error" if any(s.is_error for s in spans) or (twin is not None and twin.is_error) else "ok"

    def _turns(self, run: RunSpans, built: Mapping[str, AgentRun], *, finished: bool) -> tuple[Turn, ...]:
        new = new_messages(run.turns)
        results = {m.tool_call_id: m.text for messages in new for m in messages if m.tool_call_id}
        last_call = max((i for i, t in enumerate(run.turns) if t.llm and not t.inner), default=-1)
        turns: list[Turn] = []
        for index, (spans, kind) in enumerate(zip(run.turns, kinds_of(run.turns, run.goal), strict=True)):
            over = finished or index < last_call
            context = CallContext(
                results=results,
                sub_runs={agent: built[agent] for agent in spans.agents},
                started_by=self._started_by(spans),
                shows_tools=self.shows_tools,
                over=over,
            )
            turns.append(
                _make_turn(
                    index=index,
                    kind=kind,
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
        calls = {c.raw.span_id for c in spans.calls} if spans.agents else set()
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
    """The outcome that the outermost step around the LLM call records; a state that ends with the reply is none."""
    return next((s.output_text for s in spans.steps if s.output_text and not s.output_messages), "")


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
