"""Records of one operation that lost their nesting: the inner one is a root, its parent never came or had ended before.

A framework and the client or library that it uses both record a call, one inside the other. Where the inner span's
parent is unknown, or an earlier call, it is put below the record around it: the tightest span of its kind that holds it
in time and tells of the same call, by its id, or by equal arguments, replies or names with nothing that differs. Two
records of one scope and name may as well be two calls: of these only an id, or nearly the same time and the same reply,
tells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .doubles import goes_on_from
from .names import canonical, same_name
from .normalize.values import as_text
from .span_tree import SpanTree, tree_of

_KINDS: Final = frozenset({Kind.AGENT, Kind.LLM, Kind.TOOL})
_RECENT: Final = 16  # spans of a kind, begun before, that a span is compared with
_REACH: Final = 64  # levels above a span
_LEAST_REPLY: Final = 16  # characters; shorter replies identify nothing
_SLACK: Final = 20  # of its time, the part by which a record may be longer than the one of its scope inside it


def nest_records(tree: SpanTree) -> SpanTree:
    """The tree with such spans below the records around them; the same tree where there are none."""
    loose = {s.raw.span_id for s in tree.llm_calls if _came_after_its_parent(s, tree)}
    if tree.orphans or len(tree.order) - len(tree.parent) > 1:  # most traces have one root, which is whole
        loose.update(s.raw.span_id for s in tree.order if s.kind in _KINDS and s.raw.span_id not in tree.parent)
    if not loose or (not tree.orphans and loose == {tree.order[0].raw.span_id}):
        return tree
    parent, found = dict(tree.parent), dict[str, str]()
    begun: dict[Kind, deque[NormalizedSpan]] = {kind: deque(maxlen=_RECENT) for kind in _KINDS}
    held: set[tuple[str, str, str]] = set()  # outer record, scope and name of the one in it
    for span in sorted(
        (s for s in tree.by_time if s.kind in _KINDS), key=lambda s: (s.raw.start, -s.raw.end, s.span_id)
    ):
        raw = span.raw
        if raw.span_id in loose:
            around = (o for o in begun[span.kind] if o.raw.start <= raw.start and raw.end <= o.raw.end)
            for outer in sorted(around, key=lambda o: (o.raw.end - o.raw.start, o.raw.span_id)):
                above = outer.raw.span_id
                place = (above, raw.scope_name, raw.name)
                if place in held or not _is_one(outer, span) or _is_above(raw.span_id, above, parent):
                    continue
                held.add(place)
                parent[raw.span_id] = found[raw.span_id] = above
                break
        begun[span.kind].append(span)
    return tree_of([_below(span, found) for span in tree.by_time], parent) if found else tree


def _came_after_its_parent(call: NormalizedSpan, tree: SpanTree) -> bool:
    """Whether an LLM call hangs below another one that had ended before."""
    above = tree.parent.get(call.raw.span_id)
    outer = tree.spans[above] if above is not None else call
    return outer.kind is Kind.LLM and outer.raw.start < outer.raw.end <= call.raw.start


def _below(span: NormalizedSpan, found: Mapping[str, str]) -> NormalizedSpan:
    """The span with the parent that was found, for all that reads a trace's spans without their tree."""
    above = found.get(span.raw.span_id)
    return replace(span, raw=replace(span.raw, parent_span_id=above)) if above else span


def _is_one(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    """Whether two spans of a kind, one in the other's time, record one operation."""
    a, b = outer.raw, inner.raw
    if a.trace_id == b.trace_id and (a.start, a.end) == (b.start, b.end):
        return False  # copies are told by all that they say
    apart = a.scope_name != b.scope_name
    if outer.kind is Kind.AGENT:
        return apart and bool(outer.agent_name) and canonical(outer.agent_name) == canonical(inner.agent_name)
    if outer.kind is Kind.TOOL:
        return _is_one_tool(outer, inner, apart=apart)
    return _is_one_reply(outer, inner, apart=apart or a.name != b.name)


def _is_one_tool(outer: NormalizedSpan, inner: NormalizedSpan, *, apart: bool) -> bool:
    if not (outer.tool_name and inner.tool_name and same_name(outer.tool_name, inner.tool_name)):
        return False
    if outer.tool_call_id and inner.tool_call_id:
        return outer.tool_call_id == inner.tool_call_id
    one, other = as_text(outer.tool_arguments), as_text(inner.tool_arguments)
    return apart and (not one or not other or one == other)


def _is_one_reply(outer: NormalizedSpan, inner: NormalizedSpan, *, apart: bool) -> bool:
    ids = [[r.call_id for r in span.tool_requests if r.call_id] for span in (outer, inner)]
    if ids[0] or ids[1]:
        return ids[0] == ids[1]
    if not outer.output or outer.output.strip() != inner.output.strip() or goes_on_from(outer, inner):
        return False
    lost = outer.raw.end - outer.raw.start - (inner.raw.end - inner.raw.start)
    near = lost * _SLACK <= outer.raw.end - outer.raw.start and len(outer.output) >= _LEAST_REPLY
    return apart or near


def _is_above(span_id: str, other: str, parent: dict[str, str]) -> bool:
    """Whether `other` is the span or below it."""
    above: str | None = other
    for _ in range(_REACH):
        if above is None or above == span_id:
            return above == span_id
        above = parent.get(above)
    return True
