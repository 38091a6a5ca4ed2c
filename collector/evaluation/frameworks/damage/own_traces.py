"""Each span as the root of a trace of its own: only the session ties them together.

The session is the one that the span states, else the trace that it came from, so that what was apart stays apart.
"""

from __future__ import annotations

from dataclasses import replace

from tracejury.schemas.batch import Batch

from .recording import Recording, new_id


def own_traces(of: Recording) -> Batch | None:
    """Trace ids made of span ids, no parents, no links, and `session.id` on each span."""
    if len(of.spans) < 2:  # noqa: PLR2004 - one span is alone anyway
        return None
    session = {trace.trace_id: trace.session_id for trace in of.traces}
    spans = []
    for span in of.spans:
        raw = span.raw
        told = span.session_id or session.get(raw.trace_id, "") or raw.trace_id
        attributes = {**raw.attributes, "session.id": told}
        alone = new_id(raw.trace_id, raw.span_id, digits=32)
        spans.append(replace(raw, trace_id=alone, parent_span_id="", flags=0, links=(), attributes=attributes))
    logs = [
        replace(log, trace_id=new_id(log.trace_id, log.span_id, digits=32)) if log.span_id else log for log in of.logs
    ]
    return Batch(spans, logs)
