"""From a rebuilt trace to rows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracejury.collector.queries.present_errors import present_error, present_listed_finding
from tracejury.processors.transcript import transcribe
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.findings import Finding
from tracejury.schemas.given_scores import GivenScore
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.queries.reader import LocatedError, LocatedFinding, TraceView
from tracejury.schemas.taxonomy import TRAIL, Severity
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import Transcript
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.dataset import ErrorRow, FindingRow, LabelledFinding, RunRow, TrailError, TrailRow
from tracejury.schemas.wire.errors import WorstErrorJson
from tracejury.schemas.wire.labels import AnnotationJson
from tracejury.schemas.wire.scores import GivenScoreJson


class TraceRows:
    """The rows of one trace.

    `labelled`: what people say of it; `given`: scores by others; `transcripts`: whether rows hold them.
    """

    def __init__(
        self, view: TraceView, labelled: Labelled, given: Sequence[GivenScore] = (), *, transcripts: bool = True
    ) -> None:
        self._view, self._labelled, self._given, self._transcripts = view, labelled, given, transcripts
        self._runs = {run.id: run for run in view.trace.runs}
        self._last: tuple[str, Transcript] | None = None  # findings come by run: each is written once

    def finding(self, located: LocatedFinding) -> FindingRow:
        """A finding of the trace with its run."""
        finding = located.finding
        return FindingRow(
            **vars(present_listed_finding(located)), **self._around(finding), labels=self._annotations([finding])
        )

    def error(self, located: LocatedError) -> ErrorRow:
        """An error of the trace with its run."""
        error = located.error
        said = self._transcript(error.agent_run_id) if error.agent_run_id in self._runs else None
        found = [finding for finding in self._view.findings if finding.id in error.findings]
        return ErrorRow(
            **vars(present_error(located)),
            **self._around(error),
            findings=[fill(LabelledFinding, f, label=label_of(said, f)) for f in found],
            labels=self._annotations(found),
        )

    def runs(self, agent: str = "") -> Iterator[RunRow]:
        """The trace's agent runs; `agent`: only those of that name."""
        for run in self._view.trace.runs:
            if not agent or run.name == agent:
                yield self._run(run)

    def _run(self, run: AgentRun) -> RunRow:
        trace, labelled = self._view.trace, self._labelled
        said = self._transcript(run.id)
        found = [f for f in self._view.findings if f.agent_run_id == run.id]
        spans = _spans(run)
        return fill(
            RunRow,
            run,
            trace_id=trace.trace_id,
            session_id=trace.session_id,
            service=trace.service,
            trace_state=trace.state,
            conventions=trace.conventions,
            agent_run_id=run.id,
            parent_run_id=run.parent_id,
            agent=run.name,
            turns=len(run.turns),
            start=min((s[0] for s in spans), default=0),
            end=max((s[1] for s in spans), default=0),
            transcript=text_of(said) if self._transcripts else None,
            steps=said.steps,
            **_of_errors([e for e in self._view.errors if e.error.agent_run_id == run.id]),
            findings=[fill(LabelledFinding, f, label=label_of(said, f)) for f in found],
            verdicts=[v for v in self._view.verdicts if v.subject.id == run.id],
            labels=self._annotations(found, run.id),
            scores=[s for s in labelled.human_scores if s.agent_run_id == run.id],
            reviews=[r for r in labelled.reviews if r.agent_run_id == run.id],
            given_scores=[fill(GivenScoreJson, score, waiting=False) for score in self._given],
        )

    def _around(self, one: Finding | ErrorSummary) -> dict[str, Any]:
        trace, run = self._view.trace, self._runs.get(one.agent_run_id)
        said = self._transcript(run.id) if run else None
        return {
            "session_id": trace.session_id,
            "trace_state": trace.state,
            "conventions": list(trace.conventions),
            "run_role": run.role if run else None,
            "run_goal": run.goal if run else None,
            "run_answer": run.answer if run else None,
            "run_status": run.status if run else None,
            "label": label_of(said, one),
            "transcript": text_of(said) if said and self._transcripts else None,
        }

    def _annotations(self, found: Iterable[Finding], run_id: str | None = None) -> list[AnnotationJson]:
        """What people say of any of these findings, or of the run."""
        return [
            fill(AnnotationJson, a)
            for a in self._labelled.annotations
            if a.agent_run_id == run_id or any(_is_about(a, finding) for finding in found)
        ]

    def _transcript(self, run_id: str) -> Transcript:
        if self._last is None or self._last[0] != run_id:
            self._last = run_id, transcribe(self._view.trace, self._runs[run_id])
        return self._last[1]


def trail_row(trace: Trace, findings: Iterable[Finding]) -> TrailRow:
    """The findings of a trace in TRAIL's layout."""
    errors = [
        TrailError(
            category=f.category,
            location=f.span_id,
            evidence=f.evidence,
            description=f.explanation,
            impact=f.severity,
        )
        for f in findings
        if f.taxonomy == TRAIL
    ]
    return TrailRow(trace_id=trace.trace_id, errors=errors)


def text_of(transcript: Transcript) -> str:
    """All of it."""
    return transcript.header + "".join(step.text for step in transcript.steps) + transcript.closing


def label_of(transcript: Transcript | None, one: Finding | ErrorSummary) -> str | None:
    """The label of the step at its span, else of the last step of its turn; None where it has none."""
    if transcript is None:
        return None
    for step in transcript.steps:
        if step.span_id == one.span_id:
            return step.label
    of_turn = [step.label for step in transcript.steps if step.turn == one.turn]
    return of_turn[-1] if of_turn else None


def _is_about(annotation: Annotation, finding: Finding) -> bool:
    same = annotation.fingerprint == finding.fingerprint and annotation.fingerprint != ""
    return annotation.finding_id == finding.id or same  # what was said of another wording holds, too


def _of_errors(found: Sequence[LocatedError]) -> dict[str, object]:
    """Their number by severity, and the worst: the most severe, of equally severe ones the surest, then the first."""
    counts = Counter(one.severity.value for one in found)
    order = sorted(found, key=lambda one: (-one.severity.rank, -one.error.confidence, one.position.time, one.error.id))
    worst = next((fill(WorstErrorJson, one.error, severity=one.severity) for one in order), None)
    return {"errors": {severity.value: counts[severity.value] for severity in Severity}, "worst_error": worst}


def _spans(run: AgentRun) -> list[tuple[int, int]]:
    spans = [run.span, *(t.llm for t in run.turns), *(c.span for t in run.turns for c in t.tool_calls)]
    return [(s.raw.start, s.raw.end) for s in spans if s is not None]
