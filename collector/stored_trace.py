"""A trace rebuilt from its stored spans, as judging sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..processors.assemble import Assembler, AssemblerConfig
from ..processors.rebuild import rebuild
from ..schemas.spans import Span
from ..schemas.trajectory import Trace
from .store.judging import StoredJudging


def stored_trace(
    judging: StoredJudging,
    trace_id: str,
    tenant: str,
    config: AssemblerConfig,
    now: int,
    ours: Callable[[Span], bool] = lambda _span: False,
) -> Trace | None:
    """The trace in the state it has at `now` (unix nanos), without the spans that are `ours`; None where there is none.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    spans, logs = judging.load_spans([trace_id]).get(trace_id, ([], []))
    if not spans:
        return None
    key = (tenant, trace_id)
    assembler = Assembler(config)
    assembler.request(key, now)
    newest = max([s.received_at for s in spans] + [r.received_at for r in logs])
    assembler.fill(key, spans, logs, newest)
    held = assembler.get(key)
    kept = [span for span in held.spans.values() if not ours(span.raw)] if held else []
    if held is None or not kept:
        return None
    return replace(rebuild(kept, state=assembler.state(held, now)), received_through=newest)
