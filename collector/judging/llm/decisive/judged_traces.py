"""Traces with what was said of them, as they are stored. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.store.client import Store
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Verdict


class StoredJudgedTraces:
    """Implements `JudgedTraces`, for every tenant."""

    def __init__(self, store: Store, cases: StoredCases) -> None:
        self._store, self._cases = store, cases

    def load(self, key: TraceKey) -> tuple[Trace, tuple[Finding, ...]] | None:
        """See `JudgedTraces`."""
        return self._cases.load(key)

    def entries(self, key: TraceKey) -> Sequence[LedgerRow]:
        """See `JudgedTraces`."""
        tenant, trace_id = key
        return [*StoredLlmJudging(self._store, tenant).outcomes([trace_id]).get(trace_id, {}).values()]

    def verdicts(self, trace: Trace) -> Sequence[Verdict]:
        """See `JudgedTraces`."""
        found = StoredReading(self._store, trace.tenant).load_verdicts([trace.trace_id])
        return [verdict for verdicts in found.values() for verdict in verdicts]

    def findings(self, trace: Trace) -> Sequence[Finding]:
        """See `JudgedTraces`."""
        found = StoredReading(self._store, trace.tenant).load_findings(trace.trace_ids)
        return [finding for findings in found.values() for finding in findings]
