"""Metrics of LLM judging, each declared once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracejury.collector.telemetry import NANOS, Telemetry
from tracejury.judges.llm.case import Deliberation, Stage
from tracejury.judges.reviews.candidates import CandidatesReview
from tracejury.schemas.findings import FindingState
from tracejury.schemas.verdicts import JudgedSubject, SubjectKind

from .catch_up import CatchUp
from .judge_queue import JudgeQueue
from .run_selector import RunSelector
from .traces_to_judge import TracesToJudge
from .windows import Windows


class LlmJudgingMetrics:
    """Counts of LLM judging. Any thread."""

    def __init__(self, telemetry: Telemetry) -> None:
        meter = telemetry.meter
        # Deliberations, by stage: a live run has several.
        self._cases = telemetry.durations(
            "tracejury_panel_duration", "From putting a case before the LLM judges to their answer, by stage"
        )
        # The evidence gate: what a model claims without evidence is no finding.
        self._dropped = meter.create_counter(
            "tracejury_panel_dropped_claims", description="Claims of LLM judges that are no findings, by reason"
        )
        self._looks = meter.create_counter(
            "tracejury_panel_second_looks",
            description="Questions to LLM judges that were followed by a look at cut text, by outcome",
        )
        self._outcomes = meter.create_counter(
            "tracejury_panel_judgements", description="Words of the ledger written, by judge and outcome"
        )
        self._findings = meter.create_counter(
            "tracejury_panel_findings", description="Findings of LLM judges written, by state"
        )
        self._checked = meter.create_counter(
            "tracejury_panel_checked_findings",
            description="Detectors' findings that LLM judges were asked about, by answer",
        )
        # Over budget, or the model failed: the judges' own answer stands all the same.
        self._unchecked = meter.create_counter(
            "tracejury_panel_unchecked_errors", description="Detectors' errors about which LLM judges gave no answer"
        )
        self._retried = meter.create_counter(
            "tracejury_panel_retries", description="Runs put back because the model or the store could not be reached"
        )
        # What a user waits for: from the arrival of a run's newest span to the readable judgement.
        self._delay = telemetry.durations(
            "tracejury_panel_delay", "From the newest span's arrival to the stored judgement, by subject"
        )

    def judged(self, stage: Stage, said: Deliberation, seconds: float) -> None:
        """A case was judged, in so many seconds."""
        self._cases.record(seconds, {"stage": stage.value})
        for reason, count in said.dropped.items():
            self._dropped.add(count, {"reason": reason})
        for outcome, count in said.looks.items():
            self._looks.add(count, {"outcome": outcome})

    def detectors_checked(self, review: CandidatesReview) -> None:
        """Judges were asked about the detectors' errors in a run."""
        for answer, count in Counter(opinion.verification.value for opinion in review.opinions).items():
            self._checked.add(count, {"answer": answer})
        if review.unanswered:
            self._unchecked.add(review.unanswered)

    def saved(self, subjects: Sequence[JudgedSubject], now: int) -> None:
        """These are readable since `now` (unix nanos)."""
        for subject in subjects:
            for judgement in subject.judgements:
                self._outcomes.add(1, {"judge": judgement.judge, "outcome": judgement.outcome.value})
            for finding in subject.changed:
                self._findings.add(1, {"state": finding.state.value})
            if subject.retracted:
                self._findings.add(len(subject.retracted), {"state": FindingState.RETRACTED.value})
            last = subject.judgements[-1]
            kind = last.subject.kind
            if kind in (SubjectKind.AGENT_RUN, SubjectKind.TURN_WINDOW, SubjectKind.EXCHANGE):
                self._delay.record(max(now - last.received_through, 0) / NANOS, {"subject": kind.value})

    def put_back(self, reason: str) -> None:
        """A run is to be tried again later."""
        self._retried.add(1, {"reason": reason})


def watch_llm_judging(
    telemetry: Telemetry,
    queue: JudgeQueue,
    recent: TracesToJudge,
    windows: Windows | None,
    selector: RunSelector,
    catch_up: CatchUp | None = None,
) -> None:
    """Gauges and counters that are kept elsewhere and read when someone asks."""
    gauge = telemetry.gauge
    gauge("tracejury_panel_waiting_runs", "Runs that wait for LLM judges", lambda: len(queue))
    gauge("tracejury_panel_runs_in_flight", "Runs before the LLM judges", lambda: queue.in_flight)
    gauge("tracejury_panel_held_bytes", "Bytes of traces held for LLM judges", lambda: recent.held_bytes, "By")
    if windows is not None:
        gauge("tracejury_panel_live_traces", "Live traces watched for windows", lambda: len(windows))
    if catch_up is not None:
        gauge(
            "tracejury_panel_over_budget_subjects",
            "Runs, exchanges and sessions that a cap kept from LLM judges and that are to be caught up",
            lambda: catch_up.waiting,
        )
    telemetry.counter(
        "tracejury_panel_left_out_runs",
        "Runs beyond the limit of their trace, not judged by LLMs",
        lambda: selector.left_out,
    )
