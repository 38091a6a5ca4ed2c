"""Ownership of spans: each belongs to the run of its nearest AGENT ancestor, known or referenced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .bare import find_bare_runs
from .handoffs import find_handoffs
from .names import canonical, plain_name
from .parent_inference import InferredParents, RunStart, infer_parents, without_parents
from .segments import find_segments, handing_runs
from .span_index import SpanIndex
from .span_tree import SpanTree, time_key

_NOT_THE_AGENT: Final = frozenset({Kind.EVALUATOR, Kind.GUARDRAIL})
_WORK: Final = frozenset({Kind.LLM, Kind.TOOL, Kind.PLAN})
_STEPS: Final = frozenset({Kind.CHAIN, Kind.RETRIEVER})


class LeavesNeededError(Exception):
    """Owners cannot be told without the leaves that these spans stand for."""

    def __init__(self, holders: Collection[str]) -> None:
        self.holders = holders


@dataclass(frozen=True, slots=True)
class Ownership:
    """`runs`: ids of the agent runs, parents first, with the id of the run above ("" for none).

    `owner`: span id to run id, "" for the trace's remainder. A run's own AGENT span is owned by the run itself;
    a run whose AGENT span is unknown has the id of the missing span that its spans name as parent. `twins`: run id
    to the outer AGENT span of the same run, where two instrumentations recorded it. `starts`: run id to the request
    that started it, where no span says so. `names`: run id to the name that only the tool around it tells: such a run
    has the id of that TOOL span, which is owned by the run above. `segments`: run id to the AGENT spans in which it
    went on after others had handed the conversation back to it.
    """

    runs: dict[str, str] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    twins: dict[str, NormalizedSpan] = field(default_factory=dict)
    starts: dict[str, RunStart] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    segments: dict[str, list[NormalizedSpan]] = field(default_factory=dict)


def assign_owners(index: SpanIndex, tree: SpanTree, tool_runs: Mapping[str, str]) -> Ownership:
    """Give each span of the tree to a run or to the remainder; a leaf is of the run that its agent is of.

    `tool_runs`: see `Roles`.
    """
    survey = _survey(tree)
    wrappers, twins = _agent_wrappers(tree, survey)
    ownership = _assign(tree, wrappers, _referenced_runs(tree, survey), twins, tool_runs)
    if needed := {i for i in index.leaves.groups if not ownership.owner[i] and tree.spans[i].kind is not Kind.AGENT}:
        raise LeavesNeededError(needed)  # a conversation may show in them
    unknown = without_parents(tree, ownership.runs)
    inferred = infer_parents(index, tree, ownership.owner, ownership.runs, unknown)
    if inferred.adopted or inferred.started:
        ownership = _relate(ownership, inferred)
    ownership = _with_bare_runs(index, tree, _divide(index, tree, ownership))
    handed = find_handoffs(index, tree, ownership.owner, ownership.runs)
    ownership = _handed(tree, ownership, handed) if handed.started or handed.adopted else ownership
    stated = _stated_parents(tree, ownership)
    return _relate(ownership, InferredParents(started=stated)) if stated else ownership


def _handed(tree: SpanTree, ownership: Ownership, handed: InferredParents) -> Ownership:
    """The same ownership with runs that others beside them started, and those that went on after others."""
    for run, first in sorted(handed.adopted.items(), key=lambda item: time_key(tree.spans[item[0]])):
        ownership.segments.setdefault(first, []).append(tree.spans[run])
    return _relate(ownership, handed)


@dataclass(frozen=True, slots=True)
class _Survey:
    """`inner`: AGENT spans right below an AGENT span; `busy`: AGENT spans and roots with LLM or TOOL work of theirs."""

    inner: dict[str, list[NormalizedSpan]]
    busy: set[str]


def _survey(tree: SpanTree) -> _Survey:
    anchor: dict[str, str] = {}
    survey = _Survey({}, set())
    excluded: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id)
        current = span_id if above is None else anchor[above]
        if span.kind in _NOT_THE_AGENT or above in excluded:
            excluded.add(span_id)
        elif span.kind is Kind.AGENT:
            if above is not None:
                survey.inner.setdefault(current, []).append(span)
            current = span_id
        elif span.kind in _WORK:
            survey.busy.add(current)
        anchor[span_id] = current
    return survey


def _agent_wrappers(tree: SpanTree, survey: _Survey) -> tuple[set[str], dict[str, NormalizedSpan]]:
    """AGENT spans that do nothing themselves but hold the real one: doubled instrumentation, workflow roots."""
    wrappers: set[str] = set()
    twins: dict[str, NormalizedSpan] = {}
    for agent_id, inner in survey.inner.items():
        agent = tree.spans[agent_id]
        if agent.kind is not Kind.AGENT or agent_id in survey.busy:
            continue
        alone = len(inner) == 1
        if _is_bare(agent) or (alone and agent.agent_name and inner[0].agent_name in ("", agent.agent_name)):
            wrappers.add(agent_id)
            if alone:
                twins[inner[0].raw.span_id] = agent
    return wrappers, twins


def _is_bare(agent: NormalizedSpan) -> bool:
    """Nothing says that this is an agent of its own: no name, no tools, no limits."""
    return not (agent.agent_name or agent.tool_names or agent.managed_agents or agent.max_steps)


def _referenced_runs(tree: SpanTree, survey: _Survey) -> set[str]:
    """Orphans that are evidence of a run whose AGENT span is missing.

    LLM and TOOL spans, and framework steps that hold some, hang under agents. Where the first thing under the missing
    parent is an agent, that parent started agents without asking a model: it is the program around them.
    """
    groups: dict[str, list[NormalizedSpan]] = {}
    for span_id in tree.orphans:
        span = tree.spans[span_id]
        if span.kind is Kind.AGENT or span.kind in _WORK or (span.kind in _STEPS and span_id in survey.busy):
            groups.setdefault(span.raw.parent_span_id, []).append(span)
    return {
        span.raw.span_id
        for group in groups.values()
        if min(group, key=time_key).kind is not Kind.AGENT
        for span in group
    }


def _assign(
    tree: SpanTree,
    wrappers: set[str],
    referenced: set[str],
    twins: dict[str, NormalizedSpan],
    tool_runs: Mapping[str, str],
) -> Ownership:
    result = Ownership(twins=twins, names=dict(tool_runs))
    owner, runs = result.owner, result.runs
    excluded: set[str] = set()
    missing = {tree.spans[span_id].raw.parent_span_id for span_id in referenced}
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id)
        if span.kind in _NOT_THE_AGENT or above in excluded:
            excluded.add(span_id)
            owner[span_id] = ""
            continue
        if above is not None:
            context = above if above in tool_runs else owner[above]
        else:
            context = span.raw.parent_span_id if span_id in tree.orphans else ""
            context = context if context in missing else ""
            if context:
                runs.setdefault(context, "")
        if span.kind is Kind.AGENT and span_id not in wrappers:
            runs[span_id] = context
            context = span_id
        elif span_id in tool_runs:
            runs[span_id] = context
        owner[span_id] = context
    return result


def _stated_parents(tree: SpanTree, ownership: Ownership) -> dict[str, RunStart]:
    """Runs that nothing joins with another, but whose spans state the name of the agent that started them."""
    parents = {
        ownership.owner[s.raw.span_id]: s.agent_parent
        for s in tree.order
        if s.agent_parent and canonical(s.agent_parent) != canonical(s.agent_name or s.agent_hint)
    }
    alone = {run: name for run, name in parents.items() if run and not ownership.runs[run]}
    if not alone:
        return {}
    runs: dict[str, list[tuple[tuple[int, int, str], str]]] = {}
    named: set[tuple[str, str]] = set()
    for span in sorted(tree.order, key=time_key):
        run, name = ownership.owner[span.raw.span_id], canonical(span.agent_name or span.agent_hint)
        if run and name and (run, name) not in named:
            named.add((run, name))
            runs.setdefault(name, []).append((time_key(span), run))
    began = {run: key for found in runs.values() for key, run in reversed(found)}
    found: dict[str, RunStart] = {}
    above = dict(ownership.runs)
    for run, name in alone.items():
        earlier = [r for key, r in runs.get(canonical(name), ()) if key <= began.get(run, key)]
        if earlier and not _is_below(earlier[-1], run, above):
            found[run] = RunStart(earlier[-1], "", "", "")
            above[run] = earlier[-1]
    return found


def _is_below(run: str, other: str, above: Mapping[str, str]) -> bool:
    """Whether `run` is `other` or below it."""
    seen = set()
    while run and run != other and run not in seen:
        seen.add(run)
        run = above.get(run, "")
    return run == other


def _with_bare_runs(index: SpanIndex, tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with the runs of calls that stand alone, and who started them."""
    bare = find_bare_runs(tree, ownership.owner)
    if not bare:
        return ownership
    own = dict.fromkeys(bare[s.span_id] for s in tree.order if s.span_id in bare)
    found = replace(ownership, owner=ownership.owner | bare, runs=ownership.runs | dict.fromkeys(own, ""))
    return _relate(found, infer_parents(index, tree, found.owner, found.runs, own))


def _divide(index: SpanIndex, tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with the runs inside runs."""
    handing = handing_runs(tree, ownership.owner)
    if needed := {agent for agent in index.leaves.groups if ownership.owner[agent] in handing}:
        raise LeavesNeededError(needed)
    found = find_segments(tree, ownership.owner, handing)
    if not found.starts:
        return ownership
    runs = ownership.runs | {run: start.run for run, start in found.starts.items()}
    above = {
        run: found.owner.get(tree.parent.get(run, ""), over) for run, over in runs.items() if run not in found.starts
    }
    names = ownership.names | {run: name for run, name in found.names.items() if _is_nameless(tree.spans.get(run))}
    owner, starts = ownership.owner | found.owner, ownership.starts | found.starts
    return replace(ownership, runs=_parents_first(runs | above), owner=owner, starts=starts, names=names)


def _is_nameless(span: NormalizedSpan | None) -> bool:
    """Whether the name that an AGENT span bears is only its own, as a span."""
    return span is None or span.kind is not Kind.AGENT or span.agent_name in ("", plain_name(span.raw.name))


def _relate(ownership: Ownership, inferred: InferredParents) -> Ownership:
    """The same ownership with adopted runs dissolved into those they are a part of, and started ones below theirs."""
    adopted = {run: _final(run, inferred.adopted) for run in inferred.adopted}
    starts = ownership.starts | {run: start for run, start in inferred.started.items() if run not in adopted}
    runs = {run: adopted.get(above, above) for run, above in ownership.runs.items() if run not in adopted}
    runs |= {run: adopted.get(start.run, start.run) for run, start in starts.items()}
    owner = {span: adopted.get(run, run) for span, run in ownership.owner.items()}
    return replace(ownership, runs=_parents_first(runs), owner=owner, starts=starts)


def _final(run: str, adopted: Mapping[str, str]) -> str:
    """The run that a run ends up a part of, where that one was adopted, too."""
    seen: set[str] = set()
    while run in adopted and run not in seen:
        seen.add(run)
        run = adopted[run]
    return run


def _parents_first(runs: dict[str, str]) -> dict[str, str]:
    ordered: dict[str, str] = {}
    for run in runs:
        path: dict[str, None] = {}
        current = run
        while current and current not in ordered and current not in path:
            path[current] = None
            current = runs.get(current, "")
        for step in reversed(path):
            ordered[step] = runs[step]
    return ordered
