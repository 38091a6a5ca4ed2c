"""Parents that traces lack, and the other traces that have a span of their ids."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.collector.store.joins import StoredJoins, lacking_key
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.life_cycle import state_at
from tracejury.processors.open_trace import OpenTrace
from tracejury.schemas.trajectory import TraceState

_MOST_PARENTS: Final = 10_000  # that are remembered, the latest ones
_MOST_TRACES: Final = 256  # that lack one parent
_AMBIGUOUS: Final = 2  # traces that have one id, from which on it names nothing


@dataclass(slots=True)
class _Lacked:
    """The traces that lack a parent, and those that have a span of its id.

    `leads`: keys may lead from the former to the latter.
    """

    traces: set[str] = field(default_factory=set)
    holders: set[str] = field(default_factory=set)
    leads: bool = False


class LackedParents:
    """Parents that the traces of one tenant lack, some of which stand in other traces, stored before or after.

    They are looked for once a trace is quiet, since most parents come last, among the spans of the last `max_age`.
    Those that were found, and those of a trace that closes without them, are kept in the store for traces that come
    later. Which traces are one is decided by their spans (`processors.parents_elsewhere`); keys only have them looked
    at together. So an id leads to the first trace that has it, and to a second one, which shows that it is not unique;
    where two have it at once, it leads nowhere.
    """

    def __init__(self, joins: StoredJoins, *, is_shared: bool = False) -> None:
        """`is_shared`: other processes have traces of the same store, too. What a trace lacks is then kept at once."""
        self._joins, self._is_shared = joins, is_shared
        self._lacked: OrderedDict[str, _Lacked] = OrderedDict()
        self._is_read = False

    def look_up(self, traces: Sequence[OpenTrace], now: int, config: AssemblerConfig) -> bool:
        """Keep keys that lead from traces, these or earlier ones, to those that have their parents; whether any do.

        `traces` are held; those that have all parents cost no query. Raises RetryableError, StoreError.
        """
        if not self._is_read:
            for parent, trace_id in reversed(self._joins.lacking(_MOST_PARENTS)):
                self._add(parent, trace_id).leads = True
            self._is_read = True
        asking = [t for t in traces if _asks(t, now, config)]
        if self._is_shared:
            self._exchange(traces, asking)
        asked = self._asked(traces, asking)
        found = self._joins.holders(asked, now - config.max_age, _AMBIGUOUS + 1) if asked else {}
        known = {p: self._lacked[p].holders | (holders - self._lacked[p].traces) for p, holders in found.items()}
        keys = self._keys(known, asked)
        leads = bool(keys)
        for trace in traces:
            if state_at(trace, now, config) is TraceState.INCOMPLETE:
                own = trace.key[1]
                keys[own] |= {lacking_key(parent, own) for parent in trace.lacks() if not self._is_ambiguous(parent)}
        if keys:
            self._joins.keep(keys, max(t.received_through for t in traces))
        for parent, holders in known.items():
            lacked = self._lacked[parent]
            lacked.holders, lacked.leads = holders, lacked.leads or len(holders) == 1
        for trace in asking:
            trace.sought |= trace.lacks()
        return leads

    def _exchange(self, traces: Sequence[OpenTrace], asking: Sequence[OpenTrace]) -> None:
        """Tell other processes what these traces lack, then read what others lack of their spans.

        Spans are stored before they are looked at here, and what a trace lacks before its parents are looked for: of
        two processes one at least finds the other's trace.
        """
        lacks = {t.key[1]: [lacking_key(p, t.key[1]) for p in t.lacks() - t.sought] for t in asking}
        if any(lacks.values()):
            self._joins.keep(lacks, max(t.received_through for t in asking))
        for parent, trace_id in self._joins.lacking_of({i for t in traces for i in t.raw}, _MOST_PARENTS):
            if all(trace_id != t.key[1] or parent not in t.raw for t in traces):
                self._add(parent, trace_id).leads = True

    def _keys(self, known: Mapping[str, set[str]], asked: Mapping[str, set[str]]) -> defaultdict[str, set[str]]:
        """Keys of the traces that lack these parents, by those that are `known` to have them now."""
        keys: defaultdict[str, set[str]] = defaultdict(set)
        for parent, holders in known.items():
            lacked = self._lacked[parent]
            if lacked.leads or len(holders) == 1:
                for trace_id in lacked.traces if holders != lacked.holders else asked[parent]:
                    keys[trace_id] |= {f"trace:{one}" for one in holders} | {lacking_key(parent, trace_id)}
        return keys

    def _asked(self, traces: Sequence[OpenTrace], asking: Sequence[OpenTrace]) -> dict[str, set[str]]:
        """By parent to be looked for: those of `asking` that lack it; none where one of `traces` brings it."""
        asked: dict[str, set[str]] = {}
        for trace in traces:
            own = trace.key[1]
            for parent in self._lacked.keys() & trace.raw.keys():
                lacked = self._lacked[parent]
                lacked.traces.discard(own)  # it came in the trace itself
                if not lacked.traces:
                    del self._lacked[parent]
                elif own not in lacked.holders:
                    asked.setdefault(parent, set())
        for trace in asking:
            for parent in sorted(trace.lacks() - trace.sought):
                self._add(parent, trace.key[1])
                asked.setdefault(parent, set()).add(trace.key[1])
        return {
            parent: own for parent, own in asked.items() if parent in self._lacked and not self._is_ambiguous(parent)
        }

    def _add(self, parent: str, trace_id: str) -> _Lacked:
        lacked = self._lacked.setdefault(parent, _Lacked())
        if len(lacked.traces) < _MOST_TRACES:
            lacked.traces.add(trace_id)
        if len(self._lacked) > _MOST_PARENTS:
            self._lacked.popitem(last=False)
        return lacked

    def _is_ambiguous(self, parent: str) -> bool:
        lacked = self._lacked.get(parent)
        return lacked is not None and len(lacked.holders) >= _AMBIGUOUS


def _asks(trace: OpenTrace, now: int, config: AssemblerConfig) -> bool:
    """Whether a trace that is quiet lacks parents that were not looked for yet."""
    is_quiet = not trace.dirty or now >= trace.last_arrival + config.quiet
    return is_quiet and not trace.lacks() <= trace.sought
