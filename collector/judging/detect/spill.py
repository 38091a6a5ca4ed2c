"""Rows of open traces in temporary files: reading them back costs a fraction of what a query costs.

Nothing in them is needed after a restart: all of it is in the store. A file has no name, so it ends with the process.
"""

from __future__ import annotations

import logging
import marshal
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Final

from ....processors.trace_rows import TraceRows
from ....schemas.config_base import MIB
from ....schemas.spans import LogRecord, Span, SpanEvent, SpanLink
from ...worker.log_throttle import LogThrottle

log = logging.getLogger(__name__)

SEGMENT_BYTES: Final = 64 * MIB
"""A file takes rows up to about this size, and is given back once none of them is needed any more."""
MOST_BYTES: Final = 2048 * MIB
"""Of all files; what finds no room is read from the store."""

_SPAN, _EVENT, _LINK, _LOG = (
    attrgetter(*(f.name for f in fields(kind))) for kind in (Span, SpanEvent, SpanLink, LogRecord)
)
_SPAN_NAMES: Final = tuple(f.name for f in fields(Span))
_EVENTS, _LINKS = _SPAN_NAMES.index("events"), _SPAN_NAMES.index("links")


class SpillSegment:
    """One temporary file. `live`: how many of its entries may still be read."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  drop() closes it
        self.size = self.live = 0

    def append(self, data: bytes) -> int:
        """Write; returns the offset. Raises OSError."""
        offset = self.size
        if os.pwrite(self._file.fileno(), data, offset) < len(data):
            raise OSError("the disk is full")
        self.size += len(data)
        self.live += 1
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """Raises OSError."""
        return os.pread(self._file.fileno(), size, offset)

    def close(self) -> None:
        """Give its space back."""
        self._file.close()


@dataclass(slots=True)
class SpilledRows:
    """Rows in a file: `spans` of them are spans. Read or dropped once."""

    files: SpillFiles
    segment: SpillSegment
    offset: int
    size: int
    spans: int

    def read(self) -> TraceRows:
        """The rows, which are dropped. Raises OSError, ValueError, EOFError."""
        try:
            return _loaded(self.segment.read(self.offset, self.size))
        finally:
            self.drop()

    def drop(self) -> None:
        """Nobody will read them."""
        self.files.release(self.segment)


class SpillFiles:
    """Files in `folder`, for one thread. `min_free_bytes`: of the disk, which the files leave to others."""

    def __init__(
        self,
        folder: Path,
        *,
        min_free_bytes: int = 0,
        segment_bytes: int = SEGMENT_BYTES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._folder, self._min_free = folder, min_free_bytes
        self._segment_bytes, self._most = segment_bytes, most_bytes
        self._segments: list[SpillSegment] = []
        self._throttle = LogThrottle(time.monotonic_ns)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(segment.size for segment in self._segments)

    def put(self, spans: Sequence[Span], logs: Sequence[LogRecord]) -> SpilledRows | None:
        """Write the rows of a trace; None where that is not possible."""
        data = marshal.dumps(([_plain_span(s) for s in spans], [_plain(_LOG(r)) for r in logs]))
        if self.size + len(data) > self._most:
            return None
        try:
            segment = self._current()
            offset = segment.append(data)
        except OSError as error:
            if self._throttle.due("unwritable"):
                log.warning("open traces cannot be kept in %s, and are read from the store: %s", self._folder, error)
            return None
        return SpilledRows(self, segment, offset, len(data), len(spans))

    def release(self, segment: SpillSegment) -> None:
        """One entry of the file is not needed any more."""
        segment.live -= 1
        if not segment.live:
            self._segments.remove(segment)
            segment.close()

    def _current(self) -> SpillSegment:
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._segments or self._segments[-1].size >= self._segment_bytes:
            if shutil.disk_usage(self._folder).free < self._min_free + self._segment_bytes:
                raise OSError("its disk is nearly full")
            self._segments.append(SpillSegment(self._folder))
        return self._segments[-1]


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
