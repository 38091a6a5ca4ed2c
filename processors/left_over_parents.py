"""Spans that name a parent of another trace, in a trace with a root of its own.

A context that was kept too long (a workflow that goes on in a later turn of the conversation) leaves the id of an
earlier parent. The trace is right, so it tells where the span belongs: below the call of a tool in whose time it began,
else below the agent at work. Where two would do, it stays apart. So do calls of models and tools, which tell more by
what they say (`missing_parents.py`, `stray_spans.py`), and all of a trace whose root has not ended: more is to come.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .span_tree import SpanTree, tree_of

_PLACED: Final = frozenset({Kind.OTHER, Kind.CHAIN, Kind.AGENT})
_HOMES: Final = frozenset({Kind.TOOL, Kind.AGENT})


def place_left_overs(tree: SpanTree, elsewhere: Collection[str]) -> SpanTree:
    """The tree with spans whose parents are `elsewhere`, in other traces, below what was at work when they began."""
    ended = {s.raw.trace_id for s in tree.order if s.raw.is_root and not s.raw.pending} if elsewhere else ()
    strays = [
        s
        for s in map(tree.spans.__getitem__, sorted(tree.orphans))
        if s.raw.parent_span_id in elsewhere and s.kind in _PLACED and s.raw.trace_id in ended
    ]
    if not strays:
        return tree
    loose = set(tree.orphans)
    homes: dict[str, list[NormalizedSpan]] = {}
    for span in tree.order:
        if tree.parent.get(span.raw.span_id) in loose:
            loose.add(span.raw.span_id)
        elif span.kind in _HOMES and span.raw.span_id not in loose:
            homes.setdefault(span.raw.trace_id, []).append(span)
    found = {s.raw.span_id: home for s in strays if (home := _at_work(tree, homes.get(s.raw.trace_id, ()), s))}
    return tree_of([_below(s, found.get(s.raw.span_id, "")) for s in tree.by_time], tree.parent | found)


def _at_work(tree: SpanTree, homes: Sequence[NormalizedSpan], stray: NormalizedSpan) -> str:
    """The innermost span that was at work when the stray began, "" where two were that are not nested."""
    running = [s.raw.span_id for s in homes if s.raw.start <= stray.raw.start < s.raw.end]  # parents before children
    around = {running[-1], *tree.ancestors(running[-1])} if running else set()
    return running[-1] if running and around.issuperset(running) else ""


def _below(span: NormalizedSpan, above: str) -> NormalizedSpan:
    """The span with the parent that was found, for all that reads a trace's spans without their tree."""
    return replace(span, raw=replace(span.raw, parent_span_id=above)) if above else span
