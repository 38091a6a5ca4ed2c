"""Sub-agents whose spans stand beside their manager's and state, each, the run that they are of (`run_hint`).

Claude Code writes a sub-agent's id on all its requests and tools, which do not always hang below the call that started
it; the main agent's have none. So a run in which some calls of the model state no id, and others do, holds those of
sub-agents: one run an id, below the run of the stated parent, else below the one whose spans they stand among.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .delegation import addressee, delegates
from .ownership import Ownership, is_below, parents_first
from .span_tree import SpanTree, time_key

_PARENT = "parent_agent_id"


def divide_by_stated_ids(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with runs of such sub-agents, each with the id of its first span."""
    if not any(span.run_hint for span in tree.order):
        return ownership
    first = _first_spans(tree, ownership)
    if not first:
        return ownership
    owner = dict(ownership.owner)
    for span in tree.order:  # parents first
        run, above = ownership.owner[span.span_id], tree.parent.get(span.span_id, "")
        if (run, span.run_hint) in first:
            owner[span.span_id] = first[run, span.run_hint].span_id
        elif above and ownership.owner[above] == run and not span.run_hint:
            owner[span.span_id] = owner[above]
    runs, names = dict(ownership.runs), dict(ownership.names)
    by_hint = {hint: span.span_id for (_, hint), span in first.items()}
    for (run, _), span in first.items():
        above = by_hint.get(span.raw.attributes.get(_PARENT, ""), run)
        runs[span.span_id] = above = run if is_below(above, span.span_id, runs) else above
        asked = _addressed(tree, ownership, run, span) if above == run else iter(())
        if name := span.agent_hint or next(asked, ""):
            names[span.span_id] = name
    return replace(ownership, owner=owner, runs=parents_first(runs), names=names)


def _first_spans(tree: SpanTree, ownership: Ownership) -> dict[tuple[str, str], NormalizedSpan]:
    """By the run that they stand in and the id that they state: the first spans of sub-agents."""
    mixed = _mixed(tree, ownership)
    first: dict[tuple[str, str], NormalizedSpan] = {}
    for span in tree.by_time if mixed else ():
        run = ownership.owner[span.span_id]
        if run in mixed and span.run_hint and span.kind in (Kind.LLM, Kind.TOOL) and span.span_id not in ownership.runs:
            first.setdefault((run, span.run_hint), span)
    return first


def _mixed(tree: SpanTree, ownership: Ownership) -> set[str]:
    """Runs of which some calls of the model state an id and others none."""
    stating: set[str] = set()
    silent: set[str] = set()
    for span in tree.llm_calls:
        if run := ownership.owner[span.span_id]:
            (stating if span.run_hint else silent).add(run)
    return stating & silent


def _addressed(tree: SpanTree, ownership: Ownership, run: str, first: NormalizedSpan) -> Iterator[str]:
    """The names of agents that calls of the run addressed before the sub-agent's first span, the last call first."""
    for span in reversed(tree.by_time):
        own = ownership.owner[span.span_id] == run and not span.run_hint and time_key(span) <= time_key(first)
        if own and span.kind is Kind.TOOL and delegates(span.tool_name, span.tool_arguments):
            yield addressee(span.tool_name, span.tool_arguments)
