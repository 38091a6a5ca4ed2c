"""Spans to a forest: duplicates collapsed, missing parents as roots, cycles broken, all in one order.

Everything here depends on the set of spans only, never on the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tracejury.schemas.normalized import NormalizedSpan

from .parents_elsewhere import joined_by_parents

TimeKey = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class SpanTree:
    """`spans`: by id, and `order`: all spans, parents before children, siblings by time. `by_time`: all by `time_key`.

    `parent`: known parents only. `orphans`: roots that name a parent which is not among the spans (lost, late, or in
    another process).
    """

    order: list[NormalizedSpan]
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
        return SpanTree(order, by_time, {**self.spans, **spans}, self.parent, children, self.orphans)


def time_key(span: NormalizedSpan) -> TimeKey:
    """Sort key by time: start (the end replaces a missing start), then end, then id."""
    raw = span.raw
    return (raw.start or raw.end, raw.end, raw.span_id)


def build_tree(spans: Iterable[NormalizedSpan]) -> SpanTree:
    """The forest of `spans`, of one trace or of several that are one."""
    unique = collapse(spans)
    ordered = sorted(unique.values(), key=time_key)
    homes = _homes(ordered)
    parent = {
        s.raw.span_id: s.raw.parent_span_id
        for s in ordered
        if s.raw.parent_span_id in unique
        and s.raw.parent_span_id != s.raw.span_id
        and unique[s.raw.parent_span_id].raw.trace_id in (s.raw.trace_id, homes.get(s.raw.trace_id))
    }
    _break_cycles(ordered, parent)
    return tree_of(ordered, parent)


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
    order = list(_preorder(roots, children))
    spans = {s.raw.span_id: s for s in order}
    orphans = frozenset(s.raw.span_id for s in roots if s.raw.parent_span_id and s.raw.parent_span_id not in spans)
    return SpanTree(order, ordered, spans, parent, children, orphans)


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
    position: dict[str, int] = {}
    done: set[str] = set()
    for span in ordered:
        current: str | None = span.raw.span_id
        above = parent.get(span.raw.span_id)
        if above is None or above in done:  # nearly all: parents begin before their children
            done.add(span.raw.span_id)
            continue
        path: list[str] = []
        on_path: set[str] = set()
        while current is not None and current not in done and current not in on_path:
            path.append(current)
            on_path.add(current)
            current = parent.get(current)
        if current is not None and current in on_path:
            cycle = path[path.index(current) :]
            position = position or {s.raw.span_id: i for i, s in enumerate(ordered)}
            del parent[min(cycle, key=position.__getitem__)]
        done.update(path)


def _preorder(roots: list[NormalizedSpan], children: dict[str, list[NormalizedSpan]]) -> Iterator[NormalizedSpan]:
    stack = roots[::-1]
    while stack:
        span = stack.pop()
        yield span
        if below := children.get(span.raw.span_id):
            stack.extend(reversed(below))
