"""Sampling: what an upstream sampler says, and a hash that decides alike everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.schemas.sampling import chosen, upstream_probability


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
