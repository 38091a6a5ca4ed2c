"""Due traces with all that is stored of them, and with those that they are one with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.collector.store.judging import StoredJudging
from tracejury.processors.assemble import Assembler, TraceKey
from tracejury.processors.joining import join_keys, log_traces
from tracejury.processors.log_spans import MARK
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.session_joins import AROUND, lone_span, session_of
from tracejury.schemas.findings import Finding

from .lacked_parents import LackedParents
from .memory import TraceMemory

LOAD_ROWS: Final = 20_000
_MOST_BESIDE: Final = 64  # traces of its session that a tool's or agent's span alone is looked at with


@dataclass(frozen=True, slots=True)
class Gathering:
    """Reads what is missing of open traces: from `memory`, which may have it in files, else from the store.

    `reads_ledger`: entries of LLM judges are read, too.

    `before_reading` has what was found in these traces stored first, where it is not yet.
    """

    store: StoredJudging
    assembler: Assembler
    memory: TraceMemory
    before_reading: Callable[[Collection[TraceKey]], None]
    reads_ledger: bool
    _joins: dict[str, bool] = field(default_factory=dict)
    _lacked: dict[str, LackedParents] = field(default_factory=dict)

    def complete(self, due: Sequence[OpenTrace], now: int) -> list[OpenTrace]:
        """Those of the traces that are held at `now`; beyond about `LOAD_ROWS` stored rows the others wait."""
        for trace in due:
            self.memory.read(trace)
        cold = [t for t in due if not t.held]
        if not cold:
            return list(due)
        self.before_reading({t.key for t in cold})
        counts = {
            (tenant, trace_id): count
            for tenant, ids in _by_tenant(t.key for t in cold).items()
            for trace_id, count in self.store.of(tenant).known_rows(ids).items()
        }
        wanted: list[OpenTrace] = []
        rows = 0
        for trace in cold:
            count = counts.get(trace.key, 0)
            if not trace.forced and count <= trace.rows:  # the store has nothing else
                trace.stored, trace.ledger, trace.held, trace.is_whole = {}, {}, True, True
            elif not wanted or rows + count <= LOAD_ROWS:
                wanted.append(trace)
                rows += count
        self._load(wanted, now)
        return [t for t in due if t.held]

    def groups(self, due: Sequence[OpenTrace], now: int) -> Iterator[tuple[OpenTrace, ...]]:
        """Each of these traces, which are held, with those that may be one with it; in most stores there is none.

        A trace comes once: with the first that it is tied to.
        """
        self._look_up_parents(due, now)
        tied = self._keep_join_keys(due) | self._tied(due)
        done: set[TraceKey] = set()
        for trace in due:
            if trace.key in done:
                continue
            group = self._group_of(trace, due, now) if trace.key in tied else (trace,)
            done |= {t.key for t in group if self.assembler.is_open(t)}
            yield group

    def reviewed(self, trace: OpenTrace) -> Mapping[str, Finding]:
        """The stored findings of a trace with what LLM judges said of them meanwhile."""
        return self.store.reviewed(trace.stored or {})

    def refresh(self, group: Sequence[OpenTrace]) -> None:
        """Read the ledger of these traces, of one tenant, again: LLM judges write to it meanwhile."""
        if not self.reads_ledger:
            return
        ledgers = self.store.of(group[0].key[0]).load_ledger([t.key[1] for t in group])
        for trace in group:
            trace.ledger = dict(ledgers.get(trace.key[1], {}))

    def _keep_join_keys(self, traces: Sequence[OpenTrace]) -> set[TraceKey]:
        """Store the keys of these traces where they lead to others; returns those that have such."""
        keys = {t.key: own for t in traces if (own := join_keys(t.spans.values()) - {f"trace:{t.key[1]}"})}
        for found in (self._keys_of_log_traces(traces), self._keys_of_lone_spans(traces)):
            for key, own in found.items():
                keys[key] = keys.get(key, frozenset()) | own
        for tenant, ids in _by_tenant(keys).items():
            leading = {trace_id: keys[tenant, trace_id] for trace_id in ids}
            self.store.of(tenant).joins.keep(leading, max(t.received_through for t in traces))
            self._joins[tenant] = True
        return set(keys)

    def _keys_of_log_traces(self, traces: Sequence[OpenTrace]) -> dict[TraceKey, frozenset[str]]:
        """Keys of the stored traces of log events that belong to these, and of those among them that are such."""
        found: dict[TraceKey, set[str]] = {}
        for trace in traces:
            spans, (tenant, own) = trace.spans.values(), trace.key
            for told in log_traces(spans):
                found.setdefault((tenant, told), set()).add(f"trace:{own}")
            events = next((s for s in spans if MARK in s.raw.attributes and s.session_id), None)
            if events is not None:
                others = self.store.of(tenant).sessions.traces(events.raw.service, events.session_id)
                found.setdefault(trace.key, set()).update(f"trace:{t.trace_id}" for t in others if t.trace_id != own)
        stored = {
            (tenant, trace_id)
            for tenant, ids in _by_tenant(found).items()
            for trace_id in self.store.of(tenant).known_rows(ids)
        }
        return {key: frozenset(own) for key, own in found.items() if own and key in stored}

    def _keys_of_lone_spans(self, traces: Sequence[OpenTrace]) -> dict[TraceKey, frozenset[str]]:
        """Keys of traces of a tool's or an agent's span alone: their session, and the traces of it near in time.

        Other traces have the key of their session only if such a trace has left it.
        """
        found: dict[TraceKey, frozenset[str]] = {}
        waiting: dict[str, dict[str, list[TraceKey]]] = {}
        for trace in traces:
            spans, tenant = list(trace.spans.values()), trace.key[0]
            if (session := session_of(spans)) is None:
                continue
            key = f"beside:{session[1]}:{session[2]}"
            if (alone := lone_span(spans)) is None:
                waiting.setdefault(tenant, {}).setdefault(key, []).append(trace.key)
                continue
            held = self.store.of(tenant).sessions.traces(*session[1:])
            near = [t.trace_id for t in held if abs(alone.raw.start - t.start) <= AROUND][-_MOST_BESIDE:]
            found[trace.key] = frozenset({key, *(f"trace:{t}" for t in near if t != trace.key[1])})
        for tenant, sessions in waiting.items():
            left = {key for trace, own in found.items() if trace[0] == tenant for key in own} & sessions.keys()
            if self._has_joins(tenant):
                left |= self.store.of(tenant).joins.known(sessions.keys() - left)
            found |= {trace: frozenset({key}) for key in left for trace in sessions[key]}
        return found

    def _look_up_parents(self, traces: Sequence[OpenTrace], now: int) -> None:
        """Store keys that lead to the traces in which parents of others stand."""
        held: dict[str, list[OpenTrace]] = {}
        for trace in traces:
            held.setdefault(trace.key[0], []).append(trace)
        for tenant, own in held.items():
            if tenant not in self._lacked:
                self._lacked[tenant] = LackedParents(self.store.of(tenant).joins, is_shared=self.store.is_shared)
            if self._lacked[tenant].look_up(own, now, self.assembler.config):
                self._joins[tenant] = True

    def _has_joins(self, tenant: str) -> bool:
        if tenant not in self._joins or (self.store.is_shared and not self._joins[tenant]):
            self._joins[tenant] = self.store.of(tenant).joins.any()
        return self._joins[tenant]

    def _tied(self, traces: Sequence[OpenTrace]) -> set[TraceKey]:
        """Those that the stored keys tie to others."""
        tied: set[TraceKey] = set()
        for tenant, ids in _by_tenant(t.key for t in traces).items():
            if self._has_joins(tenant):
                tied |= {(tenant, trace_id) for trace_id in self.store.of(tenant).joins.tied(ids)}
        return tied

    def _group_of(self, trace: OpenTrace, due: Sequence[OpenTrace], now: int) -> tuple[OpenTrace, ...]:
        """A tied trace with those that may be one with it; those that are not held here are read for the moment."""
        tenant, trace_id = trace.key
        store = self.store.of(tenant)
        together = store.joins.with_partners(trace_id)
        if len(together) == 1:
            return (trace,)
        self.before_reading({(tenant, t) for t in together})
        members = [trace]
        for one in sorted(together - {trace_id}):
            other = self.assembler.get((tenant, one))
            if other is None:
                continue
            if other.taken and not any(other is t for t in due):  # another thread judges it, and will do so again
                self.memory.request(other.key, now)
                continue
            self.memory.read(other)
            if other.held and other.stored is not None:
                members.append(other)
        missing = sorted(together - {t.key[1] for t in members})
        told = store.joined_to(sorted(together))
        others = [OpenTrace((tenant, i), now, now, forced=True, joined_to=told.get(i)) for i in missing]
        self._load(others, now)
        return (*members, *(t for t in others if t.raw))

    def _load(self, traces: Sequence[OpenTrace], now: int) -> None:
        """Complete these from the store; a trace that was found complete with these rows is so."""
        config = self.assembler.config
        for tenant, ids in _by_tenant(t.key for t in traces).items():
            store = self.store.of(tenant)
            store.read_judgements(ids)
            rows_of, findings = store.load_spans(ids), store.load_findings(ids)
            ledgers, arrived = store.load_ledger(ids) if self.reads_ledger else {}, store.last_arrivals(ids, now)
            settled = store.settled(ids) if store.is_shared else {}
            for trace in traces:
                if trace.key[0] != tenant:
                    continue
                spans, logs = rows_of.get(trace.key[1], ([], []))
                trace.stored = {f.id: f for f in findings.get(trace.key[1], ())}
                trace.ledger = dict(ledgers.get(trace.key[1], {}))
                received = [span.received_at for span in spans] + [record.received_at for record in logs]
                newest = max(received, default=trace.last_arrival)
                self.assembler.fill(trace, spans, logs, newest, min(newest, arrived.get(trace.key[1], newest)))
                if settled.get(trace.key[1], -1) >= newest:
                    trace.last_arrival = min(trace.last_arrival, now - max(config.quiet, config.rootless))


def _by_tenant(keys: Iterable[TraceKey]) -> Mapping[str, list[str]]:
    """Trace ids by their tenant: what is read of one must be no other's."""
    found: dict[str, list[str]] = {}
    for tenant, trace_id in keys:
        found.setdefault(tenant, []).append(trace_id)
    return found
