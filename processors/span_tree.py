"""Spans to a forest: duplicates collapsed, missing parents as roots, cycles broken, all in one order.

Everything here depends on the set of spans only, never on the order in which they came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .parents_elsewhere import joined_by_parents

TimeKey = tuple[int, int, str]
NEVER: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class SpanTree:
    """`spans`: by id, and `order`: all spans, parents before children, siblings by time. `by_time`: all by `time_key`.

    `llm_calls`: those of kind LLM, in `order`. `parent`: known parents only. `orphans`: roots that name a parent which
    is not among the spans (lost, late, or in another process).
    """

    order: list[NormalizedSpan]
    llm_calls: list[NormalizedSpan]
    by_time: list[NormalizedSpan]
    spans: dict[str, NormalizedSpan]
    parent: dict[str, str]
    children: dict[str, list[NormalizedSpan]]
    orphans: frozenset[str]

    def ancestors(self, span_id: str) -> Iterator[str]:
        """Ids of the known ancestors, nearest first."""
        parent = self.parent
        current = parent.get(span_id)
        while current is not None:
            yield current
            current = parent.get(current)

    def changed(self, spans: Mapping[str, NormalizedSpan]) -> SpanTree:
        """The same tree with some spans read in another way; `spans` by id."""
        if not spans:
            return self
        order, by_time = ([spans.get(s.raw.span_id, s) for s in all_] for all_ in (self.order, self.by_time))
        above = {self.parent[span_id] for span_id in spans if span_id in self.parent}
        children = self.children | {p: [spans.get(s.raw.span_id, s) for s in self.children[p]] for p in above}
        calls = [s for s in order if s.kind is Kind.LLM]
        return SpanTree(order, calls, by_time, {**self.spans, **spans}, self.parent, children, self.orphans)


def time_key(span: NormalizedSpan) -> TimeKey:
    """Sort key by time: start (the end replaces a missing start), then end, then id."""
    raw = span.raw
    return (raw.start or raw.end, raw.end, raw.span_id)


def ended(span: NormalizedSpan) -> int:
    """The end of the span, later than any other's while it goes on."""
    return NEVER if span.raw.pending else span.raw.end


def extent(spans: Collection[NormalizedSpan]) -> tuple[int, int]:
    """When the spans were at work: the first start (see `time_key`) and the last end; for no spans, at no time."""
    return min((s.raw.start or s.raw.end for s in spans), default=NEVER), max(map(ended, spans), default=0)


def build_tree(spans: Iterable[NormalizedSpan]) -> SpanTree:
    """The forest of `spans`, of one trace or of several that are one."""
    unique = collapse(spans)
    ordered = sorted(unique.values(), key=time_key)
    homes = _homes(ordered)
    parent = {
        s.raw.span_id: s.raw.parent_span_id
        for s in ordered
        if (above := unique.get(s.raw.parent_span_id)) is not None
        and above is not s
        and above.raw.trace_id in (s.raw.trace_id, homes.get(s.raw.trace_id))
    }
    tree = tree_of(ordered, parent)
    if len(tree.order) < len(ordered):  # no root is above a cycle
        _break_cycles(ordered, parent)
        tree = tree_of(ordered, parent)
    return tree


def _homes(spans: Iterable[NormalizedSpan]) -> dict[str, str]:
    """Traces whose topmost spans have their parents in another one, with that one."""
    traces: dict[str, list[NormalizedSpan]] = {}
    for span in spans:
        traces.setdefault(span.raw.trace_id, []).append(span)
    return dict(joined_by_parents(traces)) if len(traces) > 1 else {}


def tree_of(ordered: list[NormalizedSpan], parent: dict[str, str]) -> SpanTree:
    """The forest of spans in order of time, of different ids, by the parents that are among them."""
    children: dict[str, list[NormalizedSpan]] = {}
    roots = []
    for span in ordered:
        above = parent.get(span.raw.span_id)
        if above is None:
            roots.append(span)
        else:
            children.setdefault(above, []).append(span)
    spans: dict[str, NormalizedSpan] = {}
    stack = roots[::-1]
    while stack:
        span = stack.pop()
        spans[span.raw.span_id] = span
        if below := children.get(span.raw.span_id):
            stack += reversed(below)
    order = list(spans.values())
    calls = [s for s in order if s.kind is Kind.LLM]
    orphans = frozenset(s.raw.span_id for s in roots if s.raw.parent_span_id and s.raw.parent_span_id not in spans)
    return SpanTree(order, calls, ordered, spans, parent, children, orphans)


def collapse(spans: Iterable[NormalizedSpan]) -> dict[str, NormalizedSpan]:
    """The spans by id; of several with one id the one that counts."""
    unique: dict[str, NormalizedSpan] = {}
    for span in spans:
        span_id = span.raw.span_id
        known = unique.get(span_id)
        if known is None or (known != span and _beats(span, known)):
            unique[span_id] = span
    return unique


def _beats(span: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Finished beats pending, then the later end, then the later arrival; between equals any fixed order will do."""
    ours, theirs = _rank(span), _rank(other)
    return ours > theirs if ours != theirs else repr(span) > repr(other)


def _rank(span: NormalizedSpan) -> tuple[bool, int, int]:
    return (not span.raw.pending, span.raw.end, span.raw.received_at)


def _break_cycles(ordered: list[NormalizedSpan], parent: dict[str, str]) -> None:
    """Make the earliest span of each cycle a root."""
    position = {span.raw.span_id: at for at, span in enumerate(ordered)}
    done: set[str] = set()
    for span_id in position:
        current: str | None = span_id
        path: dict[str, None] = {}
        while current is not None and current not in done and current not in path:
            path[current] = None
            current = parent.get(current)
        if current in path:
            cycle = list(path)
            del parent[min(cycle[cycle.index(current) :], key=position.__getitem__)]
        done.update(path)
