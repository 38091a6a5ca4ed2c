"""Spans whose parent stands in another trace: queues, workflow engines and kept contexts carry a parent's id alone.

An id is 64 random bits, so that one which is found in exactly one other trace of the project, in a span that began up
to a day before, names its parent; ids that several traces use name nothing. A trace of which all topmost spans have
their parents in one other trace is a part of it (`joining.py`). Where it has a root of its own, the id is left over
from other work, and its own trace tells where the span belongs (`left_over_parents.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan

from .normalize.message_logs import is_stand_in

_SKEW: Final = 5_000_000_000  # nanos between the clocks of two machines
_REACH: Final = 24 * 3_600_000_000_000  # nanos between the starts of a span and its parent

Traces = Mapping[str, Sequence[NormalizedSpan]]


def parents_elsewhere(traces: Traces) -> dict[str, dict[str, str]]:
    """By trace id: the ids of parents that are not in it, with the one other of these traces that each stands in.

    Traces without such parents are absent.
    """
    first = {trace: lacked for trace, spans in traces.items() if (lacked := _lacked(spans))}
    wanted = {parent for starts in first.values() for parent in starts}
    holders: dict[str, dict[str, int]] = {}
    for trace, spans in traces.items():
        for span in spans if wanted else ():
            if span.raw.span_id in wanted:
                holders.setdefault(span.raw.span_id, {})[trace] = span.raw.start
    found: dict[str, dict[str, str]] = {}
    for trace, starts in first.items():
        for parent, start in starts.items():
            if len(held := holders.get(parent, {})) == 1:
                ((home, begun),) = held.items()
                if begun - _SKEW <= start <= begun + _REACH:
                    found.setdefault(trace, {})[parent] = home
    return found


def _lacked(spans: Sequence[NormalizedSpan]) -> dict[str, int]:
    """Ids of parents that a trace does not have, with the start of the first span below each (unix nanos)."""
    own = {s.raw.span_id for s in spans}
    starts: dict[str, int] = {}
    for span in spans:
        parent, start = span.raw.parent_span_id, span.raw.start
        if parent not in own and not span.raw.is_root:
            starts[parent] = min(start, starts.get(parent, start))
    return starts


def joined_by_parents(traces: Traces) -> Iterator[tuple[str, str]]:
    """Traces of which all topmost spans have their parents in one other trace, with that one."""
    for trace, found in parents_elsewhere(traces).items():
        own = {s.raw.span_id for s in traces[trace]}
        tops = (s.raw for s in traces[trace] if s.raw.parent_span_id not in own and not is_stand_in(s.raw))
        homes = {"" if raw.is_root else found.get(raw.parent_span_id, "") for raw in tops}
        if len(homes) == 1 and (home := homes.pop()):
            yield trace, home
