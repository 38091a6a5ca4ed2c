"""Rows of open traces in temporary files: all of them are in the store, too."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final

from tracejury.collector.worker.spill_files import SpillEntry, SpillFiles
from tracejury.processors.trace_rows import TraceRows
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink

_SPAN, _EVENT, _LINK, _LOG = (
    attrgetter(*(f.name for f in fields(kind))) for kind in (Span, SpanEvent, SpanLink, LogRecord)
)
_SPAN_NAMES: Final = tuple(f.name for f in fields(Span))
_EVENTS, _LINKS = _SPAN_NAMES.index("events"), _SPAN_NAMES.index("links")


@dataclass(frozen=True, slots=True)
class SpilledRows:
    """Rows in a file: `spans` of them are spans. Read or dropped once."""

    entry: SpillEntry
    spans: int

    def read(self) -> TraceRows:
        """The rows, which are dropped. Raises OSError, ValueError, EOFError."""
        return _loaded(self.entry.read())

    def drop(self) -> None:
        """Nobody will read them."""
        self.entry.drop()


@dataclass(frozen=True, slots=True)
class SpillRows:
    """Writes rows to files, for one thread."""

    files: SpillFiles

    def put(self, spans: Sequence[Span], logs: Sequence[LogRecord]) -> SpilledRows | None:
        """Write the rows of a trace; None where that is not possible."""
        entry = self.files.put(marshal.dumps(([_plain_span(s) for s in spans], [_plain(_LOG(r)) for r in logs])))
        return SpilledRows(entry, len(spans)) if entry else None


def _plain(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v if isinstance(v, (str, int)) else dict(v) for v in values)


def _plain_span(span: Span) -> tuple[Any, ...]:
    values = list(_SPAN(span))
    values[_EVENTS] = [_plain(_EVENT(e)) for e in span.events]
    values[_LINKS] = [_plain(_LINK(e)) for e in span.links]
    return tuple(v if isinstance(v, (str, int, list)) else dict(v) for v in values)


def _loaded(data: bytes) -> TraceRows:
    spans, logs = marshal.loads(data)  # noqa: S302  written by this process into a file that no other can open
    return [_span(values) for values in spans], [LogRecord(*values) for values in logs]


def _span(values: tuple[Any, ...]) -> Span:
    parts = list(values)
    parts[_EVENTS] = tuple(SpanEvent(*e) for e in parts[_EVENTS])
    parts[_LINKS] = tuple(SpanLink(*e) for e in parts[_LINKS])
    return Span(*parts)
