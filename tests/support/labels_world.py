"""Labels over memory and over the real store, with the same runs in both: what the contract suite runs on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_labels import MemoryLabels, MemoryRun
from store_parts import a_finding, a_judged_subject, a_judged_trace, a_run

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.queries.reader import Labels
from tracejury.collector.store.client import Store
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.schemas.findings import Finding
from tracejury.schemas.verdicts import Subject, SubjectKind


@dataclass
class MemoryWorld:
    """Runs in a list."""

    labels: MemoryLabels = field(default_factory=MemoryLabels)

    def put(self, runs: Sequence[MemoryRun]) -> None:
        """Judged runs, of which those that are there are judged anew."""
        known = {(r.trace_id, r.run_id): r for r in (*self.labels.runs, *runs)}
        self.labels.runs = list(known.values())

    def put_finding(self, finding: Finding) -> None:
        """A finding that the store knows."""
        self.labels.found[finding.id] = finding


@dataclass
class StoredWorld:
    """Runs in the real store."""

    store: Store
    judged_at: int = 0

    @property
    def labels(self) -> Labels:
        """Those of the store."""
        return StoredLabels(self.store)

    def put(self, runs: Sequence[MemoryRun]) -> None:
        """Judged traces with these runs; each was written at once, so its runs arrived together."""
        self.judged_at += 1
        traces: dict[str, list[MemoryRun]] = defaultdict(list)
        for run in runs:
            traces[run.trace_id].append(run)
        judged = [
            a_judged_trace(
                *(_finding(run) for run in of_it if run.found),
                judged_at=self.judged_at,
                received=of_it[0].arrived,
                trace_id=trace_id,
                service=of_it[0].service,
                runs=tuple(a_run(id=run.run_id, name=run.agent) for run in of_it),
            )
            for trace_id, of_it in traces.items()
        ]
        StoredJudging(self.store).save(judged)
        StoredLlmJudging(self.store).save(
            [
                a_judged_subject(
                    f"judge-{score}",
                    judged_at=self.judged_at,
                    score=score,
                    subject=Subject(SubjectKind.AGENT_RUN, run.run_id, run.trace_id),
                )
                for run in runs
                if run.lowest is not None
                for score in {run.lowest, 3}
            ]
        )

    def put_finding(self, finding: Finding) -> None:
        """A finding that the store knows."""
        self.judged_at += 1
        StoredJudging(self.store).save([a_judged_trace(finding, judged_at=self.judged_at, trace_id=finding.trace_id)])


World = MemoryWorld | StoredWorld


def _finding(run: MemoryRun) -> Finding:
    return a_finding(trace_id=run.trace_id, agent_run_id=run.run_id, evidence=run.run_id)
