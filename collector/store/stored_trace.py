"""A trace rebuilt from its stored spans, as judging sees it: with the traces that it is one with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.joining import groups_of, together
from tracejury.processors.life_cycle import state_at
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace, TraceState

from .judging import StoredJudging


def stored_trace(
    judging: StoredJudging,
    trace_id: str,
    tenant: str,
    config: AssemblerConfig,
    now: int,
    ours: Callable[[Span], bool] = lambda _span: False,
) -> Trace | None:
    """The trace in the state it has at `now` (unix nanos), without the spans that are `ours`; None where there is none.

    One that is part of a joined run gives the whole run, under the id of its first trace.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    ids = sorted(judging.joins.with_partners(trace_id))
    kept: dict[str, list[NormalizedSpan]] = {}
    states: dict[str, TraceState] = {}
    newest: dict[str, int] = {}
    for one, (spans, logs) in judging.load_spans(ids).items():
        newest[one] = max([s.received_at for s in spans] + [r.received_at for r in logs])
        trace = OpenTrace((tenant, one), newest[one], newest[one])
        trace.add_logs(logs)
        for span in spans[: config.max_spans_per_trace]:
            trace.add_span(span)
        found = [span for span in trace.spans.values() if not ours(span.raw)]
        if found:
            kept[one], states[one] = found, state_at(trace, now, config)
    if trace_id not in kept:
        return None
    group = next(g for g in groups_of(kept) if trace_id in g)
    state = together(states[one] for one in group)
    whole = rebuild([span for one in group for span in kept[one]], state=state)
    return replace(whole, trace_id=group[0], received_through=max(newest[one] for one in group))
