"""Bounds on the open traces in memory.

Of the least recently used ones the rows wait in temporary files, else in the store alone; beyond a number of traces the
oldest is forgotten, and the store's sweep finds it again.
"""

from __future__ import annotations

import pickle

from tracejury.collector.worker.spill_files import SpillEntry, SpillFiles
from tracejury.processors.assemble import Assembler, TraceKey
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.trace_rows import TraceRows


class TraceMemory:
    """Keeps the open traces of `assembler` within its bounds. `files`: of one thread at a time, as the assembler."""

    def __init__(self, assembler: Assembler, files: SpillFiles | None = None) -> None:
        self._assembler, self._files = assembler, files
        self._spilled: dict[TraceKey, list[SpillEntry]] = {}  # in the order in which they were written
        self.forgotten = 0  # traces dropped at max_traces
        self.forgotten_since = 0  # the same since the last sweep

    def bound(self) -> None:
        """Make room, but not of traces that are being judged; those that somebody asked for are forgotten last."""
        held, config = self._assembler, self._assembler.config
        while held.held_bytes > config.max_bytes:
            trace = next((one for one in held.resident.values() if not one.taken), None)
            if trace is None:
                break
            self._spill(trace)
        while len(held) > config.max_traces:
            unasked = (key for key, one in held.traces.items() if not one.forced and not one.taken)
            self.discard(next(unasked, next(iter(held.traces))))
            self.forgotten += 1
            self.forgotten_since += 1

    def read(self, trace: OpenTrace) -> None:
        """Have a trace held again whose rows wait in files; where they cannot be read the store must be."""
        entries = self._spilled.pop(trace.key, [])
        if trace.held or not entries:
            return
        trace.spilled = 0
        rows: list[TraceRows] = []
        try:
            while entries:
                rows.append(pickle.loads(entries.pop(0).read()))  # noqa: S301  this process wrote it, and no other can
        except (OSError, EOFError, pickle.UnpicklingError):
            for entry in entries:
                entry.drop()
            trace.stored = trace.ledger = None
            return
        rows.append(self._assembler.release(trace))
        for spans, logs in rows:
            self._assembler.fill(trace, spans, logs)

    def request(self, key: TraceKey, now: int) -> OpenTrace:
        """See `Assembler`: all of it is read from the store."""
        self._drop_entries(key)
        trace = self._assembler.request(key, now)
        trace.spilled = 0
        return trace

    def discard(self, key: TraceKey) -> None:
        """See `Assembler`."""
        self._drop_entries(key)
        self._assembler.discard(key)

    def _spill(self, trace: OpenTrace) -> None:
        entries = self._spilled.get(trace.key, [])
        is_whole = trace.held or bool(entries)
        rows = self._assembler.release(trace)
        entry = self._files.put(pickle.dumps(rows)) if self._files is not None and is_whole else None
        if entry is not None:
            self._spilled[trace.key] = [*entries, entry]
            trace.spilled += len(rows[0])
        else:
            self._drop_entries(trace.key)
            trace.stored, trace.ledger, trace.spilled = None, None, 0

    def _drop_entries(self, key: TraceKey) -> None:
        for entry in self._spilled.pop(key, []):
            entry.drop()
