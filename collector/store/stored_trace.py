"""A trace rebuilt from its stored spans, as judging sees it: with the traces that it is one with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.joining import groups_of, together
from tracejury.processors.life_cycle import state_at
from tracejury.processors.open_trace import OpenTrace, note_parents_elsewhere
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace

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
    held: dict[str, OpenTrace] = {}
    newest: dict[str, int] = {}
    arrived = judging.last_arrivals(ids, now)
    for one, (spans, logs) in judging.load_spans(ids).items():
        newest[one] = max([s.received_at for s in spans] + [r.received_at for r in logs])
        last = min(newest[one], arrived.get(one, newest[one]))
        trace = OpenTrace((tenant, one), last, last)
        trace.add_logs(logs)
        for span in spans[: config.max_spans_per_trace]:
            trace.add_span(span)
        held[one] = trace
    note_parents_elsewhere(list(held.values()))
    spans_of = {i: own for i, t in held.items() if (own := [s for s in t.spans.values() if not ours(s.raw)])}
    if trace_id not in spans_of:
        return None
    group = next(g for g in groups_of(spans_of) if trace_id in g)
    state = together(state_at(held[one], now, config) for one in group)
    elsewhere = {parent for one in group for parent in held[one].elsewhere}
    whole = rebuild([span for one in group for span in spans_of[one]], state=state, elsewhere=elsewhere)
    return replace(whole, trace_id=group[0], received_through=max(newest[one] for one in group))


def stored_traces(judging: StoredJudging, parts: Mapping[str, str], most_spans: int) -> dict[str, Trace]:
    """Closed traces rebuilt at once, by id. `parts`: by the id of each of their traces that of the whole.

    Raises as `stored_trace`.
    """
    spans_of = defaultdict[str, list[NormalizedSpan]](list)
    for one, (spans, logs) in judging.load_spans(sorted(parts)).items():
        trace = OpenTrace(("", one), 0, 0)
        trace.add_logs(logs)
        for span in spans[:most_spans]:
            trace.add_span(span)
        spans_of[parts[one]] += trace.spans.values()
    return {whole: rebuild(spans) for whole, spans in spans_of.items()}
