"""Leaves of a growing trace: spans that are an agent's and change nothing in the roles and owners of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from tracejury.schemas.normalized import NormalizedSpan

from .span_tree import TimeKey, time_key

Leaf = tuple[TimeKey, NormalizedSpan]
"""A leaf and the time by which it stands among others: its own, or that of the step that it is below."""


class Leaves:
    """Groups of leaves, each of those below one span: calls, and steps with the calls below them.

    `groups`: by the span that stands for them in the tree, in the tree's order: their agent, or the first of those that
    name the same missing parent. `above`: the span above a group to the one that stands for it. `holder`: leaf to that
    one; `parent`: leaf to the span above it, where that is known; `steps`: step to the span above it.
    """

    def __init__(self) -> None:
        self.groups: dict[str, tuple[Leaf, ...]] = {}
        self.above: dict[str, str] = {}
        self.holder: dict[str, str] = {}
        self.parent: dict[str, str] = {}
        self.steps: dict[str, str] = {}
        self.spans: dict[str, NormalizedSpan] = {}

    def of(self, span_id: str) -> Iterator[NormalizedSpan]:
        """The leaves for which a span stands."""
        return (span for _, span in self.groups.get(span_id, ()))

    def add(
        self, above: str, spans: Mapping[str, NormalizedSpan], calls: Mapping[str, Sequence[NormalizedSpan]]
    ) -> None:
        """Let spans (by id) right below `above` be leaves of its group; `calls`: those below the steps among them."""
        added: list[Leaf] = []
        for span_id, span in spans.items():
            at = time_key(span)
            added.append((at, span))
            added += ((at, call) for call in calls.get(span_id, ()))
            self.parent |= dict.fromkeys((call.raw.span_id for call in calls.get(span_id, ())), span_id)
        self.steps |= dict.fromkeys(calls, above)
        if self.above[above] == above:
            self.parent |= dict.fromkeys(spans, above)
        self._insert(self.above[above], added)

    def add_to_step(self, step: NormalizedSpan, calls: Sequence[NormalizedSpan]) -> None:
        """Let further calls below a step that is a leaf be leaves."""
        at = time_key(step)
        self.parent |= dict.fromkeys((call.raw.span_id for call in calls), step.raw.span_id)
        self._insert(self.above[self.steps[step.raw.span_id]], [(at, call) for call in calls])

    def _insert(self, holder: str, added: list[Leaf]) -> None:
        known = self.groups.get(holder, ())
        added.sort(key=_place)
        in_order = not known or _place(known[-1]) < _place(added[0])
        self.groups[holder] = (*known, *added) if in_order else tuple(sorted((*known, *added), key=_place))
        spans = {span.raw.span_id: span for _, span in added}
        self.spans |= spans
        self.holder |= dict.fromkeys(spans, holder)

    def first(self, span_id: str) -> NormalizedSpan:
        """The first by time of the leaves for which a span stands."""
        group = self.groups[span_id]
        began = group[0][0][0]  # calls begin no earlier than the step around them
        return min((span for _, span in takewhile(lambda leaf: leaf[0][0] == began, group)), key=time_key)

    def release(self, above: str) -> list[str]:
        """Let nothing below `above` be a leaf; returns the ids of the steps among what was."""
        steps = []
        for _, span in self.groups.pop(self.above.pop(above, ""), ()):
            span_id = span.raw.span_id
            del self.spans[span_id], self.holder[span_id]
            self.parent.pop(span_id, None)
            if self.steps.pop(span_id, None) is not None:
                steps.append(span_id)
        return steps


def _place(leaf: Leaf) -> tuple[TimeKey, bool, TimeKey]:
    at, own = leaf[0], time_key(leaf[1])
    return at, at != own, own  # a step before its calls
