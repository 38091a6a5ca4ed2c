"""Each span exported twice: all of it is expected once."""

from __future__ import annotations

from dataclasses import replace

from tracejury.schemas.batch import Batch

from .recording import Recording, new_id


def same_ids(of: Recording) -> Batch:
    """Two exporters, one tracer: the same rows again."""
    return Batch([*of.raw, *of.raw], [*of.logs, *of.logs])


def new_ids(of: Recording) -> Batch:
    """Two tracers: the same tree of spans again, in which nothing but the ids of spans differs."""
    ids = {span.span_id: copy_of(span.span_id) for span in of.raw}
    spans = [
        replace(s, span_id=ids[s.span_id], parent_span_id=ids.get(s.parent_span_id, s.parent_span_id)) for s in of.raw
    ]
    logs = [replace(log, span_id=ids.get(log.span_id, log.span_id)) for log in of.logs]
    return Batch([*of.raw, *spans], [*of.logs, *logs])


def copy_of(span_id: str) -> str:
    """The id of a span's copy."""
    return new_id("copy", span_id)
