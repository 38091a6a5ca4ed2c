"""A capture as it is stored, and as it is rebuilt undamaged: what the rungs of the ladder work on."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tracejury.processors.normalize import normalize
from tracejury.schemas.batch import Batch
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace


@dataclass(frozen=True, slots=True)
class Recording:
    """Spans in order of start, log records in order of time; `traces`: what they show undamaged."""

    spans: tuple[NormalizedSpan, ...]
    logs: tuple[LogRecord, ...]
    traces: tuple[Trace, ...]

    @property
    def raw(self) -> tuple[Span, ...]:
        """The spans as they are stored."""
        return tuple(span.raw for span in self.spans)


def recording(batches: Iterable[Batch], traces: tuple[Trace, ...]) -> Recording:
    """What arrived in `batches`, of each span the row that stands in the end."""
    rows: dict[tuple[str, str], Span] = {}
    logs: list[LogRecord] = []
    for batch in batches:
        for span in batch.spans:
            known = rows.get((span.trace_id, span.span_id))
            if known is None or span.beats(known):
                rows[span.trace_id, span.span_id] = span
        logs += batch.logs
    logs.sort(key=lambda log: (log.time or log.observed_time, log.trace_id, log.span_id))
    of: defaultdict[tuple[str, str], list[LogRecord]] = defaultdict(list)
    for log in logs:
        of[log.trace_id, log.span_id].append(log)
    read = (normalize(span, tuple(of.get(key, ()))) for key, span in rows.items())
    return Recording(tuple(sorted(read, key=_when)), tuple(logs), traces)


def _when(span: NormalizedSpan) -> tuple[int, str, str]:
    return span.raw.start, span.raw.trace_id, span.raw.span_id


def new_id(*parts: str, digits: int = 16) -> str:
    """An id (16 hex digits: a span's, 32: a trace's) that the same parts always give."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=digits // 2).hexdigest()
