"""Which traces go out, and that what arrives of them still tells the true rate."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_parts import a_finding

from tracejury.collector.export.choice import ALL, Choice, Chooser
from tracejury.collector.export.config import SamplingConfig
from tracejury.collector.export.record import Opinion, TraceRecord
from tracejury.judges.measures.rates import share
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.rates import Sums
from tracejury.schemas.sampling import randomness, thinned, threshold, upstream_probability, with_threshold
from tracejury.schemas.taxonomy import Severity

NONE_KEPT = "0" * 32
"""A trace id whose randomness is the least there is."""


def record(*findings: Finding, **changes: Any) -> TraceRecord:
    """A settled trace with these findings."""
    made = TraceRecord(
        trace_id=NONE_KEPT,
        state="settled",
        judged_at=5,
        seen=5,
        received_at=1,
        rows=3,
        conventions=("openinference",),
        opinions=tuple(Opinion(f, "detectors", 5) for f in findings),
    )
    return replace(made, **changes)


def chooser(**changes: Any) -> Chooser:
    """One that keeps a tenth of the healthy traces."""
    return Chooser.of(SamplingConfig(**{"healthy": 0.1} | changes))


@pytest.mark.parametrize(
    ("rules", "trace", "fails"),
    [
        ({}, record(), False),
        ({}, record(a_finding(confidence=0.9)), True),
        ({}, record(a_finding(confidence=0.1)), False),
        ({"profile": "0.05"}, record(a_finding(confidence=0.1)), True),
        ({}, record(a_finding(confidence=0.5), conventions=()), False),
        ({}, record(a_finding(state=FindingState.RETRACTED)), False),
        ({}, record(a_finding(state=FindingState.PROVISIONAL)), False),
        ({"severity": "HIGH"}, record(a_finding(severity=Severity.MEDIUM)), False),
        ({"severity": "HIGH"}, record(a_finding(severity=Severity.HIGH)), True),
        ({}, record(beside=(a_finding(),)), True),
        ({}, record(errors=True), False),
        ({"errors": True}, record(errors=True), True),
        ({}, record(failed=True), True),
        ({}, record(pending=True), True),
    ],
)
def test_what_makes_a_trace_a_failing_one(rules: dict[str, Any], trace: TraceRecord, fails: bool) -> None:  # noqa: FBT001  a column
    """Findings that show and weigh enough, errors if asked; and a trace whose judge failed is not healthy."""
    assert chooser(**rules).fails(trace) is fails
    assert chooser(**rules).choose(trace) == (ALL if fails else Choice(goes=False, rate=0.1))


def test_a_failing_trace_keeps_its_tracestate() -> None:
    """It stands for as many as it did before."""
    state = "ot=th:8,vendor=x"
    assert chooser().choose(record(a_finding(), trace_state=state)).written(state) == state


def test_of_everything_nothing_is_changed() -> None:
    """Without sampling no tracestate is touched."""
    assert chooser(healthy=1.0).choose(record()) is ALL
    assert ALL.written("a=b") == "a=b"


def test_what_was_sent_as_failing_goes_on_for_itself() -> None:
    """A trace whose findings were taken back cannot be called back; it does not begin to stand for ten."""
    assert chooser().choose(record(sent={1: 2})) is ALL
    assert chooser().choose(record(trace_id="f" * 32, sent={1: 2})) == Choice(goes=True, rate=0.1)


@given(st.integers(0, 2**128 - 1), st.floats(0.01, 1), st.floats(0.001, 0.999))
def test_what_is_kept_passes_the_threshold_that_it_states(number: int, upstream: float, rate: float) -> None:
    """Whoever samples consistently downstream finds it right; the probability is the product of both."""
    state, trace_id = with_threshold("", thinned("", upstream)), f"{number:032x}"
    if randomness(trace_id, state) < threshold(state):
        return
    choice = chooser(healthy=rate).choose(record(trace_id=trace_id, trace_state=state))
    if choice.goes:
        written = choice.written(state)
        assert randomness(trace_id, written) >= threshold(written)
        assert upstream_probability(written) == pytest.approx(upstream * rate, rel=1e-9)


@pytest.mark.parametrize(("upstream", "healthy", "rate"), [(1.0, 0.03, 0.02), (0.5, 0.05, 0.05), (1.0, 0.04, 0.01)])
def test_the_rate_downstream_covers_the_true_one(upstream: float, healthy: float, rate: float) -> None:
    """At about a twentieth of the volume: of 400 simulated days the 95 % interval covers the truth on about 95 %.

    Weights are the adjusted counts that the tracestates of what arrives state. The bounds are four standard deviations
    around 95 %, and above without a bound: an interval of few failures may be wide.
    """
    covered, arrived, offered = 0, 0, 0
    rules = chooser(healthy=healthy)
    state = with_threshold("", thinned("", upstream)) if upstream < 1 else ""
    for seed in range(400):
        random = Random(seed)  # noqa: S311  a simulation
        sums = Sums()
        for _ in range(1500):
            trace_id = f"{random.getrandbits(128):032x}"
            failing = random.random() < rate
            if randomness(trace_id, state) < threshold(state):
                continue
            offered += 1
            found = (a_finding(trace_id=trace_id),) if failing else ()
            choice = rules.choose(record(*found, trace_id=trace_id, trace_state=state))
            if choice.goes:
                arrived += 1
                sums += one(1 / upstream_probability(choice.written(state)), failing=failing)
        estimate = share(sums)
        assert estimate is not None
        covered += estimate.low <= rate <= estimate.high
    assert arrived / offered < 0.11
    assert covered / 400 > 0.95 - 4 * (0.95 * 0.05 / 400) ** 0.5


def one(weight: float, *, failing: bool) -> Sums:
    """One trace of that weight, with an error or none."""
    hit, w2 = int(failing), weight * weight
    errors = (weight * hit, w2 * hit, w2 * hit)
    return Sums(1, 1, hit, hit, weight, w2, weight, w2, *errors, *errors, w2 * hit)
