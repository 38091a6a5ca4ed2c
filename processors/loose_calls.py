"""Calls of a model that came loose from their agent: roots, or below a parent that never came.

An agent's span without any call of a model is at home for the calls in its time that fit it: those that were sent what
the agent states as its input, or that gave what it states as its answer. Where the agent or the calls state no texts,
it is the only agent at work then. Nothing that either states (its name, its conversation) may differ. Where two agents
would do, the calls stay a run of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .inferred import unclaimed
from .names import canonical
from .ownership import Ownership, RunStart, is_below
from .span_tree import SpanTree, ended, extent
from .task import goal_from_span

_LEAST: Final = 4  # characters of a text by which calls are laid beside an agent
_LONGEST: Final = 200  # of a text are compared
_MOST: Final = 64  # agents without calls, or loose groups of calls, beyond which nobody looks


@dataclass(frozen=True, slots=True)
class _Loose:
    """Calls of a run without a span, or one call without a run, in order of time; `id`: of the run, or of the call."""

    id: str
    calls: Sequence[NormalizedSpan]
    start: int
    end: int


def join_loose_calls(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with such calls, and what is below them, in the runs of their agents."""
    agents = {run for run in ownership.runs if run in tree.spans and tree.spans[run].kind is Kind.AGENT}
    if not agents:
        return ownership
    owner = ownership.owner
    busy = {owner[s.raw.span_id] for s in tree.llm_calls}
    idle = [tree.spans[run] for run in sorted(agents - busy)]
    if not idle or len(idle) > _MOST or not (loose := _loose(tree, ownership, agents)) or len(loose) > _MOST:
        return ownership
    homes = {one.id: home for one in loose if (home := _home(one, idle, agents, tree, ownership.runs))}
    if not homes:
        return ownership
    adopted = {run: home for run, home in homes.items() if run in ownership.runs}
    runs, starts = dict(ownership.runs), dict[str, RunStart]()
    for run, home in adopted.items():
        start = ownership.starts.get(run)
        if start is not None and not runs[home] and not is_below(homes.get(start.run, start.run), home, runs):
            starts[home], runs[home] = start, start.run
    owners = dict(owner)
    for span in tree.order:
        span_id = span.raw.span_id
        if not owner[span_id]:
            above = tree.parent.get(span_id, "")
            owners[span_id] = homes.get(span_id) or (owners[above] if above and not owner[above] else "")
    return replace(ownership, owner=owners).related(starts, adopted)


def _loose(tree: SpanTree, ownership: Ownership, agents: set[str]) -> list[_Loose]:
    """Runs whose own span is missing or is a call, and the outermost calls of a model that have no run."""
    calls: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    spans: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span in tree.by_time:
        run = ownership.owner[span.raw.span_id]
        if run and run not in agents and (run not in tree.spans or tree.spans[run].kind is Kind.LLM):
            spans[run].append(span)
            if span.kind is Kind.LLM:
                calls[run].append(span)
    for span in unclaimed(tree, ownership):
        if span.kind is Kind.LLM and span.raw.span_id not in tree.parent:
            calls[span.raw.span_id] = spans[span.raw.span_id] = [span]
    return [_Loose(run, own, *extent(spans[run])) for run, own in calls.items()]


def _home(
    one: _Loose, idle: Sequence[NormalizedSpan], agents: set[str], tree: SpanTree, above: Mapping[str, str]
) -> str:
    """The agent's run that the calls are of, "" where that is not certain."""
    around = [a for a in idle if _holds(a, one) and _may_be(a, one) and not is_below(a.raw.span_id, one.id, above)]
    if not around:
        return ""
    fitting = {a.raw.span_id: fits(a, one.calls) for a in around}
    told = [a for a in around if fitting[a.raw.span_id]]
    if told:
        return _innermost(told)
    at_work = [tree.spans[run] for run in agents if _holds(tree.spans[run], one)]
    inner = _innermost(at_work)
    return inner if fitting.get(inner, False) is None else ""


def _innermost(agents: Sequence[NormalizedSpan]) -> str:
    """The agent in whose time nobody else works: it is inside of all others; "" if there is none."""
    first = min(agents, key=lambda a: (ended(a) - a.raw.start, a.raw.span_id))
    others = (a for a in agents if a is not first)
    nested = all(a.raw.start <= first.raw.start and first.raw.end <= ended(a) for a in others)
    return first.raw.span_id if nested else ""


def _holds(agent: NormalizedSpan, one: _Loose) -> bool:
    return agent.raw.start <= one.start and one.end <= ended(agent)


def _may_be(agent: NormalizedSpan, one: _Loose) -> bool:
    """Whether the calls are of the agent's program and state no other agent or conversation."""
    name = canonical(agent.agent_name)
    for call in one.calls:
        stated = canonical(call.agent_name or call.agent_hint)
        if call.raw.service != agent.raw.service or (name and stated and name != stated):
            return False
        if call.session_id and agent.session_id and call.session_id != agent.session_id:
            return False
    return True


def fits(agent: NormalizedSpan, calls: Sequence[NormalizedSpan]) -> bool | None:
    """Whether texts tell that calls, in order of time, are the agent's; None where one side states nothing."""
    first, last = calls[0], calls[-1]
    asked, said = (" ".join(text.split())[:_LONGEST] for text in (goal_from_span(agent), agent.output))
    sent = [" ".join(m.text.split()) for m in first.input_messages if m.role in ("user", "human")]
    reply = " ".join(last.output.split())
    pairs = [(asked, text) for text in sent] + ([(said, reply[:_LONGEST])] if reply else [])
    pairs = [(own, text) for own, text in pairs if len(own) >= _LEAST and len(text) >= _LEAST]
    if not pairs:
        return None
    return any(own in text for own, text in pairs)
