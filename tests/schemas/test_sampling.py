"""Sampling: what an upstream sampler says, and a hash that decides alike everywhere."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.schemas.sampling import (
    chosen,
    combined_threshold,
    is_sampled,
    randomness,
    threshold,
    upstream_probability,
    with_threshold,
)


@pytest.mark.parametrize(
    ("trace_state", "probability"),
    [
        ("", 1.0),
        ("vendor=x", 1.0),
        ("ot=th:0", 1.0),
        ("ot=th:8", 0.5),
        ("ot=th:c", 0.25),
        ("vendor=x, ot=rv:abcdefabcdefab;th:8", 0.5),
        ("ot=th:fd70a3d70a3d71", pytest.approx(0.01)),
        ("ot=th:ffffffffffffff", 2.0**-56),
        ("ot=th:fffffffffffffc", 2.0**-54),
        ("ot=p:8;r:62", 1.0),
        ("ot=th:", 1.0),
        ("ot=th:zz", 1.0),
        ("ot=th:FF", 1.0),
        ("ot=th:123456789abcdef", 1.0),
        ("ot", 1.0),
        ("xot=th:8", 1.0),
    ],
)
def test_the_threshold_of_tracestate_is_a_probability(trace_state: str, probability: float) -> None:
    """1 - th / 2^56, th without its trailing zeros; anything else says nothing."""
    assert upstream_probability(trace_state) == probability


@given(st.text(max_size=80))
def test_whatever_a_tracestate_holds_gives_a_probability(trace_state: str) -> None:
    """Hostile text is no error."""
    assert 0.0 < upstream_probability(trace_state) <= 1.0
    assert 0.0 < upstream_probability(f"ot={trace_state}") <= 1.0


@given(st.text(max_size=40), st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_sample_is_part_of_a_larger_one(trace_id: str, one: float, other: float) -> None:
    """Raising a rate keeps what was chosen; 0 chooses nothing and 1 everything."""
    low, high = sorted((one, other))
    assert not (chosen(trace_id, low) and not chosen(trace_id, high))
    assert chosen(trace_id, 1.0)
    assert not chosen(trace_id, 0.0)


def test_the_share_chosen_is_the_rate_whatever_the_ids_look_like() -> None:
    """Counters as ids are sampled as evenly as random ones: four standard deviations around a tenth."""
    share = sum(chosen(f"{i:032x}", 0.1) for i in range(20_000)) / 20_000
    assert abs(share - 0.1) < 4 * (0.1 * 0.9 / 20_000) ** 0.5


@pytest.mark.parametrize(
    ("trace_state", "rate", "written"),
    [
        ("", 0.5, "ot=th:8"),
        ("", 1.0, "ot=th:0"),
        ("vendor=x", 0.25, "ot=th:c,vendor=x"),
        ("ot=th:8", 0.5, "ot=th:c"),
        ("vendor=x,ot=rv:6e6d1a75832a2f;th:8;a:b", 0.5, "ot=th:c;rv:6e6d1a75832a2f;a:b,vendor=x"),
        ("ot=rv:6e6d1a75832a2f", 0.05, "ot=th:f3333333333333;rv:6e6d1a75832a2f"),
    ],
)
def test_a_further_sampler_writes_the_product_of_both_probabilities(
    trace_state: str, rate: float, written: str
) -> None:
    """What else the tracestate holds stays; the changed member comes first."""
    found = with_threshold(trace_state, combined_threshold(trace_state, rate))
    assert found == written
    assert upstream_probability(found) == pytest.approx(upstream_probability(trace_state) * rate, abs=1e-15)


def test_a_tracestate_never_gets_more_members_than_w3c_allows() -> None:
    """The last of 32 gives way, as the specification says."""
    full = ",".join(f"v{i}=x" for i in range(32))
    assert with_threshold(full, 2**55).split(",") == ["ot=th:8", *(f"v{i}=x" for i in range(31))]


def test_the_randomness_is_stated_or_the_end_of_the_trace_id() -> None:
    """56 bits; what is not 14 hex digits is no statement."""
    trace_id = "0123456789abcdef0123456789abcdef"
    assert randomness(trace_id, "") == 0x23456789ABCDEF
    assert randomness(trace_id, "ot=rv:6e6d1a75832a2f") == 0x6E6D1A75832A2F
    assert randomness(trace_id, "ot=rv:6e6d") == 0x23456789ABCDEF


@given(st.integers(0, 2**128 - 1), st.floats(0.001, 1), st.floats(0, 1), st.floats(0, 1))
def test_what_is_kept_is_consistent(trace_id: int, upstream: float, one: float, other: float) -> None:
    """A lower rate keeps a part of a higher one; all is kept at 1, nothing at 0, whatever came before."""
    state = with_threshold("", combined_threshold("", upstream))
    low, high = sorted((one, other))
    ids = f"{trace_id:032x}"
    assert not (is_sampled(ids, state, low) and not is_sampled(ids, state, high))
    assert is_sampled(ids, state, 1.0)
    assert not is_sampled(ids, state, 0.0)
    if randomness(ids, state) >= threshold(state):
        assert is_sampled(ids, state, high) == (randomness(ids, state) >= combined_threshold(state, high))


@pytest.mark.parametrize("upstream", [1.0, 0.5, 0.01])
def test_the_share_kept_is_the_rate_of_what_upstream_kept(upstream: float) -> None:
    """Also where the ids contradict the threshold: then a hash chooses; four standard deviations around a fifth."""
    random = Random(1)  # noqa: S311  ids
    state = with_threshold("", combined_threshold("", upstream))
    ids = [f"{random.getrandbits(128):032x}" for _ in range(20_000)]
    agreeing = [i for i in ids if randomness(i, state) >= threshold(state)]
    for some in (agreeing, sorted(set(ids) - set(agreeing))):
        if some:
            share = sum(is_sampled(i, state, 0.2) for i in some) / len(some)
            assert abs(share - 0.2) < 4 * (0.2 * 0.8 / len(some)) ** 0.5
