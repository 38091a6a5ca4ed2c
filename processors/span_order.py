"""Spans in the order of the whole tree, where the tree at hand has no leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..schemas.normalized import NormalizedSpan
from .span_tree import SpanTree, TimeKey, time_key


def in_tree_order(
    tree: SpanTree, spans: Iterable[NormalizedSpan], leaves: Mapping[str, Sequence[NormalizedSpan]]
) -> list[NormalizedSpan]:
    """Spans of the tree and leaves (see `SpanIndex`): parents first, siblings by time."""
    place = {span.raw.span_id: at for at, span in enumerate(tree.order)}
    last = list(range(len(tree.order)))  # by place, that of the last span below
    for at in range(len(tree.order) - 1, -1, -1):
        above = tree.parent.get(tree.order[at].raw.span_id)
        if above is not None:
            last[place[above]] = max(last[place[above]], last[at])
    none: TimeKey = (0, 0, "")
    roots = [span for span in tree.order if span.raw.span_id not in tree.parent]
    keyed = [((place[span.raw.span_id], False, 0, none), span) for span in spans]
    for holder, below in leaves.items():
        is_above = below[0].raw.parent_span_id == holder
        own = before = place[holder] if is_above else -1
        beside = iter(tree.children.get(holder, ()) if is_above else roots)
        following = next(beside, None)
        for leaf in below:
            key = time_key(leaf)
            while following is not None and time_key(following) < key:
                before, following = last[place[following.raw.span_id]], next(beside, None)
            keyed.append(((before, True, -own, key), leaf))
    return [span for _, span in sorted(keyed, key=lambda one: one[0])]
