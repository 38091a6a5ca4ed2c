"""Verdict-driven tail sampling: every failing trace goes out, and a share of the healthy ones that says it is one."""

from __future__ import annotations

from dataclasses import dataclass

from ...schemas.findings import Finding, FindingState
from ...schemas.sampling import kept, thinned, with_threshold
from ...schemas.taxonomy import Severity
from ..reader import Confidence
from .config import SamplingConfig
from .record import TraceRecord


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a trace goes out, and with which share of its like: below 1, each of its spans says so."""

    goes: bool
    rate: float = 1.0

    def written(self, trace_state: str) -> str:
        """The tracestate of a span that goes out: its own, with the probability of all samplers up to here."""
        return with_threshold(trace_state, thinned(trace_state, self.rate)) if self.rate < 1.0 else trace_state


ALL = Choice(goes=True)


@dataclass(frozen=True, slots=True)
class Chooser:
    """The rules of one backend."""

    healthy: float
    least: Severity
    sure: Confidence
    errors: bool

    @classmethod
    def of(cls, config: SamplingConfig) -> Chooser:
        """The rules as configured."""
        return cls(config.healthy, Severity(config.severity), Confidence.of(config.profile), config.errors)

    def choose(self, record: TraceRecord) -> Choice:
        """Whether the trace goes out. One that the backend has a part of goes on, at the share that holds now."""
        if self.healthy >= 1.0 or self.fails(record):
            return ALL
        chosen = kept(record.trace_id, record.trace_state, self.healthy)
        if not chosen and record.sent:
            return ALL  # sent as a failing one, it cannot be called back: it stands for itself alone
        return Choice(chosen, self.healthy)

    def fails(self, record: TraceRecord) -> bool:
        """Whether it, or what was judged as one with it, has a finding that counts; or is not known to be healthy.

        A trace is not known to be healthy where a judge failed on it, or LLM judges have not come to it in time.
        """
        if record.failed or record.pending or (self.errors and record.errors):
            return True
        own = (o.said for o in record.opinions if isinstance(o.said, Finding))
        least = self.sure.least(record.conventions)
        return any(
            f.state is FindingState.CURRENT and f.confidence >= least and f.severity.rank >= self.least.rank
            for f in (*own, *record.beside)
        )
