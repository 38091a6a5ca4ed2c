"""The bootstrap: its quantiles and what it resamples."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.bootstrap import intervals, quantile


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60))
def test_quantiles_equal_those_of_the_standard_library(values: list[float]) -> None:
    """At 2.5% and 97.5%: the first and last of `statistics.quantiles` in 40 parts, inclusive (definition 7)."""
    cuts = statistics.quantiles(values, n=40, method="inclusive")
    assert quantile(sorted(values), 0.025) == pytest.approx(cuts[0])
    assert quantile(sorted(values), 0.975) == pytest.approx(cuts[-1])


def test_a_single_value_is_every_quantile() -> None:
    """No neighbour to interpolate with."""
    assert quantile([3.0], 0.0) == quantile([3.0], 0.975) == 3.0


def test_resamples_have_as_many_units_as_there_are() -> None:
    """Units are drawn with replacement, as many as given; statistics of one draw go together."""
    sizes: set[int] = set()

    def statistic(draw: object) -> dict[str, float]:
        assert isinstance(draw, list)
        sizes.add(len(draw))
        return {"mean": statistics.fmean(draw), "twice": 2 * statistics.fmean(draw)}

    result = intervals([0.0, 1.0, 1.0, 0.0], statistic)
    assert sizes == {4}
    assert result["twice"] == (2 * result["mean"][0], 2 * result["mean"][1])
    assert result["mean"][0] < 0.5 < result["mean"][1]


def test_nothing_to_resample() -> None:
    """Without units there is no interval."""
    assert intervals([], lambda _: {"x": 0.0}) == {}


def test_a_statistic_that_some_draws_leave_out_has_the_interval_of_the_others() -> None:
    """A share without denominator in a draw is undefined there; one that no draw defines has no interval."""

    def shares(draw: Sequence[tuple[int, int]]) -> dict[str, float]:
        hits, trials = (sum(column) for column in zip(*draw, strict=True))
        return {"share": hits / trials} if trials else {}

    assert intervals([(1, 1), (0, 0)], shares) == {"share": (1.0, 1.0)}
    assert intervals([(0, 0), (0, 0)], shares) == {}
