"""Different spans of one trace that came under one id in one request: all are kept, all but the first under a new id.

The store keeps one row an id, so that without this one of them would be lost. Which one keeps the id depends on the
spans alone, not on their order. Of spans that come in different requests the store keeps one: when the second is
decoded, nothing tells of the first without a look at the store for every span, and whatever stands there by then is
told apart from an earlier version of the same span (which senders do correct) only by being looked at together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from tracejury.schemas.spans import Span

SHARED_ID: Final = "tracejury.span.shared_id"
"""Attribute of a span that was given a new id: the one that it came with."""


def apart(spans: Sequence[Span]) -> Sequence[Span]:
    """The spans, each of another name and start than the first one of its id under an id of its own.

    Versions of one span (of one name, or one start, or not finished) keep their id.
    """
    if len({(span.trace_id, span.span_id) for span in spans}) == len(spans):
        return spans
    by_id: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in spans:
        by_id[span.trace_id, span.span_id].append(span)
    firsts = {key: _first(same) for key, same in by_id.items()}
    return [_renamed(s) if s.collides(firsts[s.trace_id, s.span_id]) else s for s in spans]


def _first(same: Iterable[Span]) -> Span:
    return min(same, key=lambda s: (s.pending, s.start, s.name))


def _renamed(span: Span) -> Span:
    told = f"{span.trace_id} {span.span_id} {span.start} {span.name}"
    return replace(
        span,
        span_id=sha256(told.encode()).hexdigest()[: len(span.span_id)],
        attributes={**span.attributes, SHARED_ID: span.span_id},
    )
