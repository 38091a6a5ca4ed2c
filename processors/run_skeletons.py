"""Skeletons of agent runs: their spans by turn, name and parent, before the turns are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .leaves import Leaf
from .names import same_name
from .ownership import Ownership
from .run_turns import RunTurns
from .span_index import SpanIndex
from .span_order import in_tree_order
from .span_tree import SpanTree, time_key
from .task import goal_from_span
from .turn_spans import StartedRun, TurnSpans

REACH: Final = 16  # levels of wrappers between a TOOL span and the agent run that it starts


@dataclass(frozen=True, slots=True)
class RunSkeleton:
    """A run in the making. `above`: the run that started it ("" for none), in its turn `parent_turn`.

    `span`: its AGENT span, None where that is unknown; `goal`: the task as that span says it.
    """

    id: str
    above: str
    name: str
    span: NormalizedSpan | None
    goal: str
    turns: list[TurnSpans]
    parent_turn: int | None


_Surroundings = tuple[list[list[NormalizedSpan]], list[str], list[list[str]]]
"""Of a run: the spans around it, those of its own that are roots, and the ways to those that it started."""


class Skeletons:
    """Skeletons of a growing trace: the turns of a run whose spans did not change are the same objects as before."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[TurnSpans], dict[str, int], RunTurns]] = {}
        self._goals: dict[str, tuple[NormalizedSpan, str]] = {}

    def build(self, index: SpanIndex, tree: SpanTree, whole: SpanTree, ownership: Ownership) -> dict[str, RunSkeleton]:
        """Outlines of all runs by id, parents first; `whole`: the tree's spans and parents with those of its leaves."""
        spans = _own_spans(index, tree, ownership)
        started = _started(index, tree, ownership, spans)
        known, self._known = self._known, {}
        for run, own in spans.items():
            key = (own, started[run], _surroundings(run, own, started[run], tree))
            before = known.get(run)
            if before is None or before[0] != key:
                ordered = in_tree_order(tree, own.spans, own.leaves) if own.leaves else own.spans
                grouper = before[3] if before is not None else RunTurns(run)
                turns = grouper.group(ordered, started[run], key[2][0], whole)
                places = {started: index for index, turn in enumerate(turns) for started in turn.agents}
                before = key, turns, places, grouper
            self._known[run] = before
        grouped = {run: turns for run, (_, turns, _, _) in self._known.items()}
        place = {run: index for _, _, places, _ in self._known.values() for run, index in places.items()}
        outlines: dict[str, RunSkeleton] = {}
        for run, turns in grouped.items():
            span = agent_span(run, tree)
            above, goal = outlines.get(ownership.runs[run]), self._goal(run, span)
            outlines[run] = RunSkeleton(
                id=run,
                above=above.id if above else "",
                name=_name(run, goal, turns, above, tree, ownership)
                or _name_of_kin(run, outlines, ownership)
                or _only_other(run, above, tree),
                span=span,
                goal=goal,
                turns=turns,
                parent_turn=place.get(run),
            )
        return outlines

    def _goal(self, run: str, span: NormalizedSpan | None) -> str:
        if span is None:
            return ""
        if run not in self._goals or self._goals[run][0] is not span:
            self._goals[run] = span, goal_from_span(span)
        return self._goals[run][1]


@dataclass(frozen=True, slots=True)
class OwnSpans:
    """A run's spans of the tree in its order, without its AGENT span, and the leaves below its agents' spans."""

    spans: list[NormalizedSpan] = field(default_factory=list)
    leaves: dict[str, tuple[Leaf, ...]] = field(default_factory=dict)


def _surroundings(run: str, own: OwnSpans, started: Sequence[StartedRun], tree: SpanTree) -> _Surroundings:
    """All that its turns depend on besides its own spans: those above them, and the ways to the runs it started."""
    inside = {span.raw.span_id for span in own.spans}
    tops = {above for i in inside if (above := tree.parent.get(i)) not in inside}
    outside = {above for above in tops | {run} if above in tree.spans and above not in inside}
    end = run if agent_span(run, tree) is not None else None
    ways = [[tree.spans[i] for i in _up(top, end, tree)] for top in sorted(outside)]
    rootless = [i for i in inside if i not in tree.parent] if None in tops else []
    return ways, sorted(rootless), [_up(one.id, end, tree) for one in started]


def _up(span_id: str, end: str | None, tree: SpanTree) -> list[str]:
    """The span and those above it, up to and with `end`."""
    way, above = [span_id], tree.parent
    while way[-1] != end and len(way) <= REACH and (next_up := above.get(way[-1])) is not None:
        way.append(next_up)
    return way


def agent_span(run: str, tree: SpanTree) -> NormalizedSpan | None:
    """The run's AGENT span, None where it is unknown, or where the run has the id of a span that only holds it."""
    span = tree.spans.get(run)
    return span if span is not None and span.kind is Kind.AGENT else None


def _own_spans(index: SpanIndex, tree: SpanTree, ownership: Ownership) -> dict[str, OwnSpans]:
    own = {run: OwnSpans() for run in ownership.runs}
    for span in tree.order:
        span_id = span.raw.span_id
        run = ownership.owner[span_id]
        if not run:
            continue
        if run != span_id or span.kind is not Kind.AGENT:
            own[run].spans.append(span)
        if span_id in index.leaves.groups:
            own[run].leaves[span_id] = index.leaves.groups[span_id]
    return own


def _started(
    index: SpanIndex, tree: SpanTree, ownership: Ownership, own: Mapping[str, OwnSpans]
) -> dict[str, list[StartedRun]]:
    """Run id to the runs right below it."""
    started: dict[str, list[StartedRun]] = {run: [] for run in ownership.runs}
    for run, above in ownership.runs.items():
        firsts = [] if run in tree.spans else [*own[run].spans, *map(index.leaves.first, own[run].leaves)]
        span = tree.spans.get(run) or min(firsts, key=time_key, default=None)
        if above and span is not None:
            start = ownership.starts.get(run)
            started[above].append(StartedRun(run, span, start.llm_span_id if start else ""))
    return started


def _name(
    run: str, goal: str, turns: Sequence[TurnSpans], above: RunSkeleton | None, tree: SpanTree, ownership: Ownership
) -> str:
    """The run's name from its own span, the span around it or its calls; a span's name is the last resort."""
    span = agent_span(run, tree)
    if name := ownership.names.get(run):
        return name
    if span is None:
        calls = [t.llm for t in turns if t.llm]
        names = Counter(name for s in calls if (name := s.agent_name or s.agent_hint))
        names = names or Counter(name for t in turns for s in t.steps if (name := s.agent_name or s.agent_hint))
        names = names or Counter(name for t in turns for s in t.calls if (name := s.agent_name or s.agent_hint))
        return max(names, key=lambda n: (names[n], n)) if names else ""
    twin = ownership.twins.get(run)
    if name := span.agent_name or (twin.agent_name if twin else ""):
        return name
    own_name = span.raw.name.removesuffix(".run")
    managed = above.span.managed_agents if above and above.span else ()
    if managed and own_name not in managed:  # smolagents: the span has the class's name, the task quotes the agent's
        task = goal[:500]
        named = [a for a in managed if f"'{a}'" in task] or list(managed)
        return named[0] if len(named) == 1 else own_name
    return own_name


def _name_of_kin(run: str, outlines: Mapping[str, RunSkeleton], ownership: Ownership) -> str:
    """The name of an agent that the request which started `run` names, as that agent's other runs spell it."""
    start = ownership.starts.get(run)
    name = (start.to or start.name) if start else ""
    if start is None or not name:
        return ""
    return next((o.name for o in outlines.values() if o.span and same_name(name, o.name)), start.to)


def _only_other(run: str, above: RunSkeleton | None, tree: SpanTree) -> str:
    """The one agent that the program lists beside the agent that started the run, "" where there are several."""
    span_id = tree.parent.get(run) if above and above.name else None
    while span_id is not None:
        if listed := tree.spans[span_id].managed_agents:
            others = [name for name in listed if above and name != above.name]
            return others[0] if len(others) == 1 < len(listed) else ""
        span_id = tree.parent.get(span_id)
    return ""
