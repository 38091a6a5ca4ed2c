"""Errors of a trace as what is scored."""

from __future__ import annotations

from typing import Any

import pytest
from small_traces import TRACE_ID, Did, Said, run, trace

from tracejury.judges.measures.located_claim import error_claims
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import TRAIL, Severity

TRACE = trace(
    run("r", Said("llm1", did=[Did("read", {"path": "a"}, error="no such file", span_id="tool1")]), Said("llm2")),
    run("s", Said("llm3"), name="writer", parent_id="r"),
)


def a_finding(span_id: str, judge: str, confidence: float, severity: Severity, **other: Any) -> Finding:
    """In turn 0 of the first run, about the call at tool1, unless told otherwise."""
    whole: dict[str, Any] = {"agent_run_id": "r", "turn": 0, "tool_span_id": "tool1", "dimensions": (), **other}
    return Finding(
        id=f"{judge} {span_id}", fingerprint="", tenant="", trace_id=TRACE_ID, span_id=span_id, judge=judge,
        taxonomy=TRAIL, category="Resource Not Found", severity=severity, confidence=confidence,
        evidence="no such file", explanation="", **whole,
    )  # fmt: skip


CALLED = a_finding("llm1", "file-error", 0.6, Severity.LOW)
AT_TOOL = a_finding("tool1", "file-error-at-tool", 0.3, Severity.HIGH)
READ = a_finding("llm2", "file-error-read", 0.4, Severity.MEDIUM, turn=1, seen_by_span_id="llm2")


def test_findings_with_one_cause_are_one_claim() -> None:
    """At the primary span of the error, with all spans that it names, by the rule that leads."""
    (claim,) = error_claims(TRACE, [READ, AT_TOOL, CALLED], 0.0)
    assert (claim.span, claim.judge, claim.confidence, claim.agent) == ("llm1", "file-error", 0.6, "agent")
    assert claim.spans == {"llm1", "tool1", "llm2"}
    assert claim.start == TRACE.spans["llm1"].raw.start


@pytest.mark.parametrize(
    ("least", "severity"), [(0.0, Severity.HIGH), (0.3, Severity.HIGH), (0.35, Severity.MEDIUM), (0.5, Severity.LOW)]
)
def test_the_severity_is_that_of_the_findings_which_the_profile_shows(least: float, severity: Severity) -> None:
    (claim,) = error_claims(TRACE, [READ, AT_TOOL, CALLED], least)
    assert claim.severity is severity


@pytest.mark.parametrize(("least", "told"), [(0.6, 1), (0.61, 0)])
def test_a_profile_shows_an_error_from_its_confidence_on(least: float, told: int) -> None:
    assert len(error_claims(TRACE, [READ, CALLED], least)) == told
