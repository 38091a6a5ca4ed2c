"""An open trace: its rows as they arrived, normalised when they are needed, and when it was judged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import KnownRuns, TraceState

from .normalize import normalize
from .normalize.message_logs import is_stand_in
from .parents_elsewhere import parents_elsewhere
from .shared_texts import SharedTexts
from .trace_rows import TraceRows, held_size, log_identity, log_size

SHARED_FROM: Final = 4_000_000
"""Bytes of a trace from which its spans share texts, which costs more than to judge them."""

EXPENSIVE: Final = 100_000_000
"""Nanoseconds of CPU time of judging for which others should not wait."""
LARGE_SPANS: Final = 500
"""Spans that may take as long."""
MOST_MISSING: Final = 64
"""Parents that a trace may lack, beyond which they are not looked for in other traces."""


@dataclass(slots=True)
class OpenTrace:
    """A trace that may still change.

    Its rows: `raw` and `logs` (by span and identity), normalised when they are needed, since taking in a backlog must
    be quick. `held`: they are all that is stored; else others must be read first, `spilled` spans of them from files.
    `is_whole`: the store had nothing of it when its first rows came.
    `stored`: its findings as they stand in the store, by id (None: not known), `ledger`, `joined_to` and `memo`
    likewise: what its judges know of it. `arrivals` counts changes, `judged_arrivals` those that were judged.
    `collisions`: spans that came under the id of another one in memory, since it was last told: one an id is stored.
    `elsewhere`: ids of its parents that stand in other traces, `sought` those that were looked for there.
    `forced`: somebody asked for it. `state`, `cost`: of the last judging (CPU nanos). `paid_until`, `due`, `taken`: see
    `Schedule`. Times are unix nanos.
    """

    key: tuple[str, str]  # (tenant, trace id)
    first_arrival: int
    last_arrival: int
    held: bool = False
    is_whole: bool = False
    forced: bool = False
    raw: dict[str, Span] = field(default_factory=dict)
    logs: dict[str, dict[Hashable, LogRecord]] = field(default_factory=dict)
    size: int = 0
    spilled: int = 0
    received_through: int = 0
    arrivals: int = 0
    collisions: int = 0
    judged_arrivals: int = -1
    last_judged: int = 0
    state: TraceState = TraceState.OPEN
    cost: int = 0
    paid_until: int = 0
    due: int | None = None
    taken: bool = False
    stored: dict[str, Finding] | None = None
    ledger: Any = None
    joined_to: str | None = None
    memo: KnownRuns | None = None
    elsewhere: frozenset[str] = frozenset()
    sought: frozenset[str] = frozenset()
    _ended: bool | None = None
    _missing: frozenset[str] = frozenset()
    _normalized: dict[str, NormalizedSpan] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)  # ids, in order
    _texts: SharedTexts | None = None  # from SHARED_FROM on

    @property
    def dirty(self) -> bool:
        """Whether something came that was not judged."""
        return self.arrivals != self.judged_arrivals

    @property
    def spans(self) -> dict[str, NormalizedSpan]:
        """Its spans, normalised, in the order in which they were first seen."""
        for span_id in list(self._changed):
            del self._changed[span_id]  # first: while this thread normalises, another may add to the trace
            read = normalize(self.raw[span_id], tuple(self.logs.get(span_id, {}).values()))
            self._normalized[span_id] = self._texts.share_read(read) if self._texts else read
        return self._normalized

    @property
    def rows(self) -> int:
        """Number of spans and log records in memory."""
        return len(self.raw) + sum(map(len, self.logs.values()))

    @property
    def span_count(self) -> int:
        """Number of its spans, as far as is known without reading them."""
        return len(self.raw) + self.spilled

    @property
    def is_large(self) -> bool:
        """Whether judging it takes so long that others should not wait for it."""
        return self.cost >= EXPENSIVE or self.span_count >= LARGE_SPANS

    def add_span(self, span: Span) -> bool:
        """Add the span unless it is known already; True if the trace changed."""
        known = self.raw.get(span.span_id)
        if known is not None and span.collides(known):
            self.collisions += 1
        if known is not None and (known == span or not span.beats(known)):
            return False
        self._ended = None
        self._put(span)
        if self._texts is None and self.size > SHARED_FROM:
            self._texts = SharedTexts()
            for one in list(self.raw.values()):
                self._put(one)
        return True

    def _put(self, span: Span) -> None:
        known = self.raw.get(span.span_id)
        span = self._texts.share_raw(span) if self._texts else span
        self.raw[span.span_id] = span
        self._changed[span.span_id] = None
        self.size += held_size(span) - (held_size(known) if known else 0)

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
        """Whether every topmost span has ended and is a root, or has its parent in another trace.

        A root has no parent, or a remote one that is absent. Spans that only log records tell of, whose parents are
        not known, do not count.
        """
        if self._ended is None:
            rows = (span for span in self.raw.values() if not is_stand_in(span))
            tops = [span for span in rows if span.parent_span_id not in self.raw]
            self._missing = frozenset(s.parent_span_id for s in tops if not s.is_root)
            self._ended = bool(tops) and self._missing <= self.elsewhere and not any(s.pending for s in tops)
        return self._ended

    def lacks(self) -> frozenset[str]:
        """Ids of parents that did not come; nothing where so many are missing that spans were lost."""
        self.root_ended()
        return self._missing if len(self._missing) <= MOST_MISSING else frozenset()

    def note_elsewhere(self, parents: Iterable[str]) -> None:
        """Note which of its parents stand in other traces, while its rows are in memory."""
        found = frozenset(parents)
        if found != self.elsewhere:
            self.elsewhere, self._ended = found, None

    def note_judged(self, state: TraceState, now: int, cost: int, arrivals: int) -> None:
        """Note a judging that saw so many arrivals."""
        self.state, self.last_judged, self.cost, self.judged_arrivals = state, now, cost, arrivals
        self.forced &= self.dirty

    def release(self) -> TraceRows:
        """Drop the rows, which are in the store, and return them. Whether the root has ended stays known."""
        self.root_ended()
        rows = list(self.raw.values()), [record for beside in self.logs.values() for record in beside.values()]
        self.raw, self.logs, self.size, self.held, self.memo = {}, {}, 0, False, None
        self._normalized, self._changed, self._texts = {}, {}, None
        return rows


def note_parents_elsewhere(traces: Sequence[OpenTrace]) -> None:
    """Note which parents stand in another one of these traces, which are held and may be one."""
    found = parents_elsewhere({t.key[1]: list(t.spans.values()) for t in traces}) if len(traces) > 1 else {}
    for trace in traces:
        trace.note_elsewhere(found.get(trace.key[1], ()))
