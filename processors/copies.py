"""Spans that were exported twice under new ids: an exporter or processor that is registered twice sends such.

All of a copy is as in the first but its id, and its parent's: the same, a copy itself, or missing. It counts as a
record beside the first, of no kind, so that nothing is done, asked or paid for twice; what hangs below it hangs below
the first, and so does the copy of a root.

Start and end are the same to the nanosecond, which no two operations share. Of clocks that tick in milliseconds they
may: what such a clock timed is a copy only with its parent, or with an id of the call; what took no time, only with
that id.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .span_tree import SpanTree, tree_of

_TICK: Final = 1_000_000
_MOST: Final = 64  # spans of one name, time and parent that are compared
_CALLS: Final = frozenset({Kind.LLM, Kind.TOOL})


def without_copies(tree: SpanTree) -> SpanTree:
    """The tree in which copies are of no kind; the same tree where there are none."""
    raws = [span.raw for span in tree.by_time]
    times = {(a.start, a.end) for a, b in pairwise(raws) if a.start == b.start and a.end == b.end}
    if not times:
        return tree
    first_of: dict[str, str] = {}  # by a copy's id
    firsts: dict[Hashable, list[NormalizedSpan]] = {}
    for span in tree.order:  # parents first
        raw = span.raw
        if (raw.start, raw.end) not in times:
            continue
        above = tree.parent.get(raw.span_id, "")
        known = firsts.setdefault((raw.start, raw.end, raw.name, first_of.get(above, above)), [])
        first = next((other for other in known if _is_copy(span, other)), None)
        if first is not None:
            first_of[raw.span_id] = first.raw.span_id
        elif len(known) < _MOST:
            known.append(span)
    if not first_of:
        return tree
    parent = first_of | {below: first_of.get(above, above) for below, above in tree.parent.items()}
    copies = {i: NormalizedSpan(tree.spans[i].raw, Kind.OTHER, tree.spans[i].convention) for i in first_of}
    return tree_of([copies.get(span.raw.span_id, span) for span in tree.by_time], parent)


def _is_copy(span: NormalizedSpan, first: NormalizedSpan) -> bool:
    one, other = span.raw, first.raw
    if (one.kind, one.status_code, one.status_message) != (other.kind, other.status_code, other.status_message):
        return False
    if one.attributes != other.attributes or one.events != other.events or one.pending != other.pending:
        return False
    if one.start >= one.end:
        return span.kind in _CALLS and _has_id(span)
    if one.start % _TICK or one.end % _TICK or span.kind not in _CALLS:
        return True
    return one.parent_span_id != other.parent_span_id or _has_id(span)


def _has_id(span: NormalizedSpan) -> bool:
    """Whether the span carries an id that no other call has."""
    return bool(span.tool_call_id or "gen_ai.response.id" in span.raw.attributes) or any(
        request.call_id for request in span.tool_requests
    )
