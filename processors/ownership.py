"""Which agent run each span belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..schemas.normalized import Kind, NormalizedSpan
from .span_tree import SpanTree, time_key

_NOT_THE_AGENT: Final = frozenset({Kind.EVALUATOR, Kind.GUARDRAIL})
_WORK: Final = frozenset({Kind.LLM, Kind.TOOL})
_FRAMEWORK: Final = frozenset({Kind.LLM, Kind.TOOL, Kind.CHAIN, Kind.PLAN, Kind.RETRIEVER})


@dataclass(frozen=True, slots=True)
class Ownership:
    """`runs`: ids of the agent runs, parents first, with the id of the run above ("" for none).

    `owner`: span id to run id, "" for the trace's remainder. A run's own AGENT span is owned by the run itself;
    a run whose AGENT span is unknown has the id of the missing span that its spans name as parent.
    """

    runs: dict[str, str] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)


def assign_owners(tree: SpanTree) -> Ownership:
    """Give each span to the run of its nearest AGENT ancestor, known or referenced."""
    wrappers = _agent_wrappers(tree)
    referenced = _referenced_runs(tree)
    result = Ownership()
    owner, runs = result.owner, result.runs
    excluded: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id)
        if above in excluded or span.kind in _NOT_THE_AGENT:
            excluded.add(span_id)
            owner[span_id] = ""
            continue
        if above is not None:
            context = owner[above]
        else:
            context = span.raw.parent_span_id if span_id in referenced else ""
            if context:
                runs.setdefault(context, "")
        if span.kind is Kind.AGENT and span_id not in wrappers:
            runs[span_id] = context
            context = span_id
        owner[span_id] = context
    return result


def _agent_wrappers(tree: SpanTree) -> set[str]:
    """AGENT spans that do nothing themselves but hold the real one: doubled instrumentation, workflow roots."""
    nearest: dict[str, str] = {}
    busy: set[str] = set()
    inner: dict[str, list[NormalizedSpan]] = {}
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id)
        agent = nearest.get(above, "") if above is not None else ""
        if span.kind is Kind.AGENT:
            inner.setdefault(agent, []).append(span)
            agent = span_id
        elif span.kind in _WORK and agent:
            busy.add(agent)
        nearest[span_id] = agent
    return {
        agent
        for agent, within in inner.items()
        if agent and agent not in busy and _only_wraps(tree.spans[agent], within)
    }


def _only_wraps(agent: NormalizedSpan, within: list[NormalizedSpan]) -> bool:
    return not agent.agent_name or (len(within) == 1 and within[0].agent_name in ("", agent.agent_name))


def _referenced_runs(tree: SpanTree) -> set[str]:
    """Orphans that are evidence of a run whose AGENT span is missing.

    Framework spans (LLM, TOOL, CHAIN) hang under agents. Where the first thing under the missing parent is an agent,
    that parent started agents without asking a model: it is the program around them.
    """
    groups: dict[str, list[NormalizedSpan]] = {}
    for span_id in tree.orphans:
        span = tree.spans[span_id]
        groups.setdefault(span.raw.parent_span_id, []).append(span)
    found: set[str] = set()
    for group in groups.values():
        earliest = min((s for s in group if s.kind in _FRAMEWORK or s.kind is Kind.AGENT), key=time_key, default=None)
        if earliest is not None and earliest.kind is not Kind.AGENT and any(s.kind in _FRAMEWORK for s in group):
            found.update(s.raw.span_id for s in group if s.kind in _FRAMEWORK or s.kind is Kind.AGENT)
    return found
