"""Runs of AGENT spans, and ownership by ancestors: each span belongs to the run of its nearest AGENT ancestor.

An outer AGENT span with the name of the first agent in it, or without any mark of its own, that does nothing itself is
the same run, or the workflow around several; a workflow with a name of its own is the run that started them. A TOOL
span with an agent's work below it (`roles.py`) begins a run, too. LLM or TOOL spans, or steps with such spans of their
own, under a parent that never arrived are a run with the id of that parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .doubles import is_same_call
from .ownership import Ownership
from .span_tree import SpanTree, time_key

_NOT_THE_AGENT: Final = frozenset({Kind.EVALUATOR, Kind.GUARDRAIL})
_WORK: Final = frozenset({Kind.LLM, Kind.TOOL, Kind.PLAN})
_STEPS: Final = frozenset({Kind.CHAIN, Kind.RETRIEVER})
_RECEIVING: Final = frozenset({2, 5})  # span kinds SERVER, CONSUMER: their parent is another program's


def own_by_ancestors(tree: SpanTree, tool_runs: Mapping[str, str]) -> Ownership:
    """Give each span to the run of its nearest AGENT ancestor, known or missing; `tool_runs`: see `Roles`."""
    work = _work(tree)
    wrappers, twins = _agent_wrappers(tree, work)
    missing = _missing_agents(tree, work)
    result = Ownership(twins=twins, names=dict(tool_runs))
    owner, runs = result.owner, result.runs
    excluded: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id)
        if span.kind in _NOT_THE_AGENT or above in excluded:
            excluded.add(span_id)
            owner[span_id] = ""
            continue
        if above is not None:
            within = above in tool_runs and not _is_execution(span, tree)
            context = above if within else owner[above]
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


def _is_execution(span: NormalizedSpan, tree: SpanTree) -> bool:
    """Whether the span tells of the execution of the call above it, which is of the run that made the call."""
    span_id = span.raw.span_id
    leaf = span.kind is Kind.TOOL and span_id not in tree.children
    return leaf and is_same_call(tree.spans[tree.parent[span_id]], span)


@dataclass(frozen=True, slots=True)
class _Work:
    """`inner`: AGENT spans right below an AGENT span; `busy`: AGENT spans and roots with LLM or TOOL work of theirs."""

    inner: dict[str, list[NormalizedSpan]]
    busy: set[str]


def _work(tree: SpanTree) -> _Work:
    anchor: dict[str, str] = {}
    work = _Work({}, set())
    excluded: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id)
        current = span_id if above is None else anchor[above]
        if span.kind in _NOT_THE_AGENT or above in excluded:
            excluded.add(span_id)
        elif span.kind is Kind.AGENT:
            if above is not None:
                work.inner.setdefault(current, []).append(span)
            current = span_id
        elif span.kind in _WORK:
            work.busy.add(current)
        anchor[span_id] = current
    return work


def _agent_wrappers(tree: SpanTree, work: _Work) -> tuple[set[str], dict[str, NormalizedSpan]]:
    """AGENT spans that do nothing themselves but hold the real one: doubled instrumentation, workflow roots."""
    wrappers: set[str] = set()
    twins: dict[str, NormalizedSpan] = {}
    for agent_id, inner in work.inner.items():
        agent = tree.spans[agent_id]
        if agent.kind is not Kind.AGENT or agent_id in work.busy:
            continue
        alone = len(inner) == 1
        first = min(inner, key=time_key).agent_name
        if _is_bare(agent) or (agent.agent_name and (first == agent.agent_name or (alone and not first))):
            wrappers.add(agent_id)
            if alone:
                twins[inner[0].raw.span_id] = agent
    return wrappers, twins


def _is_bare(agent: NormalizedSpan) -> bool:
    """Nothing says that this is an agent of its own: no name, no tools, no limits."""
    return not (agent.agent_name or agent.tool_names or agent.managed_agents or agent.max_steps)


def _missing_agents(tree: SpanTree, work: _Work) -> set[str]:
    """Ids of parents that never arrived and are agents: LLM and TOOL spans, and steps that hold some, hang under them.

    A span of no known kind is a step if no agent is below it. Where the first thing under the missing parent is an
    agent, that parent started agents without asking a model: it is the program around them.
    """
    groups: dict[str, list[NormalizedSpan]] = {}
    for span_id in tree.orphans:
        span = tree.spans[span_id]
        plain = span.kind is Kind.OTHER and span_id not in work.inner and span.raw.kind not in _RECEIVING
        is_step = (span.kind in _STEPS or plain) and span_id in work.busy
        if span.kind is Kind.AGENT or span.kind in _WORK or is_step:
            groups.setdefault(span.raw.parent_span_id, []).append(span)
    return {parent for parent, below in groups.items() if min(below, key=time_key).kind is not Kind.AGENT}
