"""Skeletons of agent runs: their spans by turn, name and parent, before the turns are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..schemas.normalized import Kind, NormalizedSpan
from .names import same_name
from .ownership import Ownership
from .span_tree import SpanTree, time_key
from .task import goal_from_span
from .turn_spans import StartedRun, TurnSpans
from .turns import group_turns


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


def build_skeletons(tree: SpanTree, ownership: Ownership) -> dict[str, RunSkeleton]:
    """Outlines of all runs by id, parents first."""
    own = _own_spans(tree, ownership)
    started = _started(tree, ownership, own)
    grouped = {run: group_turns(run, own[run], started[run], tree) for run in ownership.runs}
    place = {run: index for turns in grouped.values() for index, turn in enumerate(turns) for run in turn.agents}
    outlines: dict[str, RunSkeleton] = {}
    for run, turns in grouped.items():
        span = agent_span(run, tree)
        above = outlines.get(ownership.runs[run])
        outlines[run] = RunSkeleton(
            id=run,
            above=above.id if above else "",
            name=_name(run, turns, above, tree, ownership)
            or _name_of_kin(run, outlines, ownership)
            or _only_other(run, above, tree),
            span=span,
            goal=goal_from_span(span),
            turns=turns,
            parent_turn=place.get(run),
        )
    return outlines


def agent_span(run: str, tree: SpanTree) -> NormalizedSpan | None:
    """The run's AGENT span, None where it is unknown, or where the run has the id of a span that only holds it."""
    span = tree.spans.get(run)
    return span if span is not None and span.kind is Kind.AGENT else None


def _own_spans(tree: SpanTree, ownership: Ownership) -> dict[str, list[NormalizedSpan]]:
    own: dict[str, list[NormalizedSpan]] = {run: [] for run in ownership.runs}
    for span in tree.order:
        run = ownership.owner[span.raw.span_id]
        if run and (run != span.raw.span_id or span.kind is not Kind.AGENT):
            own[run].append(span)
    return own


def _started(
    tree: SpanTree, ownership: Ownership, own: Mapping[str, Sequence[NormalizedSpan]]
) -> dict[str, list[StartedRun]]:
    """Run id to the runs right below it."""
    started: dict[str, list[StartedRun]] = {run: [] for run in ownership.runs}
    for run, above in ownership.runs.items():
        span = tree.spans.get(run) or (min(own[run], key=time_key) if own[run] else None)
        if above and span is not None:
            start = ownership.starts.get(run)
            started[above].append(StartedRun(run, span, start.llm_span_id if start else ""))
    return started


def _name(run: str, turns: Sequence[TurnSpans], above: RunSkeleton | None, tree: SpanTree, ownership: Ownership) -> str:
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
        task = goal_from_span(span)[:500]
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
