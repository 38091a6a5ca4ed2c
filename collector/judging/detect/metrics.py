"""The metrics of the judging thread, each declared once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracejury.collector.telemetry import NANOS, Telemetry
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedTrace


class JudgingMetrics:
    """Counts of the judging thread."""

    def __init__(self, telemetry: Telemetry) -> None:
        meter = telemetry.meter
        # Judgings, by the state of the trace: an open trace is judged several times.
        self._judged = meter.create_counter("tracejury_judge_judged_traces", description="Traces judged, by state")
        self._failed = meter.create_counter(
            "tracejury_judge_failed_traces", description="Traces that could not be judged"
        )
        # Findings as they are first written, change or are taken back.
        self._found = meter.create_counter("tracejury_judge_findings", description="Findings written, by severity")
        self._retracted = meter.create_counter("tracejury_judge_retracted_findings", description="Findings taken back")
        # The evidence gate: a claim whose quote stands nowhere is no finding.
        self._dropped = meter.create_counter(
            "tracejury_judge_dropped_drafts", description="Claims without evidence in the span"
        )
        # The store has one row an id: of two different spans of one id in a trace one is lost.
        self._collided = meter.create_counter(
            "tracejury_judge_collided_spans", description="Spans that came under the id of another span of their trace"
        )
        for counter in (self._retracted, self._dropped, self._collided):
            counter.add(0)  # shown from the start: alerts look at increases
        self._rule_failures = meter.create_counter(
            "tracejury_judge_detector_failures", description="Detectors that raised"
        )
        self._cost = telemetry.durations("tracejury_judge_duration", "Rebuilding and judging one trace")
        # What a user waits for: from the commit of a trace's newest span to its findings being readable.
        self._delay = telemetry.durations("tracejury_judge_delay", "From commit to readable findings")

    def judged(self, judged: JudgedTrace, cost: int) -> None:
        """A trace was judged, in `cost` nanoseconds."""
        self._judged.add(1, {"state": judged.trace.state.value})
        self._cost.record(cost / NANOS)
        # An addition takes as long as a rule, so there is none for nothing.
        if judged.judgement.dropped:
            self._dropped.add(judged.judgement.dropped)
        for detector, _why in judged.judgement.failures:
            self._rule_failures.add(1, {"detector": detector})
        for severity, count in Counter(finding.severity.value for finding in judged.changed).items():
            self._found.add(count, {"severity": severity})
        if judged.retracted:
            self._retracted.add(len(judged.retracted))
        if not judged.changed:
            self._record_delay(judged, judged.judgement.judged_at)

    def saved(self, judged: Sequence[JudgedTrace], now: int) -> None:
        """These are readable since `now` (unix nanos)."""
        for one in judged:
            if one.changed:
                self._record_delay(one, now)

    def _record_delay(self, judged: JudgedTrace, until: int) -> None:
        if judged.trace.state is TraceState.OPEN:
            self._delay.record(max(until - judged.trace.received_through, 0) / NANOS)

    def collided(self, spans: int) -> None:
        """So many spans had the id of another one of their trace."""
        self._collided.add(spans)

    def failed_trace(self) -> None:
        """A trace could not be judged or its outcome not be stored."""
        self._failed.add(1)
