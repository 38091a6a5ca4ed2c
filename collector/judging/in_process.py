"""Spans of this process through the collector's own steps: decode, normalise, rebuild, detect.

`tracejury.sdk.judged` loads it by the entry point `tracejury.in_process` (docs/sdk.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite, SuiteResult
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity, with_group
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import Trace

from .detect.direct import stored

_LINE = 300  # characters of a quote or a reason that a failing test shows
MOST_SPANS = 8
"""Spans of an error that a failing test names."""


@dataclass(frozen=True, slots=True)
class InProcessResult:
    """The traces in order of start, and the detectors' result for each."""

    traces: tuple[Trace, ...]
    results: tuple[SuiteResult, ...]

    def shown(self, profile: str) -> tuple[Finding, ...]:
        """Findings that are sure enough for the profile. Raises ConfigError for an unknown one."""
        least = threshold(profile)
        return tuple(f for result in self.results for f in result.findings if f.confidence >= least)

    def errors(self, profile: str) -> tuple[AgentError, ...]:
        """Errors that are sure enough for the profile. Raises ConfigError for an unknown one."""
        least = threshold(profile)
        judged = zip(self.traces, self.results, strict=True)
        grouped = (standing_errors(result.findings, trace.runs) for trace, result in judged)
        return tuple(error for errors in grouped for error in errors if error.confidence() >= least)

    def complaint(self, severity: str, profile: str) -> str:
        """Why the run is not free of errors, for people; "" where it is. Raises ConfigError for unknown names."""
        least, sure = _severity(severity), threshold(profile)
        errors = [error for error in self.errors(profile) if error.severity(sure).rank >= least.rank]
        failures = [failure for result in self.results for failure in result.failures]
        if errors:
            head = f"{len(errors)} error{'s' if len(errors) > 1 else ''} found ({least.value} or worse, {profile}):"
            return "\n".join([head, *(self._told(number, error, sure) for number, error in enumerate(errors, 1))])
        if not any(trace.runs for trace in self.traces):
            spans = sum(len(trace.spans) for trace in self.traces)
            return f"nothing was judged: no agent in {spans} spans. Is the agent framework instrumented?"
        if failures:
            return "\n".join(["a detector failed:", *(f"  {name}: {one_line(why, _LINE)}" for name, why in failures)])
        return ""

    def _told(self, number: int, error: AgentError, least: float) -> str:
        finding = error.lead
        trace = next(t for t in self.traces if finding.trace_id in t.trace_ids)
        run = trace.run(finding.agent_run_id)
        where = (
            f"{one_line(run.name, 80) or 'unnamed agent'}, turn {finding.turn}, "
            if run and finding.turn is not None
            else ""
        )
        name = one_line(trace.spans[finding.span_id].raw.name, 80)
        title = f"{error.severity(least).value} {one_line(error.title, 160)}"
        category = one_line(with_group(finding.taxonomy, finding.category), 80)
        return "\n".join(
            (
                f"{number}. {title} ({category}, {error.confidence():.2f})",
                f"   where: {where}span {name} {finding.span_id} of trace {finding.trace_id}",
                f"   quote: {one_line(finding.evidence, _LINE)}",
                f"   why:   {one_line(finding.explanation, _LINE)}",
                *(f"   {role.value}: span {span_id}" for span_id, role in [*error.spans.items()][1:MOST_SPANS]),
                *map(_told_finding, error.findings),
            )
        )


def _told_finding(finding: Finding) -> str:
    what = f"{one_line(finding.category, 80)} ({finding.confidence:.2f})"
    return f"   found by {one_line(finding.judge, 80)}: {what}, span {finding.span_id}"


def judge(spans: Sequence[ReadableSpan]) -> InProcessResult:
    """Judge spans as a collector would."""
    built = sorted(stored([encode_spans(spans)]).traces(), key=lambda t: (t.start, t.trace_id))
    return InProcessResult(tuple(built), tuple(_suite().judge(trace) for trace in built))


@cache
def _suite() -> Suite:
    return default_suite()


def _severity(name: str) -> Severity:
    try:
        return Severity(name.upper())
    except ValueError:
        raise ConfigError(f"unknown severity {name[:40]!r}: use one of {', '.join(Severity)}") from None
