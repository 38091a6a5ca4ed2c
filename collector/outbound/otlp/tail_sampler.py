"""Verdict-driven tail sampling: every failing trace is sent, and a share of the healthy ones, marked as a sample."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.export_record import TraceRecord
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.sampling import combined_threshold, is_sampled, randomness, with_randomness, with_threshold
from tracejury.schemas.taxonomy import Severity

from .config import SamplingConfig


@dataclass(frozen=True, slots=True)
class SamplingDecision:
    """Whether a trace is sent, and at which sampling rate: below 1, each of its spans states it.

    `value`: the randomness that chose it, where that is another trace's; its spans state it, so that whoever samples
    after us keeps together what we have kept together.
    """

    goes: bool
    rate: float = 1.0
    value: int | None = None

    def written(self, trace_state: str) -> str:
        """The tracestate of a span that goes out: its own, with the probability of all samplers up to here."""
        if self.rate >= 1.0:
            return trace_state
        stated = trace_state if self.value is None else with_randomness(trace_state, self.value)
        return with_threshold(stated, combined_threshold(trace_state, self.rate))


ALL = SamplingDecision(goes=True)


@dataclass(frozen=True, slots=True)
class TailSampler:
    """The sampling rules of one backend."""

    healthy: float
    least: Severity
    sure: Confidence
    errors: bool

    @classmethod
    def of(cls, config: SamplingConfig) -> TailSampler:
        """The rules as configured."""
        return cls(config.healthy, Severity(config.severity), Confidence.of(config.profile), config.errors)

    def choose(self, record: TraceRecord) -> SamplingDecision:
        """Whether the trace goes out. One that the backend has a part of goes on, at the share that holds now.

        Of traces that were judged as one all go or none: their first one's randomness chooses.
        """
        if self.healthy >= 1.0 or self.fails(record):
            return ALL
        first = next((r for r in record.all if r.trace_id == record.leader), None) or record
        leader = record.leader or record.trace_id
        state = first.trace_state if first.trace_id == leader else ""
        chosen = is_sampled(leader, state, self.healthy)
        if not chosen and any(r.sent for r in record.all):
            return ALL  # sent as a failing one, it cannot be called back: it stands for itself alone
        value = randomness(leader, state)
        alike = value == randomness(record.trace_id, record.trace_state)
        return SamplingDecision(chosen, self.healthy, None if alike else value)

    def fails(self, record: TraceRecord) -> bool:
        """Whether it, or what was judged as one with it, has a finding that counts; or is not known to be healthy.

        A trace is not known to be healthy where a judge failed on it, or LLM judges have not come to it in time.
        """
        return record.waits or any(self._fails(r) for r in record.all)

    def _fails(self, record: TraceRecord) -> bool:
        if record.failed or (self.errors and record.errors):
            return True
        own = (o.said for o in record.opinions if isinstance(o.said, Finding))
        least = self.sure.least(record.conventions)
        return any(
            f.state is FindingState.CURRENT and f.confidence >= least and f.severity.rank >= self.least.rank
            for f in own
        )
