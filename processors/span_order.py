"""Spans in the order of the whole tree, where the tree at hand has no leaves."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan

from .leaves import Leaf
from .span_tree import SpanTree, TimeKey, time_key

_TIME: Final[Callable[[Leaf], TimeKey]] = itemgetter(0)


def in_tree_order(
    tree: SpanTree, spans: Iterable[NormalizedSpan], leaves: Mapping[str, Sequence[Leaf]]
) -> list[NormalizedSpan]:
    """Spans of the tree and groups of leaves: parents first, siblings by time."""
    place = {span.raw.span_id: at for at, span in enumerate(tree.order)}
    last = list(range(len(tree.order)))  # by place, that of the last span below
    for at in range(len(tree.order) - 1, -1, -1):
        above = tree.parent.get(tree.order[at].raw.span_id)
        if above is not None:
            last[place[above]] = max(last[place[above]], last[at])
    roots = [span for span in tree.order if span.raw.span_id not in tree.parent]
    # Many leaves stand behind one span of the tree, and those of one holder are in order: they move together.
    groups: defaultdict[tuple[int, bool, int], list[Leaf]] = defaultdict(list)
    for span in spans:
        groups[place[span.raw.span_id], False, 0].append((time_key(span), span))
    mixed: set[tuple[int, bool, int]] = set()
    for holder, below in leaves.items():
        is_above = below[0][1].raw.parent_span_id == holder
        own = before = place[holder] if is_above else -1
        at = 0
        for following in tree.children.get(holder, ()) if is_above else roots:
            if at == len(below):
                break
            end = bisect_right(below, time_key(following), at, key=_TIME)
            _add(groups, (before, True, -own), below[at:end], mixed)
            at, before = end, last[place[following.raw.span_id]]
        _add(groups, (before, True, -own), below[at:], mixed)
    for group in mixed:
        groups[group].sort(key=_TIME)
    return [span for group in sorted(groups) for _, span in groups[group]]


def _add(
    groups: defaultdict[tuple[int, bool, int], list[Leaf]],
    group: tuple[int, bool, int],
    leaves: Sequence[Leaf],
    mixed: set[tuple[int, bool, int]],
) -> None:
    if leaves:
        if groups[group]:
            mixed.add(group)
        groups[group] += leaves
