"""Rebuilt traces in memory: those that LLM judges look at soon, or look at again."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from cachetools import LRUCache

from tracejury.processors.assemble import TraceKey
from tracejury.processors.trace_rows import span_size
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace

MAX_BYTES: Final = 256 * 1024 * 1024

FoundTrace = tuple[Trace, tuple[Finding, ...]]
"""A trace and the detectors' findings that hold in it."""


class TracesToJudge:
    """The latest revision of each trace, about `max_bytes` of them, least recently used out first. Any thread.

    A cache of `spans` and `findings`: reading and rebuilding a trace takes 40 ms of CPU for 50 spans, and a run waits
    for a judge, its windows and the exchanges after it seconds apart. With several processes each holds the traces that
    it judges; a revision that another one has seen is told apart by `received_through`.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._traces: LRUCache[TraceKey, FoundTrace] = LRUCache(max_bytes, getsizeof=_size)
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        """Approximate bytes of the traces held."""
        return int(self._traces.currsize)

    def keep(self, trace: Trace, findings: Collection[Finding]) -> None:
        """Hold a revision in the place of an earlier one; one that is larger than all of the room is not held."""
        key = (trace.tenant, trace.trace_id)
        with self._lock:
            held = self._traces.get(key)
            if held is not None and held[0] is trace:
                return
            self._traces.pop(key, None)
            with suppress(ValueError):  # it is larger than the room
                self._traces[key] = (trace, tuple(findings))

    def get(self, key: TraceKey) -> FoundTrace | None:
        """The trace; None where it is not held."""
        with self._lock:
            return self._traces.get(key)

    def forget(self, keys: Collection[TraceKey]) -> None:
        """Let go of traces, and of those that they are joined in."""
        with self._lock:
            for key, (trace, _) in [*self._traces.items()]:
                if any((trace.tenant, trace_id) in keys for trace_id in (trace.trace_id, *trace.trace_ids)):
                    del self._traces[key]


def _size(found: FoundTrace) -> int:
    return sum(span_size(span.raw) for span in found[0].spans.values()) + 1
