"""Labels in the real store, and the runs that they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from naive_label_queue import QueuedRun
from store_parts import a_finding, a_judged_subject, a_judged_trace, a_run

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import Annotation, HumanScore, Opinion, Review
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import QueueItem
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.verdicts import Subject, SubjectKind

TRACE = "a" * 32
ONE = Annotation(
    id="1", trace_id=TRACE, span_id="b" * 16, annotator="ann", category="Tool-related", severity=Severity.HIGH,
    evidence="quote", explanation="why", changed_at=5, opinion=Opinion.DISAGREE, finding_id="f" * 32, judge="loops",
    agent_run_id="run-1", fingerprint="e" * 32,
)  # fmt: skip
SCORE = HumanScore(
    trace_id=TRACE, agent_run_id="run-1", annotator="ann", dimension=Dimension.GOAL_FULFILMENT, score=2,
    explanation="why", changed_at=6,
)  # fmt: skip
REVIEW = Review(
    trace_id=TRACE, agent_run_id="run-1", annotator="ann", stratum="clean/-/shop", probability=0.25, changed_at=7
)


def drawn_review(item: QueueItem, annotator: str, *, changed_at: int) -> Review:
    """The review of a run as the queue drew it."""
    return Review(
        trace_id=item.trace_id, agent_run_id=item.agent_run_id, annotator=annotator,
        stratum=item.stratum, probability=item.probability, changed_at=changed_at,
    )  # fmt: skip


@dataclass
class StoredWorld:
    """Runs in the real store."""

    store: SharedStore
    judged_at: int = 0

    @property
    def labels(self) -> StoredLabels:
        """Those of the store."""
        return StoredLabels(self.store)

    def put(self, runs: Sequence[QueuedRun]) -> None:
        """Judged traces with these runs; each was written at once, so its runs arrived together."""
        self.judged_at += 1
        traces: dict[str, list[QueuedRun]] = defaultdict(list)
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


def _finding(run: QueuedRun) -> Finding:
    return a_finding(trace_id=run.trace_id, agent_run_id=run.run_id, evidence=run.run_id)
