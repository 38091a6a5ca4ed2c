"""Runs that nothing joins with another, but whose spans state who started them (`tracejury.agent.parent`)."""

from __future__ import annotations

from .names import canonical
from .ownership import Ownership, RunStart, is_below
from .span_tree import SpanTree, TimeKey, time_key


def follow_stated_parents(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with such runs below the last run of the stated agent that began before them."""
    parents = {
        ownership.owner[s.raw.span_id]: s.agent_parent
        for s in tree.order
        if s.agent_parent and canonical(s.agent_parent) != canonical(s.agent_name or s.agent_hint)
    }
    alone = {run: name for run, name in parents.items() if run and not ownership.runs[run]}
    if not alone:
        return ownership
    began: dict[str, TimeKey] = {}
    named: dict[str, dict[str, TimeKey]] = {}  # by name: runs with the first span that has it, in order of time
    for span in tree.by_time:
        run, name = ownership.owner[span.raw.span_id], canonical(span.agent_name or span.agent_hint)
        if run and name and run not in (runs := named.setdefault(name, {})):
            runs[run] = time_key(span)
            began.setdefault(run, runs[run])
    started: dict[str, RunStart] = {}
    above = dict(ownership.runs)
    for run, name in alone.items():
        earlier = [r for r, at in named.get(canonical(name), {}).items() if at <= began.get(run, at)]
        if earlier and not is_below(earlier[-1], run, above):
            started[run] = RunStart(earlier[-1], "", "", "")
            above[run] = earlier[-1]
    return ownership.related(started)
