"""Due traces with all that is stored of them, and with those that they are one with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.judging import StoredJudging
from tracejury.processors.assemble import Assembler, TraceKey
from tracejury.processors.joining import join_keys
from tracejury.processors.open_trace import OpenTrace
from tracejury.schemas.findings import Finding
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.verdicts import LedgerEntries

LOAD_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class StoredTraceRows:
    """All stored rows of one trace."""

    spans: list[Span]
    logs: list[LogRecord]
    findings: list[Finding]
    ledger: LedgerEntries


class Gathering:
    """Fills traces of `assembler` from the store. `reads_ledger`: whether the entries of LLM judges are read, too.

    `before_reading` has what was found in these traces stored first, where it is not yet.
    """

    def __init__(
        self,
        store: StoredJudging,
        assembler: Assembler,
        *,
        reads_ledger: bool,
        before_reading: Callable[[Collection[TraceKey]], None] = lambda _keys: None,
    ) -> None:
        self._store, self._assembler, self._reads_ledger = store, assembler, reads_ledger
        self._before_reading = before_reading
        self._joins: dict[str, bool] = {}

    def read(self, due: Sequence[OpenTrace]) -> dict[TraceKey, StoredTraceRows]:
        """Stored rows of the traces that are not held, up to about `LOAD_ROWS` rows."""
        for trace in due:
            self._assembler.read_spilled(trace)
        cold = [t for t in due if not t.held]
        if not cold:
            return {}
        self._before_reading({t.key for t in cold})
        counts = {
            (tenant, trace_id): count
            for tenant, ids in _by_tenant(t.key for t in cold).items()
            for trace_id, count in self._store.of(tenant).known_rows(ids).items()
        }
        keys: list[TraceKey] = []
        rows = 0
        for trace in cold:
            count = counts.get(trace.key, 0)
            if not trace.forced and count <= trace.rows:
                trace.is_whole, trace.stored, trace.ledger = True, {}, {}
                self._assembler.mark_complete(trace.key)
            elif not keys or rows + count <= LOAD_ROWS:
                keys.append(trace.key)
                rows += count
        return self._load(keys)

    def fill(self, trace: OpenTrace, stored: StoredTraceRows) -> None:
        """Complete an open trace."""
        trace.stored = {f.id: f for f in stored.findings}
        trace.ledger = dict(stored.ledger)
        self._assembler.fill(trace.key, stored.spans, stored.logs, _newest(stored) or trace.last_arrival)

    def save_join_keys(self, traces: Sequence[OpenTrace]) -> set[TraceKey]:
        """Keep the keys of these traces, which are held, where they lead to others; returns those that have such."""
        keys = {t.key: own for t in traces if (own := _leading(t))}
        for tenant, ids in _by_tenant(keys).items():
            leading = {trace_id: keys[tenant, trace_id] for trace_id in ids}
            self._store.of(tenant).keep_joins(leading, max(t.received_through for t in traces))
            self._joins[tenant] = True
        return set(keys)

    def find_tied(self, due: Sequence[OpenTrace]) -> set[TraceKey]:
        """The traces of this step that are tied to others at all: in most stores none is."""
        tied: set[TraceKey] = set()
        for tenant, ids in _by_tenant(t.key for t in due).items():
            store = self._store.of(tenant)
            if tenant not in self._joins:
                self._joins[tenant] = store.any_joins()
            if self._joins[tenant]:
                tied |= {(tenant, trace_id) for trace_id in store.tied(ids)}
        return tied

    def reviewed(self, trace: OpenTrace) -> Mapping[str, Finding]:
        """The stored findings of a trace with what LLM judges said of them meanwhile."""
        return self._store.reviewed(trace.stored or {})

    def holds(self, trace: OpenTrace) -> bool:
        """Whether it is an open trace here, and all of it is."""
        return self._assembler.get(trace.key) is trace and trace.held

    def group_of(self, trace: OpenTrace) -> tuple[OpenTrace, ...]:
        """A tied trace with those that may be one with it, which are read where they are not held here."""
        tenant, trace_id = trace.key
        store = self._store.of(tenant)
        together = store.joined([trace_id]).get(trace_id)
        if together is None:
            return (trace,)
        self._before_reading({(tenant, t) for t in together})
        open_here = [self._assembler.get((tenant, t)) for t in sorted(together - {trace_id})]
        for one in filter(None, open_here):
            self._assembler.read_spilled(one)
        members = [trace, *(t for t in open_here if t is not None and t.held and t.stored is not None)]
        missing = self._load([(tenant, t) for t in sorted(together - {t.key[1] for t in members})])
        told = store.joined_to(sorted(together))
        members += [_closed(key, stored, told.get(key[1])) for key, stored in missing.items() if stored.spans]
        return tuple(members)

    def refresh(self, group: Sequence[OpenTrace]) -> None:
        """Read the ledger of these traces, of one tenant, again: LLM judges write to it meanwhile."""
        if not self._reads_ledger or not group:
            return
        ledgers = self._store.of(group[0].key[0]).load_ledger([t.key[1] for t in group])
        for trace in group:
            trace.ledger = dict(ledgers.get(trace.key[1], {}))

    def _load(self, keys: Sequence[TraceKey]) -> dict[TraceKey, StoredTraceRows]:
        found: dict[TraceKey, StoredTraceRows] = {}
        for tenant, ids in _by_tenant(keys).items():
            store = self._store.of(tenant)
            rows_of, findings = store.load_spans(ids), store.load_findings(ids)
            ledgers = store.load_ledger(ids) if self._reads_ledger else {}
            for i in ids:
                rows = rows_of.get(i, ([], []))
                found[tenant, i] = StoredTraceRows(*rows, findings.get(i, []), ledgers.get(i, {}))
        return found


def _by_tenant(keys: Iterable[TraceKey]) -> Mapping[str, list[str]]:
    """Trace ids by their tenant: what is read of one must be no other's."""
    found: dict[str, list[str]] = {}
    for tenant, trace_id in keys:
        found.setdefault(tenant, []).append(trace_id)
    return found


def _leading(trace: OpenTrace) -> frozenset[str]:
    """The keys of a trace that lead to others."""
    return join_keys(trace.spans.values()) - {f"trace:{trace.key[1]}"}


def _closed(key: TraceKey, stored: StoredTraceRows, joined_to: str | None) -> OpenTrace:
    """A trace that is not open here, for the moment in which it is judged with others."""
    newest = _newest(stored)
    trace = OpenTrace(key, first_arrival=newest, last_arrival=newest, held=True, received_through=newest)
    trace.add_logs(stored.logs)
    for span in stored.spans:
        trace.add_span(span)
    trace.stored = {f.id: f for f in stored.findings}
    trace.ledger = dict(stored.ledger)
    trace.joined_to = joined_to
    return trace


def _newest(stored: StoredTraceRows) -> int:
    return max([s.received_at for s in stored.spans] + [r.received_at for r in stored.logs], default=0)
