"""All that was recorded of a trace as text, to compare transcripts with."""

from __future__ import annotations

import json

from tracejury.schemas.trajectory import Trace


def raw_view(trace: Trace) -> str:
    """Every span as it was sent: ids, name, times, status, attributes and events, as JSON in order."""
    spans = (s.raw for s in trace.spans.values())
    told = [
        {
            "span_id": s.span_id,
            "parent_span_id": s.parent_span_id,
            "name": s.name,
            "start": s.start,
            "end": s.end,
            "status": [s.status_code, s.status_message],
            "attributes": dict(s.attributes),
            "events": [{"name": e.name, "attributes": dict(e.attributes)} for e in s.events],
        }
        for s in spans
    ]
    return json.dumps(told, ensure_ascii=False)
