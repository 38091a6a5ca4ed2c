"""Traces as they are judged: their state, input hash, and the parts of a joined one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from tracejury.processors.open_trace import OpenTrace
from tracejury.schemas.findings import FindingState
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.sampling import upstream_probability
from tracejury.schemas.trajectory import Trace, TraceState


def standing(state: TraceState) -> FindingState:
    """How a detector's finding stands in a trace of that state."""
    return FindingState.PROVISIONAL if state is TraceState.OPEN else FindingState.CURRENT


def input_hash(state: TraceState, contents: Iterable[int]) -> str:
    """Hash of a trace's state and of the contents of all traces that it was rebuilt from (32 hex digits)."""
    text = f"{state} {sum(contents)}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def part(joined: Trace, trace: OpenTrace, state: TraceState) -> Trace:
    """One of several traces that were judged as one: with the runs of all of them, and its own spans."""
    own = {i: span for i, span in joined.spans.items() if span.raw.trace_id == trace.key[1]}
    return replace(
        joined,
        trace_id=trace.key[1],
        state=state,
        spans=own,
        remainder=tuple(span for span in joined.remainder if span.span_id in own),
        start=min((s.raw.start for s in own.values()), default=joined.start),
        end=max((s.raw.end for s in own.values()), default=joined.end),
        received_through=trace.received_through,
        joined_to=joined.trace_id,
    )


def upstream(trace: Trace) -> float:
    """The probability with which an upstream sampler kept the trace: that of its first span, since its root decides."""
    first = next(iter(trace.spans.values()), None)
    return upstream_probability(first.raw.trace_state) if first else 1.0


def unbuilt_trace(trace: OpenTrace, spans: Iterable[NormalizedSpan], state: TraceState) -> Trace:
    """A trace that could not be rebuilt: all its spans are in the remainder."""
    ordered = sorted(spans, key=lambda s: (s.raw.start, s.span_id))
    return Trace(
        trace_id=trace.key[1],
        tenant=trace.key[0],
        service=ordered[0].raw.service,
        session_id="",
        state=state,
        runs=(),
        spans={s.span_id: s for s in ordered},
        remainder=tuple(ordered),
        start=ordered[0].raw.start,
        end=max(s.raw.end for s in ordered),
        received_through=trace.received_through,
    )
