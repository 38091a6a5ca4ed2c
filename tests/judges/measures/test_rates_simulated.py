"""Do 95 % intervals of rates cover the truth about 95 % of the time, and are p-values what they say?

Each case draws samples from a process whose rates are known. 400 samples: a coverage of 95 % is seen within 92.8 to
97.2 % in 19 of 20 cases; the seed is fixed, so that a case that passes goes on passing.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from rate_sums import Cluster, sums

from tracejury.judges.measures.rates import mean, mean_difference, share, share_difference
from tracejury.schemas.rates import Sums

SAMPLES = 400
ERRORS_A_FAILURE = 3.0
Process = Callable[[Random], list[Cluster]]


def errors(random: Random, failed: int) -> int:
    """Errors of so many failing units: geometric, one at least, skewed to the right."""
    count = 0
    for _ in range(failed):
        count += 1
        while random.random() > 1 / ERRORS_A_FAILURE:
            count += 1
    return count


def run(random: Random, probability: float, weight: float = 1.0) -> Cluster:
    """One run that fails so often."""
    failed = int(random.random() < probability)
    return Cluster(weight, failed, errors(random, failed))


def equal(runs: int, probability: float) -> Process:
    """All judged."""
    return lambda random: [run(random, probability) for _ in range(runs)]


def suspected(runs: int, share_: float, failing: float, otherwise: float) -> Process:
    """Runs that a detector suspects are always judged, others at 10 % with weight 10 (Horvitz and Thompson)."""

    def draw(random: Random) -> list[Cluster]:
        judged = []
        for _ in range(runs):
            if random.random() < share_:
                judged.append(run(random, failing))
            elif random.random() < 0.1:
                judged.append(run(random, otherwise, 10.0))
        return judged

    return draw


def upstream(runs: int, probability: float) -> Process:
    """Services sampled before they reached us, each at its own rate."""
    return lambda random: [run(random, probability, random.choice([1.0, 1.0, 5.0, 20.0])) for _ in range(runs)]


def turns(runs: int, probability: float, alike: float) -> Process:
    """Some eight turns a run, whose probability of failing is the run's own (beta): the smaller `alike`, the more."""

    def draw(random: Random) -> list[Cluster]:
        judged = []
        for _ in range(runs):
            own = random.betavariate(probability * alike, (1 - probability) * alike)
            units = 1
            while random.random() > 1 / 8:
                units += 1
            failed = sum(random.random() < own for _ in range(units))
            judged.append(Cluster(1.0, failed, errors(random, failed), units))
        return judged

    return draw


CASES = [
    pytest.param(equal(60, 0.3), 0.3, id="few runs"),
    pytest.param(equal(300, 0.1), 0.1, id="equal weights"),
    pytest.param(equal(300, 0.03), 0.03, id="rare errors"),
    pytest.param(suspected(600, 0.1, 0.6, 0.1), 0.15, id="suspects always judged"),
    pytest.param(suspected(900, 0.2, 0.9, 0.01), 0.188, id="errors among suspects only"),
    pytest.param(suspected(900, 0.3, 0.1, 0.1), 0.1, id="suspected for nothing"),
    pytest.param(upstream(200, 0.2), 0.2, id="sampled upstream"),
    pytest.param(turns(40, 0.2, 5.0), 0.2, id="turns of runs that differ"),
    pytest.param(turns(80, 0.15, 0.8), 0.15, id="turns that fail together"),
]


def samples(process: Process, seed: str) -> list[Sums]:
    """So many samples of a process."""
    random = Random(seed)  # noqa: S311 - a simulation
    return [sums(process(random)) for _ in range(SAMPLES)]


@pytest.mark.parametrize(("process", "truth"), CASES)
def test_intervals_cover_the_truth(process: Process, truth: float, request: pytest.FixtureRequest) -> None:
    """Of shares and of means; never much less than 95 %, and more only where weights hide what is rare."""
    covered = [0, 0]
    for sample in samples(process, request.node.callspec.id):
        for index, (found, true) in enumerate(((share(sample), truth), (mean(sample), truth * ERRORS_A_FAILURE))):
            assert found is not None
            covered[index] += found.low <= true <= found.high
    assert 0.92 * SAMPLES <= covered[0] <= 0.99 * SAMPLES
    assert 0.92 * SAMPLES <= covered[1] <= 0.995 * SAMPLES


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [
        pytest.param(equal(150, 0.2), equal(150, 0.2), (0.025, 0.075), id="equal weights"),
        pytest.param(equal(60, 0.1), equal(400, 0.1), (0.02, 0.08), id="few against many"),
        pytest.param(upstream(200, 0.2), equal(200, 0.2), (0.025, 0.075), id="sampled against not"),
        pytest.param(suspected(600, 0.1, 0.6, 0.1), equal(200, 0.15), (0.02, 0.07), id="suspects against all"),
        pytest.param(turns(80, 0.2, 5.0), turns(80, 0.2, 5.0), (0.025, 0.085), id="turns"),
    ],
)
def test_p_values_are_uniform_where_nothing_differs(
    first: Process, second: Process, size: tuple[float, float], request: pytest.FixtureRequest
) -> None:
    """5 % of them are below 5 %, half below a half; and intervals of the difference cover 0."""
    name = request.node.callspec.id
    pairs = list(zip(samples(first, name + " a"), samples(second, name + " b"), strict=True))
    for difference in (share_difference, mean_difference):
        found = [f for f in (difference(a, b) for a, b in pairs) if f is not None]
        assert len(found) == SAMPLES
        p_values = [p for _, p in found]
        assert size[0] <= sum(p < 0.05 for p in p_values) / SAMPLES <= size[1]
        assert 0.4 <= sum(p < 0.5 for p in p_values) / SAMPLES <= 0.62
        assert 0.92 <= sum(e.low <= 0 <= e.high for e, _ in found) / SAMPLES <= 0.99


def test_a_difference_is_seen() -> None:
    """Twice as many failing runs, 300 a side: nearly always told, and the interval covers the difference."""
    pairs = zip(samples(equal(300, 0.1), "before"), samples(equal(300, 0.2), "after"), strict=True)
    found = [f for f in (share_difference(a, b) for a, b in pairs) if f is not None]
    assert sum(p < 0.05 for _, p in found) > 0.9 * SAMPLES
    assert sum(e.low <= 0.1 <= e.high for e, _ in found) > 0.93 * SAMPLES
