"""The detectors' judgements that other processes store of the same traces, on a server."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cachetools import LRUCache

from tracejury.processors.assemble import TraceKey
from tracejury.schemas.verdicts import DETECTORS, JudgedTrace

from .configurations import latest_detectors
from .scope import TENANT, Scope

if TYPE_CHECKING:
    from .client import Store

MOST: Final = 50_000
"""Traces of which is known what was judged; of any other everything counts as unknown, which costs a judging."""

_WORDS: Final = f"""
SELECT TraceId, groupUniqArrayIf((Version, InputHash, JudgedAt), SubjectKind = 'trace' AND Judge = '{DETECTORS}'),
    max(JudgedAt)
FROM judgements WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} GROUP BY TraceId
"""
_FINDINGS: Final = f"""
SELECT TraceId, max(JudgedAt) FROM findings WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} GROUP BY TraceId
"""
_STANDING: Final = f"""
SELECT TraceId, argMax(Version, JudgedAt), argMax(InputHash, JudgedAt) FROM judgements
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND SubjectKind = 'trace' AND Judge = '{DETECTORS}'
GROUP BY TraceId
"""

Word = tuple[str, str, int]
"""Version, hash of the input, and time of a judgement."""


class JudgedElsewhere:
    """The judgements that this process has stored or read; any thread. With an embedded store, nothing.

    A trace is judged and stored without asking who else judges it. Its judgement is stored last: of two processes that
    judge one trace at a time, whichever stores its judgement last finds the other's, which was not there when it read
    the trace, and judges it again from the store. So the last judging has read all that the others stored.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: LRUCache[TraceKey, set[Word]] = LRUCache(MOST)
        self._latest: LRUCache[TraceKey, int] = LRUCache(MOST)
        self._lock = threading.Lock()

    def read(self, tenant: str, trace_ids: Sequence[str]) -> None:
        """Read what was judged of these, before they are read. Raises RetryableError, StoreError."""
        if self._store.embedded:
            return
        words = list(self._words(tenant, trace_ids))
        found = Scope(self._store, tenant).select(_FINDINGS, trace_ids=list(trace_ids))
        with self._lock:
            for trace_id in trace_ids:
                self._known.pop((tenant, trace_id), None)
            for key, known, latest in words:
                self._known[key], self._latest[key] = known, latest
            for trace_id, latest in found:
                key = (tenant, trace_id)
                self._latest[key] = max(self._latest.get(key, 0), latest)

    def judged_at(self, keys: Collection[TraceKey], now: int) -> int:
        """A time for a judging at `now` (unix nanos) that is later than all others of these, by whatever clock."""
        if self._store.embedded:
            return now
        with self._lock:
            return max([now, *(self._latest[key] + 1 for key in keys if key in self._latest)])

    def outdone(self, judged: Sequence[JudgedTrace]) -> set[TraceKey]:
        """Those of which the same content was judged by the configuration that came into use last, which is not ours.

        Its findings stand: else two processes of different versions would retract each other's in turn. Raises
        RetryableError, StoreError.
        """
        if self._store.embedded:
            return set()
        own = {(j.trace.tenant, j.trace.trace_id): (j.judgement.version, j.judgement.input_hash) for j in judged}
        by_tenant: dict[str, list[str]] = {}
        for tenant, trace_id in own:
            by_tenant.setdefault(tenant, []).append(trace_id)
        others: dict[TraceKey, str] = {}
        for tenant, ids in by_tenant.items():
            for trace_id, version, content in Scope(self._store, tenant).select(_STANDING, trace_ids=ids):
                if content == own[tenant, trace_id][1] and version != own[tenant, trace_id][0]:
                    others[tenant, trace_id] = version
        latest = latest_detectors(self._store) if others else ""
        return {key for key, version in others.items() if version == latest}

    def stored(self, judged: Sequence[JudgedTrace]) -> list[TraceKey]:
        """Note what this process has stored; returns the traces that another one has judged since they were read.

        Raises RetryableError, StoreError.
        """
        if self._store.embedded:
            return []
        by_tenant: dict[str, list[str]] = {}
        with self._lock:
            for one in judged:
                said, key = one.judgement, (one.trace.tenant, one.trace.trace_id)
                by_tenant.setdefault(key[0], []).append(key[1])
                self._known.setdefault(key, set()).add((said.version, said.input_hash, said.judged_at))
                self._latest[key] = max(self._latest.get(key, 0), said.judged_at)
        words = [word for tenant, ids in by_tenant.items() for word in self._words(tenant, ids)]
        with self._lock:
            return [key for key, known, _ in words if not known <= self._known.get(key, set())]

    def _words(self, tenant: str, trace_ids: Sequence[str]) -> Iterator[tuple[TraceKey, set[Word], int]]:
        for trace_id, words, latest in Scope(self._store, tenant).select(_WORDS, trace_ids=list(trace_ids)):
            yield (tenant, trace_id), set(map(tuple, words)), latest
