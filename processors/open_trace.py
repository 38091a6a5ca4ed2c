"""An open trace: its rows as they arrived, normalised when they are needed."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span

from .normalize import normalize
from .trace_rows import Spill, Spilled, TraceRows, log_identity, log_size, span_size

EXPENSIVE: Final = 100_000_000
"""Nanoseconds of CPU time of judging for which others should not wait."""
LARGE_SPANS: Final = 500
"""Spans that may take as long."""


@dataclass(slots=True)
class OpenTrace:
    """A trace that may still change.

    `held` is False where its spans must be read first: those that are `spilled`, else all of them from the store.
    `is_whole`: the store had nothing of it when its first rows came.
    `raw`: its spans as they arrived. They are normalised when they are needed: taking in a backlog must be quick.
    `quiet`: nanoseconds without arrivals after which it settles, once its root has ended.
    `logs`: span id to its log records by identity. `stored`: its findings as they stand in the store, by id (None: not
    known). `cache`, `ledger`: what the judges want to keep between two passes over it. `joined_to`: as it is stored,
    None where that is not known. `is_apart`: it is being judged beside others, while rows arrive: `arrivals` counts
    how often.
    """

    key: tuple[str, str]  # (tenant, trace id)
    first_arrival: int
    last_arrival: int
    held: bool = False
    is_whole: bool = False
    dirty: bool = True
    forced: bool = False
    raw: dict[str, Span] = field(default_factory=dict)
    logs: dict[str, dict[Hashable, LogRecord]] = field(default_factory=dict)
    size: int = 0
    last_judged: int = 0
    cost: int = 0
    received_through: int = 0
    stored: dict[str, Finding] | None = None
    cache: Any = None
    ledger: Any = None
    joined_to: str | None = None
    spilled: list[Spilled] = field(default_factory=list)
    is_apart: bool = False
    arrivals: int = 0
    quiet: int = 0
    _ended: bool | None = None
    _normalized: dict[str, NormalizedSpan] = field(default_factory=dict)
    _hashes: dict[str, int] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)  # ids, in order
    _content: int = 0

    @property
    def spans(self) -> dict[str, NormalizedSpan]:
        """Its spans, normalised, in the order in which they were first seen."""
        self.read()
        return self._normalized

    @property
    def content(self) -> int:
        """A number of 128 bits that tells its content: the sum of hashes of each span's end, status and size."""
        self.read()
        return self._content

    @property
    def is_read(self) -> bool:
        """Whether all that has come is normalised."""
        return not self._changed

    def read(self) -> None:
        """Normalise what has come since the last time."""
        changed, self._changed = self._changed, {}  # of a trace that is apart another thread adds to the new one
        for span_id in changed:
            span, logs = self.raw[span_id], tuple(self.logs.get(span_id, {}).values())
            self._normalized[span_id] = read = normalize(span, logs)
            before, self._hashes[span_id] = self._hashes.get(span_id, 0), _hash(span, len(read.log_text))
            self._content = (self._content + self._hashes[span_id] - before) % (1 << 128)

    @property
    def rows(self) -> int:
        """Number of spans and log records in memory."""
        return len(self.raw) + sum(map(len, self.logs.values()))

    def add_span(self, span: Span) -> bool:
        """Add the span unless it is known already; True if the trace changed."""
        known = self.raw.get(span.span_id)
        if known is not None and (known == span or not span.beats(known)):
            return False
        self.raw[span.span_id] = span
        self._changed[span.span_id] = None
        self._ended = None
        self.size += span_size(span) - (span_size(known) if known else 0)
        return True

    def add_logs(self, records: Iterable[LogRecord]) -> bool:
        """Add the new records, with which their spans are normalised again; True if there were any."""
        touched: set[str] = set()
        for record in records:
            beside = self.logs.setdefault(record.span_id, {})
            key = log_identity(record)
            if key not in beside:
                beside[key] = record
                touched.add(record.span_id)
                self.size += log_size(record)
        self._changed |= dict.fromkeys(i for i in touched if i in self.raw)
        return bool(touched)

    def root_ended(self) -> bool:
        """Whether every topmost span has ended and is a root: without parent, or below a remote one that is absent."""
        if self._ended is None:
            tops = [span for span in self.raw.values() if span.parent_span_id not in self.raw]
            self._ended = bool(tops) and all(not s.pending and s.is_root for s in tops)
        return self._ended

    @property
    def is_large(self) -> bool:
        """Whether judging it takes so long that others should not wait for it."""
        return self.cost >= EXPENSIVE or self.span_count >= LARGE_SPANS

    @property
    def span_count(self) -> int:
        """Number of its spans, as far as is known without reading them."""
        return len(self.raw) + sum(part.spans for part in self.spilled)

    def release(self, spill: Spill | None = None) -> None:
        """Drop the content, which is in the store, and perhaps in `spill`. Whether the root has ended stays known."""
        self.root_ended()
        is_whole = self.held or bool(self.spilled)
        part = spill.put(list(self.raw.values()), list(self._records())) if spill and is_whole else None
        self.held, self.cache = False, None
        self._clear()
        if part is not None:
            self.spilled.append(part)
        else:
            self.stored = self.ledger = None
            self.drop_spilled()

    def _clear(self) -> None:
        self.raw, self._normalized, self.logs, self.size = {}, {}, {}, 0
        self._hashes, self._changed, self._content = {}, {}, 0

    def take_spilled(self) -> TraceRows | None:
        """All its rows, of which nothing is left here; None where they must be read from the store."""
        parts, self.spilled = self.spilled, []
        try:
            rows = [part.read() for part in parts]
        except (OSError, ValueError, EOFError):
            self.spilled = parts
            self.drop_spilled()
            self.stored = self.ledger = None
            return None
        if not rows:
            return None
        rows.append((list(self.raw.values()), list(self._records())))
        self._clear()
        return [span for spans, _ in rows for span in spans], [record for _, logs in rows for record in logs]

    def _records(self) -> Iterator[LogRecord]:
        for beside in self.logs.values():
            yield from beside.values()

    def drop_spilled(self) -> None:
        """Nobody will read what was spilled."""
        for part in self.spilled:
            part.drop()
        self.spilled = []


def _hash(span: Span, logs: int) -> int:
    text = f"{span.span_id} {span.end} {span.pending} {span.status_code} {span_size(span)} {logs}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())
