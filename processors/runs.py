"""Owned spans to agent runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.prefixes import shared_prefix
from tracejury.schemas.trajectory import AgentRun, ToolCall, TraceState, Turn, TurnKind

from .calls import CallContext, join_calls
from .novelty import Novelty
from .ownership import Ownership
from .parent_inference import RunStart
from .phases import Kinds, kinds_of, states_plan
from .run_skeletons import REACH, RunSkeleton
from .span_tree import SpanTree, time_key
from .task import answer_of, goal_from_calls, with_closing_call
from .turn_spans import TurnSpans

_SubRun = tuple[str, str, str, NormalizedSpan | None, RunStart | None]
"""What is read of a run that another started: id, name, answer, span, start."""


@dataclass(frozen=True, slots=True)
class _RunInputs:
    """All that a run is built from.

    `below`: of the runs that it started what is read of them. `goes_on`: its last turn may not be over.
    """

    skeleton: RunSkeleton
    below: tuple[_SubRun, ...]
    spans: tuple[NormalizedSpan | None, ...]
    status: str
    goes_on: bool
    shows_tools: bool

    def turns_alike(self, other: _RunInputs) -> bool:
        """Whether the run's turns are built from the same."""
        ours, theirs = self.skeleton, other.skeleton
        finished = (self.status == "unfinished") == (other.status == "unfinished")
        parts = (ours.turns, ours.goal, self.below, self.goes_on, self.shows_tools)
        return finished and parts == (theirs.turns, theirs.goal, other.below, other.goes_on, other.shows_tools)

    def settled(self, before: _RunInputs) -> int:
        """How many turns, from the first, only what was sent or started since can change."""
        finished = self.status != "unfinished"
        if finished != (before.status != "unfinished") or self.shows_tools != before.shows_tools:
            return 0
        ours, theirs = self.skeleton, before.skeleton
        same = shared_prefix(ours.turns, theirs.turns)
        return same if finished else min(same, _last_call(ours), _last_call(theirs))


class RunBuilder:
    """Builds the runs of a growing trace; a run that is built from what it was built from before stays that object."""

    def __init__(self) -> None:
        self._known: dict[str, _BuiltRun] = {}

    def build(
        self,
        tree: SpanTree,
        ownership: Ownership,
        skeletons: dict[str, RunSkeleton],
        state: TraceState,
        *,
        shows_tools: bool,
    ) -> tuple[AgentRun, ...]:
        """All runs, managers in order of start, each followed by what it started; `shows_tools`: see `CallContext`."""
        builder = _Builder(tree, ownership, state, shows_tools)
        known, self._known = self._known, {}
        # Sub-agents first: a manager's calls hold what its sub-agents answered.
        built: dict[str, AgentRun] = {}
        for run in reversed(skeletons):
            inputs = builder.inputs(skeletons[run], built)
            before = known.get(run)
            if before is None or before.inputs != inputs:
                before = builder.build(inputs, built, before)
            self._known[run] = before
            built[run] = before.run
        return tuple(built[run] for run in skeletons)


@dataclass(frozen=True, slots=True)
class _JoinedCalls:
    """A turn's tool calls, and what they were joined from; `ids`: under which ids results may be sent for them."""

    calls: tuple[ToolCall, ...] = ()
    joined_from: object = None
    ids: tuple[str, ...] = ()


_NO_CALLS: Final = _JoinedCalls()
_make_turn: Final = maker(Turn)
_Tools = dict[str, tuple[int, ToolDefinition]]


@dataclass(frozen=True, slots=True)
class _BuiltTurns:
    """A run's turns with what they are built from; `calls`: by turn."""

    turns: tuple[Turn, ...]
    calls: list[_JoinedCalls]
    kinds: Kinds
    novelty: Novelty


@dataclass(frozen=True, slots=True)
class _BuiltRun:
    """`tools`: by name those that its turns show, each with the position of the first that does."""

    inputs: _RunInputs
    run: AgentRun
    made: _BuiltTurns
    tools: _Tools


@dataclass(frozen=True, slots=True)
class _Builder:
    tree: SpanTree
    ownership: Ownership
    state: TraceState
    shows_tools: bool

    def inputs(self, outline: RunSkeleton, built: Mapping[str, AgentRun]) -> _RunInputs:
        """What the run is built from."""
        below = [(built[run], self.ownership.starts.get(run)) for turn in outline.turns for run in turn.agents]
        own = outline.span or self.tree.spans.get(outline.id)
        twin = self.ownership.twins.get(own.raw.span_id) if own is not None else None
        status = self._status(outline)
        return _RunInputs(
            outline,
            tuple(_of_sub_run(run, start) for run, start in below),
            (own, twin, *self.ownership.segments.get(outline.id, ())),
            status,
            self.state is TraceState.OPEN and status == "unfinished",
            self.shows_tools,
        )

    def build(self, inputs: _RunInputs, built: Mapping[str, AgentRun], before: _BuiltRun | None) -> _BuiltRun:
        """The run; `built` holds those below it. Turns that are equal to those of `before` are these."""
        outline = inputs.skeleton
        span = outline.span
        if before is not None and before.inputs.turns_alike(inputs):
            made = before.made
        else:
            made = self._turns(inputs, built, before)
        turns, old = made.turns, before.run if before is not None else None
        tools = _tools(turns, before)
        acting = next((t for t in turns if t.kind is TurnKind.ACT and t.llm), None)
        answer, status = answer_of(self._last(outline), turns), inputs.status
        if status == "ok" and not answer and outline.turns and any(s.is_error for s in outline.turns[-1].steps):
            status = "error"  # not all agents' spans tell of the step in which they failed
        run = AgentRun(
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
            tools=_with_agents(tools, span),
            plans=_plans(turns, old),
            managed_agents=span.managed_agents if span else (),
            max_steps=span.max_steps if span else None,
        )
        return _BuiltRun(inputs, old if old is not None and old == run else run, made, tools)

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

    def _turns(self, inputs: _RunInputs, built: Mapping[str, AgentRun], before: _BuiltRun | None) -> _BuiltTurns:
        outline = inputs.skeleton
        finished = inputs.status != "unfinished"
        last_call = _last_call(outline)
        old, known = (before.run.turns, before.made.calls) if before is not None else ((), [])
        sent = [(t.llm, t.inner) for t in outline.turns]
        novelty = before.made.novelty if before is not None and before.made.novelty.is_continued_by(sent) else Novelty()
        heard = novelty.calls
        new = novelty.of_calls(sent)
        results = {m.tool_call_id: m.text for messages in new for m in messages if m.tool_call_id}
        fresh = {m.tool_call_id for messages in new[heard:] for m in messages if m.tool_call_id}
        kinds = _kinds(outline, before)
        settled = min(inputs.settled(before.inputs), heard) if before is not None else 0
        turns: list[Turn] = []
        calls: list[_JoinedCalls] = []
        for index, (spans, kind) in enumerate(zip(outline.turns, kinds.kinds, strict=True)):
            joined = known[index] if index < len(known) else _NO_CALLS
            if index < settled and not spans.agents and _stays(old[index], kind, joined, fresh):
                turns.append(old[index])
                calls.append(joined)
                continue
            over = finished or index < last_call
            calls.append(self._calls(spans, joined, results, built, over))
            turns.append(
                _make_turn(
                    index=index,
                    kind=kind,
                    llm=spans.llm,
                    tool_calls=calls[index].calls,
                    sub_run_ids=tuple(spans.agents),
                    new_messages=new[index],
                    wrappers=tuple(sorted(spans.wrappers, key=time_key)),
                    observation=_observation(spans),
                    closed=over or not inputs.goes_on,
                )
            )
        made = with_closing_call(turns) if finished else turns
        same = (old[i] if i < len(old) and (old[i] is turn or old[i] == turn) else turn for i, turn in enumerate(made))
        return _BuiltTurns(tuple(same), calls, kinds, novelty)

    def _calls(
        self,
        spans: TurnSpans,
        known: _JoinedCalls,
        results: Mapping[str, str],
        built: Mapping[str, AgentRun],
        over: bool,  # noqa: FBT001 - see `CallContext`
    ) -> _JoinedCalls:
        """The turn's calls; `known`, if they are joined from what those were joined from."""
        if not (spans.calls or spans.agents or (spans.llm and spans.llm.tool_requests)):
            return _NO_CALLS
        context = CallContext(
            results=results,
            sub_runs={agent: built[agent] for agent in spans.agents},
            started_by=self._started_by(spans) if spans.agents else {},
            shows_tools=self.shows_tools,
            over=over,
        )
        asked = spans.llm.tool_requests if spans.llm else ()
        ids = (*(r.call_id for r in asked), *(s.tool_call_id for s in (*spans.calls, *spans.twins.values())))
        joined_from = _joined_from(spans, context, ids)
        return known if known.joined_from == joined_from else _JoinedCalls(join_calls(spans, context), joined_from, ids)

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
            for ancestor in islice(self.tree.ancestors(run), REACH):
                if ancestor in calls:
                    found.setdefault(ancestor, run)
                if ancestor in calls or ancestor == self.ownership.runs[run]:
                    break
        return found


def _of_sub_run(run: AgentRun, start: RunStart | None = None) -> _SubRun:
    return (run.id, run.name, run.answer, run.span, start)


def _stays(turn: Turn, kind: TurnKind, joined: _JoinedCalls, fresh: set[str]) -> bool:
    """Whether a settled turn is as it was, no call of it marked as closing; `fresh`: ids under which results came."""
    return turn.kind is kind and turn.tool_calls is joined.calls and fresh.isdisjoint(joined.ids)


def _kinds(outline: RunSkeleton, before: _BuiltRun | None) -> Kinds:
    if before is None:
        return kinds_of(outline.turns, outline.goal, Kinds(), 0)
    old = before.inputs.skeleton
    same = shared_prefix(old.turns, outline.turns) if old.goal == outline.goal else 0
    return kinds_of(outline.turns, outline.goal, before.made.kinds, same)


def _last_call(outline: RunSkeleton) -> int:
    """The position of the run's last turn with a call of its own, -1 for none."""
    turns = outline.turns
    return next((i for i in range(len(turns) - 1, -1, -1) if turns[i].llm and not turns[i].inner), -1)


def _joined_from(spans: TurnSpans, context: CallContext, ids: Sequence[str]) -> object:
    """All that a turn's tool calls are joined from; `ids`: those under which results may be sent."""
    told = [context.results.get(i) for i in ids] if context.results else []
    below = [_of_sub_run(run) for run in context.sub_runs.values()]
    parts = (spans.llm, spans.calls, spans.steps, spans.twins)
    return parts, below, context.started_by, context.shows_tools, context.over, told


def _plans(turns: Sequence[Turn], before: AgentRun | None) -> tuple[int, ...]:
    """Indices of the turns that plan; `before`: the run as it was, some of whose turns these are."""
    old = before.turns if before is not None else ()
    known = set(before.plans) if before is not None else set()
    return tuple(
        t.index
        for i, t in enumerate(turns)
        if (t.index in known if i < len(old) and old[i] is t else t.kind is TurnKind.PLAN or states_plan(t))
    )


def _observation(spans: TurnSpans) -> str:
    """The outcome that the outermost step around the LLM call records; a state that ends with the reply is none."""
    return next((s.output_text for s in spans.steps if s.output_text and not s.output_messages), "")


def _system_prompt(turn: Turn | None) -> str:
    messages: tuple[Message, ...] = turn.llm.input_messages if turn and turn.llm else ()
    return "\n".join(m.text for m in messages if m.role in ("system", "developer"))


def _tools(turns: Sequence[Turn], before: _BuiltRun | None) -> _Tools:
    """Of the calls, and of the tools' own spans."""
    first = shared_prefix(before.run.turns, turns) if before is not None else 0
    found = {name: tool for name, tool in before.tools.items() if tool[0] < first} if before is not None else {}
    for index, turn in enumerate(turns[first:], start=first):
        for tool in turn.llm.tools if turn.llm and turn.kind is not TurnKind.INNER else ():
            found.setdefault(tool.name, (index, tool))
        for call in turn.tool_calls:
            span = call.span
            if span is not None and span.tool_parameters is not None:
                tool = ToolDefinition(call.name, span.tool_description, span.tool_parameters)
                found.setdefault(call.name, (index, tool))
    return found


def _with_agents(tools: _Tools, agent: NormalizedSpan | None) -> tuple[ToolDefinition, ...]:
    """These, and those that the agent's span lists besides."""
    found = {name: tool for name, (_, tool) in tools.items()}
    for tool in agent.tools if agent else ():
        found.setdefault(tool.name, tool)
    return tuple(found.values())
