"""The model behind docs/scale.md keeps what any queue keeps, whatever it is asked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scale_model import Cluster, assign, sampling_rate, simulate, with_enough_workers

MOMENTS = st.one_of(st.none(), st.floats(0, 12))
CLUSTERS = st.builds(
    Cluster,
    spans_per_second=st.floats(10, 800), partitions=st.integers(1, 12), workers=st.integers(2, 5),
    seconds=st.just(10.0), step=st.just(0.25),
    cpu_of_span=st.floats(0.1, 10), cpu_of_group=st.floats(0, 90), group_spans=st.integers(10, 9000),
    skew=st.floats(0, 2), trace_seconds=st.floats(0.1, 20), huge=st.sampled_from((0.0, 500.0)),
    lost_at=MOMENTS, added_at=MOMENTS, detection=st.floats(0, 5), pause=st.floats(0, 3), seed=st.integers(0, 9),
)  # fmt: skip


@given(CLUSTERS)
@settings(max_examples=30, deadline=None)
def test_no_span_is_lost_or_served_twice_and_no_core_is_more_than_one(cluster: Cluster) -> None:
    found = simulate(cluster)
    assert found.arrived == pytest.approx(found.done + found.waiting)
    assert min(found.done, found.waiting) >= -1e-6
    assert 0 <= found.busiest <= 1 + 1e-9
    assert found.lag_p50 <= found.lag_p99 <= cluster.seconds
    assert simulate(cluster) == found, "the seed decides"


@given(CLUSTERS)
@settings(max_examples=15, deadline=None)
def test_dearer_spans_never_help(cluster: Cluster) -> None:
    dearer = replace(cluster, cpu_of_span=2 * cluster.cpu_of_span)
    assert simulate(dearer).done <= simulate(cluster).done * (1 + 1e-9)


def test_the_later_a_death_is_noticed_the_longer_spans_wait() -> None:
    lags = [simulate(Cluster(lost_at=10.0, detection=after)).lag_p99 for after in (2.0, 10.0, 45.0)]
    assert lags == sorted(set(lags))


@given(rate=st.floats(100, 3_000), seed=st.integers(0, 9))
@settings(max_examples=8, deadline=None)
def test_as_many_workers_as_it_recommends_are_enough(rate: float, seed: int) -> None:
    """Nobody waits for a second while all live, and one worker less is caught up with."""
    cluster = with_enough_workers(Cluster(spans_per_second=rate, skew=0.0, seconds=60.0, step=0.25, seed=seed))
    found = simulate(cluster)
    assert found.lag_p99 < 1
    assert found.busiest < 0.95
    lost = simulate(replace(cluster, lost_at=5.0, detection=2.0))
    assert lost.caught_up is not None


def test_one_huge_trace_takes_a_worker_and_more_workers_do_not_help() -> None:
    """A partition has one owner: what exceeds its core waits, however many others there are."""
    waiting = [simulate(Cluster(huge=4_000.0, seconds=30.0, workers=workers)).waiting for workers in (8, 24)]
    assert waiting[0] > 10_000
    assert waiting[1] > 0.5 * waiting[0]
    assert simulate(Cluster(seconds=30.0, workers=8)).waiting < 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.sets(st.integers(0, 7), min_size=1))
def test_partitions_are_shared_evenly_and_only_those_that_must_move_do(owners: list[int], alive: set[int]) -> None:
    owner = np.array(owners)
    moved = assign(owner, sorted(alive))
    counts = [int((owner == worker).sum()) for worker in alive]
    assert sum(counts) == len(owners)
    assert max(counts) - min(counts) <= 1
    least, more = divmod(len(owners), len(alive))
    kept = sorted((owners.count(worker) for worker in alive), reverse=True)
    assert len(owners) - len(moved) == sum(min(had, least + (place < more)) for place, had in enumerate(kept))
    assert [before for place, before in enumerate(owners) if place not in moved] == [
        after for place, after in enumerate(owner.tolist()) if place not in moved
    ]


@given(
    runs=st.floats(1, 1e9), failing=st.floats(0, 1), usd=st.floats(1e-4, 1), budget=st.just(0.0) | st.floats(1e-3, 1e6),
    more=st.floats(1, 10),
)  # fmt: skip
def test_sampling_keeps_the_cap_and_grows_with_it(
    runs: float, failing: float, usd: float, budget: float, more: float
) -> None:
    rate, share = sampling_rate(runs, failing, usd, budget)
    assert 0 <= rate <= 1
    assert share * runs * usd <= budget * (1 + 1e-9)
    if rate:
        assert share == pytest.approx(failing + rate * (1 - failing))
    assert sampling_rate(runs, failing, usd, budget * more)[1] >= share * (1 - 1e-9)


def test_the_table_of_the_page_is_what_is_printed() -> None:
    script = Path(__file__).parents[1] / "bench" / "scale_simulation.py"
    command = [sys.executable, str(script), "--plan"]
    support = {"PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    done = subprocess.run(command, env=support, capture_output=True, text=True, check=True)  # noqa: S603  ours
    assert done.stdout in (script.parents[2] / "docs" / "scale.md").read_text("utf-8")
