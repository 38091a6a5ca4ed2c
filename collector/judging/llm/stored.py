"""The store of LLM judging, for every tenant. All methods block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.over_budget import OverBudgetSubject, over_budget, over_budget_count
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.stored_trace import stored_trace
from tracejury.processors.assemble import SECOND, AssemblerConfig, TraceKey
from tracejury.schemas.findings import LIVE, Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedSubject, Outcome, SubjectKind, Verdict

from .outcome import StoredJudgements, judgement_of
from .traces_to_judge import FoundTrace, TracesToJudge

OTHERS_TIME: Final = 120 * SECOND
"""How long whoever noted a subject has it alone: a model's answer takes less, and two would both pay for it."""


class StoredCases:
    """Traces and their LLM judgements, of every tenant. `ours` recognises the spans of our own judge calls.

    `recent`: traces that need not be read.
    """

    def __init__(
        self,
        store: SharedStore,
        config: AssemblerConfig,
        ours: Callable[[Span], bool],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._config, self._ours, self._clock = store, config, ours, clock
        self._reading = threading.Lock()
        self.recent = TracesToJudge()

    def load(self, key: TraceKey, received: int, state: TraceState | None = None) -> FoundTrace | None:
        """The trace and the detectors' findings that hold in it, None where it is gone.

        `received`: unix nanos of the newest arrival that it holds; with no `state`, it may hold newer ones.
        """
        with self._reading:  # one at a time: runs of one trace that wait for it read it once
            if known := self.recent.get(key):
                seen = known[0].received_through
                if seen >= received if state is None else (seen, known[0].state) == (received, state):
                    return known
            tenant, trace_id = key
            judging = StoredJudging(self._store, tenant)
            trace = stored_trace(judging, trace_id, tenant, self._config, self._clock(), self._ours)
            if trace is None:
                return None
            found = trace, self.detected(trace)
            self.recent.keep(*found)
            return found

    def detected(self, trace: Trace) -> tuple[Finding, ...]:
        """The detectors' findings that hold in the trace, with what was said of them."""
        findings = StoredJudging(self._store, trace.tenant).load_findings(trace.trace_ids)
        return tuple(f for i in trace.trace_ids for f in findings.get(i, ()) if f.state in LIVE)

    def stored(self, trace: Trace, run_id: str) -> StoredJudgements:
        """Earlier LLM judgements of the trace; the windows are those of the run that are not superseded."""
        panel = StoredLlmJudging(self._store, trace.tenant)
        rows = panel.outcomes([trace.trace_id]).get(trace.trace_id, {}).values()
        found = panel.run_findings(trace.trace_ids)
        windows = (r for r in rows if r.kind is SubjectKind.TURN_WINDOW and r.outcome is not Outcome.SUPERSEDED)
        return StoredJudgements(
            tuple(f for i in trace.trace_ids for f in found.get(i, ())),
            tuple(judgement_of(r) for r in windows if r.subject_id.rpartition(":")[0] == run_id),
        )

    def entries(self, key: TraceKey) -> Sequence[LedgerRow]:
        """The latest entry of each judge on each subject of a trace."""
        tenant, trace_id = key
        return [*StoredLlmJudging(self._store, tenant).outcomes([trace_id]).get(trace_id, {}).values()]

    def verdicts(self, trace: Trace) -> Sequence[Verdict]:
        """The latest verdict of each judge on each subject of a trace."""
        found = StoredReading(self._store, trace.tenant).load_verdicts([trace.trace_id])
        return [verdict for verdicts in found.values() for verdict in verdicts]

    def findings(self, trace: Trace) -> Sequence[Finding]:
        """All findings in a trace, of any state."""
        found = StoredReading(self._store, trace.tenant).load_findings(trace.trace_ids)
        return [finding for findings in found.values() for finding in findings]

    def found_by_others(self, subjects: Sequence[JudgedSubject]) -> set[str]:
        """Ids of those of these stored runs in which more findings hold than their judges, who answered, have made."""
        judged = {(j.subject.id, j.judge): j for s in subjects for j in s.judgements if j.outcome is not Outcome.FAILED}
        traces: dict[str, set[str]] = {}
        for j in judged.values():
            traces.setdefault(j.subject.tenant, set()).update([j.subject.trace_id, *(f.trace_id for f in j.findings)])
        made = {finding.id for judgement in judged.values() for finding in judgement.findings}
        return {
            finding.agent_run_id
            for tenant, trace_ids in traces.items()
            for findings in StoredLlmJudging(self._store, tenant).run_findings(sorted(trace_ids)).values()
            for finding in findings
            if finding.state in LIVE and finding.id not in made and (finding.agent_run_id, finding.judge) in judged
        }

    @property
    def is_shared(self) -> bool:
        """Whether other processes may judge over the same store."""
        return not self._store.embedded

    def pending(self, limit: int) -> Sequence[LedgerRow]:
        """Pending ledger entries of all tenants, the oldest first, but for those that others may be about to judge."""
        return StoredLlmJudging(self._store).pending(limit, OTHERS_TIME if self.is_shared else 0)

    def over_budget_count(self, since: int) -> int:
        """The number of subjects of all tenants that a cap kept from being judged, of what arrived since."""
        return over_budget_count(self._store, since)

    def over_budget(self, since: int, limit: int) -> Sequence[OverBudgetSubject]:
        """These, the newest first; about `limit` rows."""
        return over_budget(self._store, since, limit)

    def stays(self, subject: JudgedSubject) -> bool:
        """Whether none of the traces that it is judged by was deleted meanwhile: else it is not stored."""
        return StoredLlmJudging(self._store).stays(subject)

    def empty_answers(self, kind: SubjectKind, subject_id: str, key: TraceKey) -> None:
        """Delete the texts of the answers about a subject, or about all of its trace."""
        StoredLlmJudging(self._store, key[0]).empty_answers(kind, subject_id, key[1])

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        """Store judgements with their findings and verdicts."""
        StoredLlmJudging(self._store).save(subjects)
