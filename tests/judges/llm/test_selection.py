"""The policy: which agent runs LLM judges look at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Did, Said, run, trace
from store_parts import a_finding

from tracejury.judges.llm.selection import Policy, Rule, decide
from tracejury.schemas.sampling import chosen
from tracejury.schemas.spans import STATUS_ERROR
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import Outcome

NEVER = Policy((Rule(rate=1e-12),), always_severity=None, always_on_error=False)
"""A sample in which no trace of these tests is."""


def whole(changed: AgentRun | None = None, **raw: str) -> tuple[Trace, AgentRun]:
    """A trace of service "shop" with one run of "agent"; `raw`: fields of its own span."""
    one = changed or run("m", Said("l1", "hello"))
    if raw and one.span is not None:
        span = replace(one.span, raw=replace(one.span.raw, **raw))  # type: ignore[arg-type]
        one = replace(one, span=span)
    return trace(one), one


def test_without_rules_of_ones_own_every_run_is_judged_by_all() -> None:
    """The default judges everything, with certainty."""
    decision = decide(Policy(), *whole(), [])
    assert (decision.outcome, decision.probability, decision.judges) == (Outcome.PENDING, 1.0, ())


@pytest.mark.parametrize(
    ("rules", "outcome", "judges"),
    [
        ((Rule(service="shop", judges=("a",)), Rule(judges=("b",))), Outcome.PENDING, ("a",)),
        ((Rule(service="other", judges=("a",)), Rule(judges=("b",))), Outcome.PENDING, ("b",)),
        ((Rule(agent="agent", judges=("a",)),), Outcome.PENDING, ("a",)),
        ((Rule(agent="agen"),), Outcome.FILTERED, ()),
        ((Rule(service="shop*"),), Outcome.FILTERED, ()),
        ((), Outcome.FILTERED, ()),
        ((Rule(rate=0.0),), Outcome.FILTERED, ()),
    ],
)
def test_the_first_rule_that_holds_decides(rules: tuple[Rule, ...], outcome: Outcome, judges: tuple[str, ...]) -> None:
    """Names are names, not patterns; a run that no rule is for is filtered."""
    decision = decide(Policy(rules), *whole(), [])
    assert (decision.outcome, decision.judges) == (outcome, judges)
    assert bool(decision.reason) == (outcome is Outcome.FILTERED)


def test_attributes_of_the_run_or_its_resource_filter() -> None:
    """All of them must be equal; the run's own come before its resource's."""
    one = run("m", Said("l1", "hello"))
    assert one.span is not None
    raw = replace(one.span.raw, attributes={"env": "prod"}, resource_attributes={"env": "test", "region": "eu"})
    built = replace(one, span=replace(one.span, raw=raw))

    def of(**attributes: str) -> Outcome:
        return decide(Policy((Rule(attributes=attributes),)), trace(built), built, []).outcome

    assert of(env="prod", region="eu") is Outcome.PENDING
    assert of(env="test") is Outcome.FILTERED
    assert of(region="us") is Outcome.FILTERED
    assert of(missing="") is Outcome.FILTERED


def test_a_sample_is_by_trace_and_says_its_probability() -> None:
    """The same trace id is decided alike wherever it is asked, the upstream sampler's probability is multiplied in."""
    for number in range(50):
        built, one = whole(trace_state="ot=th:8")
        built = replace(built, trace_id=f"{number:032x}")
        decision = decide(Policy((Rule(rate=0.3),)), built, one, [])
        expected = Outcome.PENDING if chosen(built.trace_id, 0.3) else Outcome.SAMPLED_OUT
        assert decision.outcome is expected
        assert decision.probability == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("least", "found", "outcome"),
    [
        (Severity.HIGH, Severity.HIGH, Outcome.PENDING),
        (Severity.HIGH, Severity.MEDIUM, Outcome.SAMPLED_OUT),
        (Severity.MEDIUM, Severity.MEDIUM, Outcome.PENDING),
        (Severity.LOW, Severity.LOW, Outcome.PENDING),
        (None, Severity.HIGH, Outcome.SAMPLED_OUT),
    ],
)
def test_a_severe_detector_finding_is_always_judged(least: Severity | None, found: Severity, outcome: Outcome) -> None:
    """Whatever the rate; what is always judged is in the sample with certainty."""
    policy = replace(NEVER, always_severity=least)
    decision = decide(policy, *whole(), [a_finding(agent_run_id="m", severity=found, confidence=0.9)])
    assert decision.outcome is outcome
    assert decision.probability == (1.0 if outcome is Outcome.PENDING else 1e-12)


def test_only_findings_of_the_run_itself_and_sure_ones_count() -> None:
    """A finding at another agent, or one that no profile shows, is no reason."""
    policy = replace(NEVER, always_severity=Severity.LOW, confidence=0.38)
    elsewhere = a_finding(agent_run_id="other", severity=Severity.HIGH, confidence=0.9)
    unsure = a_finding(agent_run_id="m", severity=Severity.HIGH, confidence=0.37)
    assert decide(policy, *whole(), [elsewhere, unsure]).outcome is Outcome.SAMPLED_OUT
    sure = replace(unsure, confidence=0.38)
    assert decide(policy, *whole(), [sure]).outcome is Outcome.PENDING


def test_a_run_with_an_error_status_is_always_judged_unless_told_otherwise() -> None:
    """Its own span's status, or that of any span of its turns."""
    failing = run("m", Said("l1", "hello", [Did("search", {}, error="boom", span_id="t1")]))
    assert decide(replace(NEVER, always_on_error=True), *whole(failing), []).outcome is Outcome.PENDING
    assert decide(NEVER, *whole(failing), []).outcome is Outcome.SAMPLED_OUT
    own = whole(status_code=STATUS_ERROR)  # type: ignore[arg-type]
    assert decide(replace(NEVER, always_on_error=True), *own, []).outcome is Outcome.PENDING


def test_a_rate_of_zero_holds_even_for_what_would_always_be_judged() -> None:
    """Zero switches a service off."""
    policy = Policy((Rule(rate=0.0),), always_severity=Severity.LOW)
    finding = a_finding(agent_run_id="m", severity=Severity.HIGH, confidence=1.0)
    assert decide(policy, *whole(), [finding]).outcome is Outcome.FILTERED
