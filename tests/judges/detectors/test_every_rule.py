"""Every built-in rule on the smallest trace that shows its error, and all of them on a healthy one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from faulty_traces import FAULTY, healthy
from small_traces import trace, without_content

from tracejury.judges.base import Context
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.registry import suite_of
from tracejury.schemas.profiles import threshold
from tracejury.schemas.spans import STATUS_ERROR

RULES = {rule.name: rule for rule in BUILT_IN}


def test_each_rule_has_its_trace() -> None:
    """A rule without a case here, or a case without a rule, is an omission; names are unique."""
    assert set(FAULTY) == set(RULES)
    assert len(RULES) == len(BUILT_IN)


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_the_rule_fires_on_its_trace(name: str) -> None:
    """The rule finds its error, quotes it where it stands, and the suite keeps the finding."""
    whole = FAULTY[name]
    drafts = list(RULES[name].detect(whole, Context(whole)))
    assert drafts
    result = suite_of(()).judge(whole)
    assert result.failures == ()
    assert result.dropped == 0
    places = {(f.span_id, f.category) for f in result.findings}
    assert {(d.span_id, d.category) for d in drafts} <= places


def test_a_healthy_trace_is_clean() -> None:
    """Planning, delegating, looking up and answering from it is no error, not even at the recall level."""
    assert [f.judge for f in suite_of(()).judge(healthy()).findings if f.confidence >= threshold("recall")] == []


def test_a_failure_shows_without_content() -> None:
    """Where only a tool's status says that it failed, its name is the evidence; without an LLM call it stands there."""
    whole = without_content(FAULTY["raised-error"])
    turns = list(whole.runs[0].turns)
    (call,) = turns[0].tool_calls
    assert call.span is not None
    broken = replace(call.span, raw=replace(call.span.raw, status_code=STATUS_ERROR))
    turns[0] = replace(turns[0], llm=None, tool_calls=(replace(call, error="error", span=broken),))
    (finding,) = suite_of(()).judge(trace(replace(whole.runs[0], turns=tuple(turns)))).findings
    assert (finding.span_id, finding.evidence, finding.judge) == ("t0", "open_file", "raised-error-at-tool")
    assert finding.confidence >= threshold("balanced")


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_what_a_rule_says_is_said_in_full(name: str) -> None:
    """Findings carry evidence, an explanation, dimensions, the run, the turn and a sound confidence."""
    for finding in suite_of(()).judge(FAULTY[name]).findings:
        assert finding.evidence.strip()
        assert finding.explanation.endswith(".")
        assert finding.dimensions
        assert finding.agent_run_id == "r1"
        assert finding.turn is not None
        assert 0.0 < finding.confidence < 1.0
