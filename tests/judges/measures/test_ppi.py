"""Calibrated shares against the reference implementation of prediction-powered inference, and in simulation.

The figures of REFERENCE are what `ppi-python` 0.2.3 (Angelopoulos et al., PyPI) gave for these counts, made up for the
purpose: `ppi_mean_pointestimate(y, yhat, yhat_unlabeled, lam=m1 - m0)` and, its own λ, `ppi_mean_ci(…, alpha=0.05)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, count, islice
from math import sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rate_sums import Cluster, sums

from tracejury.judges.measures.ppi import Pair, calibrated_share, confirmed_share
from tracejury.judges.measures.rates import share
from tracejury.schemas.rates import Estimate, Sums

REFERENCE = [
    pytest.param((5, 3, 2, 10), (30, 100), 0.3758241758241758, (0.18506, 0.57231), 0.1, id="20 labels"),
    pytest.param((30, 12, 10, 248), (700, 5000), 0.1446923076923077, (0.11506, 0.17346), 0.005, id="300 labels"),
    pytest.param((60, 30, 45, 165), (1200, 4000), 0.27912087912087913, (0.23202, 0.32618), 0.005, id="a poor judge"),
    pytest.param((20, 40, 20, 120), (900, 3000), 0.325, (0.25590, 0.38024), 0.015, id="a judge that hardly helps"),
]


def population(hits: int, of: int, weight: float = 1.0) -> list[Cluster]:
    """So many units in which the judge sees errors, of so many."""
    return [Cluster(weight, 1, 1)] * hits + [Cluster(weight, 0, 0)] * (of - hits)


def pairs(both: int, human: int, judge: int, neither: int) -> list[Pair]:
    """Units by who sees an error in them."""
    cells = ((both, 1.0, True), (human, 1.0, False), (judge, 0.0, True), (neither, 0.0, False))
    return [Pair(y, yhat) for count, y, yhat in cells for _ in range(count)]


@pytest.mark.parametrize(("counts", "judged", "value", "interval", "tolerance"), REFERENCE)
def test_estimates_are_those_of_the_reference(
    counts: tuple[int, int, int, int],
    judged: tuple[int, int],
    value: float,
    interval: tuple[float, float],
    tolerance: float,
) -> None:
    """The same point with the same λ; about the same interval, the more so the more labels there are."""
    found = calibrated_share(sums(population(*judged)), pairs(*counts))
    assert found is not None
    assert found.value == pytest.approx(value, abs=1e-12)
    assert (found.low, found.high) == pytest.approx(interval, abs=tolerance)


def test_weighted_estimates_are_those_of_the_reference() -> None:
    """Labels and population with unequal weights: `ppi_mean_pointestimate(…, w=w, w_unlabeled=wu)`."""
    human = [1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]
    judge = [1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0]
    weights = [1, 1, 1, 10, 10, 10, 10, 10, 2, 2, 5, 5]
    labelled = [Pair(y, bool(yhat), w) for y, yhat, w in zip(human, judge, weights, strict=True)]
    found = calibrated_share(sums(population(25, 25) + population(0, 75, 4.0)), labelled)
    assert found is not None
    assert found.value == pytest.approx(0.19780219780219777, abs=1e-12)


def test_a_judge_without_fault_is_left_as_it_is() -> None:
    """Nothing is corrected where people always say the same; what is not known of the judge widens the interval."""
    judged = sums(population(200, 1000))
    found, raw = calibrated_share(judged, pairs(30, 0, 0, 70)), share(judged)
    assert found is not None
    assert raw is not None
    assert found.value == pytest.approx(0.2)
    assert found.low < raw.low < raw.high < found.high


def test_without_labels_on_one_side_there_is_no_estimate() -> None:
    """What the judge misses cannot be told from what it finds, nor the other way."""
    judged = sums(population(20, 100))
    assert calibrated_share(judged, pairs(10, 0, 5, 0)) is None
    assert calibrated_share(judged, pairs(0, 3, 0, 30)) is None
    assert calibrated_share(judged, []) is None
    assert calibrated_share(Sums(), pairs(5, 5, 5, 5)) is None


def test_a_side_that_does_not_exist_needs_no_labels() -> None:
    """A judge that finds nothing: the rate is what it misses."""
    found = calibrated_share(sums(population(0, 500)), pairs(0, 4, 0, 36))
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert found.low < 0.1 < found.high


def test_divided_people_count_half() -> None:
    """One of two says yes: as good as half an error."""
    labelled = [Pair(0.5, judge=False)] * 10 + [Pair(0.0, judge=False)] * 10 + [Pair(1.0, judge=True)] * 10
    found = calibrated_share(sums(population(100, 400)), labelled)
    assert found is not None
    assert found.value == pytest.approx(0.25 + 0.75 * 0.25)


weighted = st.builds(Pair, st.sampled_from([0.0, 0.5, 1.0]), st.booleans(), st.floats(0.5, 50))


@given(st.lists(weighted, max_size=30), st.integers(0, 50), st.integers(1, 50))
def test_estimates_are_in_range(labelled: list[Pair], hits: int, others: int) -> None:
    """0 <= low <= value <= high <= 1, whatever the labels."""
    found = calibrated_share(sums(population(hits, hits + others)), labelled)
    if found is not None:
        assert 0 <= found.low <= found.value + 1e-12
        assert found.value <= found.high + 1e-12 <= 1 + 1e-12


@dataclass(frozen=True)
class Service:
    """How often its runs fail, how often the judge misses that, and how often it sees an error where there is none."""

    portion: float
    rate: float
    missed: float
    invented: float


BIASED = (Service(0.7, 0.10, 0.30, 0.15), Service(0.3, 0.30, 0.40, 0.25))
NOISY = (Service(0.5, 0.15, 0.20, 0.40), Service(0.5, 0.25, 0.10, 0.15))
RUNS, SAMPLES = 2000, 150


@dataclass(frozen=True)
class Run:
    """Truth, the judge's word, and the stratum that the queue draws it in."""

    failed: bool
    found: bool
    stratum: int


def drawn(random: Random, services: tuple[Service, ...]) -> list[Run]:
    """Runs, as they come."""
    edges = list(accumulate(s.portion for s in services))
    runs = []
    for _ in range(RUNS):
        place = random.random()
        index = next(i for i, edge in enumerate(edges) if place < edge or edge == edges[-1])
        service = services[index]
        failed = random.random() < service.rate
        found = random.random() < (1 - service.missed if failed else service.invented)
        runs.append(Run(failed, found, 2 * index + found))
    return runs


def labelled(random: Random, runs: list[Run], labels: int) -> list[Pair]:
    """Of strata of N runs in proportion to √N (the label queue's), each label weighs N / n of its stratum."""
    sizes = [sum(run.stratum == s for run in runs) for s in range(4)]
    chosen = sorted(runs, key=lambda run: random.random() * sqrt(sizes[run.stratum]))[:labels]
    counts = [sum(run.stratum == s for run in chosen) for s in range(4)]
    return [Pair(float(run.failed), run.found, sizes[run.stratum] / counts[run.stratum]) for run in chosen]


def counted(hits: int) -> Sums:
    """The sums of all runs, so many of them with an error."""
    n, b = float(RUNS), float(hits)
    return Sums(n=RUNS, units=RUNS, hits=hits, w=n, w2=n, wt=n, w2t2=n, wb=b, w2b2=b, w2bt=b)


def covers(estimate: Estimate | None, truth: float) -> bool:
    """Whether there is one, and it holds the truth."""
    return estimate is not None and estimate.low <= truth <= estimate.high


@pytest.mark.parametrize("labels", [30, 100, 300])
@pytest.mark.parametrize("services", [pytest.param(BIASED, id="biased"), pytest.param(NOISY, id="noisy")])
def test_intervals_cover_the_truth_where_the_judges_own_do_not(services: tuple[Service, ...], labels: int) -> None:
    """About 95 % of the time, whatever the judge's faults; 150 samples tell 92 from 99 %."""
    random = Random(f"{services} {labels}")  # noqa: S311 - a simulation
    truth = sum(s.portion * s.rate for s in services)
    calibrated = raw = 0
    for _ in range(SAMPLES):
        runs = drawn(random, services)
        judged = counted(sum(run.found for run in runs))
        calibrated += covers(calibrated_share(judged, labelled(random, runs, labels)), truth)
        raw += covers(share(judged), truth)
    assert calibrated >= 0.92 * SAMPLES
    assert raw <= 0.1 * SAMPLES


def test_calibrated_intervals_are_narrower_than_labels_alone() -> None:
    """100 runs drawn at random from all, judged well by a judge: the judge's word on the rest is worth something."""
    random = Random("narrower")  # noqa: S311 - a simulation
    services = (Service(1.0, 0.2, 0.1, 0.05),)
    widths = [0.0, 0.0]
    for _ in range(60):
        runs = drawn(random, services)
        chosen = [Pair(float(run.failed), run.found) for run in runs[:100]]
        judged = counted(sum(run.found for run in runs))
        alone = share(sums(Cluster(1.0, int(p.human), int(p.human)) for p in chosen))
        both = calibrated_share(judged, chosen)
        assert alone is not None
        assert both is not None
        widths[0] += both.high - both.low
        widths[1] += alone.high - alone.low
    assert widths[0] < 0.8 * widths[1]


LEAST_WITH = 10
"""Labelled runs with the pattern of which a share is told."""


def one_pattern(random: Random) -> tuple[bool, bool, float] | None:
    """Whether the confirmed share, and the judges' own, of a pattern in a random world cover the truth; their ratio.

    Three strata: clean runs, and runs with findings, some of which are of the pattern, rightly so more often in one of
    the two. None where too few runs with it were drawn.
    """
    sizes = [random.uniform(0.3, 0.8), random.uniform(0.05, 0.4), random.uniform(0.05, 0.4)]
    of_pattern = [0.0, random.uniform(0.1, 0.9), random.uniform(0.1, 0.9)]
    right = [0.0, random.uniform(0.05, 0.95), random.uniform(0.05, 0.95)]
    runs = []
    for stratum in random.choices(range(3), weights=sizes, k=RUNS):
        seen = random.random() < of_pattern[stratum]
        runs.append((stratum, seen, seen and random.random() < right[stratum]))
    counts = [sum(s == stratum for s, _, _ in runs) for stratum in range(3)]
    chosen = sorted(runs, key=lambda run: random.random() * sqrt(counts[run[0]]))[: random.choice([30, 60, 150])]
    drawn_of = [sum(s == stratum for s, _, _ in chosen) for stratum in range(3)]
    labels = [Pair(float(true), judge=True, weight=counts[s] / drawn_of[s]) for s, seen, true in chosen if seen]
    rate = share(counted(sum(seen for _, seen, _ in runs)))
    found = confirmed_share(rate, labels) if rate else None
    if len(labels) < LEAST_WITH or rate is None or found is None:
        return None
    parts = list(zip(sizes, of_pattern, right, strict=True))
    truth = sum(size * seen * true for size, seen, true in parts) / sum(sizes)
    return covers(found, truth), covers(rate, truth), found.value / rate.value


def test_confirmed_shares_cover_the_truth_where_the_judges_own_do_not() -> None:
    """In 300 worlds with other strata, shares and precisions."""
    random = Random("patterns")  # noqa: S311 - a simulation
    told = list(islice(filter(None, (one_pattern(random) for _ in count())), 300))
    assert sum(one for one, _, _ in told) >= 0.93 * len(told)
    assert sum(own for _, own, _ in told) <= 0.2 * len(told)
    assert all(0 <= ratio <= 1 for *_, ratio in told)


def test_nothing_is_confirmed_where_nobody_looked() -> None:
    """Runs without it tell nothing of it."""
    rate = Estimate(0.1, 0.08, 0.12)
    assert confirmed_share(rate, pairs(0, 5, 0, 20)) is None
    found = confirmed_share(rate, pairs(10, 5, 10, 20))
    assert found is not None
    assert found.value == pytest.approx(0.05)
    assert found.low < 0.05 < found.high < rate.high
