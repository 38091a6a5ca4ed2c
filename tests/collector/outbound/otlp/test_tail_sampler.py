"""Which traces go out, and that what arrives of them still tells the true rate."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import sized
from store_parts import a_finding

from tracejury.collector.outbound.otlp.config import SamplingConfig
from tracejury.collector.outbound.otlp.tail_sampler import ALL, SamplingDecision, TailSampler
from tracejury.judges.measures.rates import share
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.export_record import JudgedOpinion, TraceRecord
from tracejury.schemas.rates import Sums
from tracejury.schemas.sampling import combined_threshold, randomness, threshold, upstream_probability, with_threshold
from tracejury.schemas.taxonomy import Severity

DAYS = sized(30, 400)
"""Simulated days."""
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
        opinions=tuple(JudgedOpinion(f, "detectors", 5) for f in findings),
    )
    return replace(made, **changes)


def sampler(**changes: Any) -> TailSampler:
    """One that keeps a tenth of the healthy traces."""
    return TailSampler.of(SamplingConfig(**{"healthy": 0.1} | changes))


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
        ({}, record(kin=(record(a_finding()),)), True),
        ({}, record(kin=(record(failed=True),)), True),
        ({"errors": True}, record(kin=(record(errors=True),)), True),
        ({}, record(kin=(record(pending=True),)), True),
        ({}, record(kin=(record(pending=True, state="open"),)), False),
        ({}, record(errors=True), False),
        ({"errors": True}, record(errors=True), True),
        ({}, record(failed=True), True),
        ({}, record(pending=True), True),
    ],
)
def test_what_makes_a_trace_a_failing_one(rules: dict[str, Any], trace: TraceRecord, fails: bool) -> None:  # noqa: FBT001  a column
    """Findings that show and weigh enough, errors if asked; and a trace whose judge failed is not healthy."""
    assert sampler(**rules).fails(trace) is fails
    assert sampler(**rules).choose(trace) == (ALL if fails else SamplingDecision(goes=False, rate=0.1))


def test_a_failing_trace_keeps_its_tracestate() -> None:
    """It stands for as many as it did before."""
    state = "ot=th:8,vendor=x"
    assert sampler().choose(record(a_finding(), trace_state=state)).written(state) == state


def test_of_everything_nothing_is_changed() -> None:
    """Without sampling no tracestate is touched."""
    assert sampler(healthy=1.0).choose(record()) is ALL
    assert ALL.written("a=b") == "a=b"


def test_what_was_sent_as_failing_goes_on_for_itself() -> None:
    """A trace whose findings were taken back cannot be called back; it does not begin to stand for ten."""
    assert sampler().choose(record(sent={1: 2})) is ALL
    assert sampler().choose(record(trace_id="f" * 32, sent={1: 2})) == SamplingDecision(goes=True, rate=0.1)


@given(st.integers(0, 2**128 - 1), st.floats(0.01, 1), st.floats(0.001, 0.999))
def test_what_is_kept_passes_the_threshold_that_it_states(number: int, upstream: float, rate: float) -> None:
    """Whoever samples consistently downstream finds it right; the probability is the product of both."""
    state, trace_id = with_threshold("", combined_threshold("", upstream)), f"{number:032x}"
    if randomness(trace_id, state) < threshold(state):
        return
    choice = sampler(healthy=rate).choose(record(trace_id=trace_id, trace_state=state))
    if choice.goes:
        written = choice.written(state)
        assert randomness(trace_id, written) >= threshold(written)
        assert upstream_probability(written) == pytest.approx(upstream * rate, rel=1e-9)


@pytest.mark.parametrize(("upstream", "healthy", "rate"), [(1.0, 0.03, 0.02), (0.5, 0.05, 0.05), (1.0, 0.04, 0.01)])
def test_the_rate_downstream_covers_the_true_one(upstream: float, healthy: float, rate: float) -> None:
    """At about a twentieth of the volume: of all simulated days the 95 % interval covers the truth on about 95 %.

    Weights are the adjusted counts that the tracestates of what arrives state. The bounds are four standard deviations
    around 95 %, and above without a bound: an interval of few failures may be wide.
    """
    covered, arrived, offered = 0, 0, 0
    rules = sampler(healthy=healthy)
    state = with_threshold("", combined_threshold("", upstream)) if upstream < 1 else ""
    fails, healthy_one = record(a_finding()), record()
    for seed in range(DAYS):
        random = Random(seed)  # noqa: S311  a simulation
        sums = Sums()
        for _ in range(1500):
            trace_id = f"{random.getrandbits(128):032x}"
            failing = random.random() < rate
            if randomness(trace_id, state) < threshold(state):
                continue
            offered += 1
            shape = fails if failing else healthy_one
            choice = rules.choose(replace(shape, trace_id=trace_id, trace_state=state))
            if choice.goes:
                arrived += 1
                sums += one(1 / upstream_probability(choice.written(state)), failing=failing)
        estimate = share(sums)
        assert estimate is not None
        covered += estimate.low <= rate <= estimate.high
    assert arrived / offered < 0.11
    assert covered / DAYS > 0.95 - 4 * (0.95 * 0.05 / DAYS) ** 0.5


def one(weight: float, *, failing: bool) -> Sums:
    """One trace of that weight, with an error or none."""
    hit, w2 = int(failing), weight * weight
    errors = (weight * hit, w2 * hit, w2 * hit)
    return Sums(1, 1, hit, hit, weight, w2, weight, w2, *errors, *errors, w2 * hit)


def family(*states: str, **changes: Any) -> list[TraceRecord]:
    """Traces that were judged as one, the first of them first, by their tracestates."""
    singles = [record(trace_id=f"{7 * n:032x}", trace_state=state, **changes) for n, state in enumerate(states, 1)]
    leader = singles[0].trace_id
    return [replace(r, kin=tuple(o for o in singles if o is not r), leader=leader) for r in singles]


def test_of_traces_that_are_one_all_fail_where_one_does() -> None:
    """Whatever it is that fails it."""
    whole = family("", "", "")
    assert not any(sampler().choose(r).goes for r in whole)
    failing = [replace(r, kin=(replace(r.kin[0], opinions=record(a_finding()).opinions), r.kin[1])) for r in whole[1:]]
    assert all(sampler().choose(r) is ALL for r in failing)


@given(st.integers(0, 2**56 - 1), st.floats(0.01, 1), st.floats(0.001, 0.999))
def test_of_traces_that_are_one_all_are_chosen_or_none(number: int, upstream: float, rate: float) -> None:
    """By the randomness of the first, which all state: whoever samples downstream keeps them together, too."""
    first = with_threshold(f"ot=rv:{number:014x}", combined_threshold("", upstream))
    if randomness(NONE_KEPT, first) < threshold(first):
        return
    own = with_threshold("vendor=1", combined_threshold("", upstream))
    records = family(first, own, own)
    choices = [sampler(healthy=rate).choose(r) for r in records]
    assert len({c.goes for c in choices}) == 1
    for kept_one, choice in zip(records, choices, strict=True):
        written = choice.written(kept_one.trace_state)
        assert randomness(kept_one.trace_id, written) == number
        assert (number >= threshold(written)) == choice.goes
        assert upstream_probability(written) == pytest.approx(upstream * rate, rel=1e-9)


def test_what_a_backend_has_a_part_of_goes_whole() -> None:
    """The first of these traces was sent as a failing one, and the later ones belong to it."""
    whole = family("", "")
    assert sampler().choose(replace(whole[1], kin=(replace(whole[0], kin=(), sent={1: 2}),))) is ALL
