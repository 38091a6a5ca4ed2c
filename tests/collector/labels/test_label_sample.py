"""The calibration sample in simulation: weighted by strata, it tells of all runs what is true of all runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import mean, stdev

import pytest
from labels_world import drawn_review
from naive_label_queue import NaiveLabelQueue, QueuedRun

from tracejury.judges.measures.ppi import Pair, calibrated_share
from tracejury.schemas.annotations import Review
from tracejury.schemas.queries.labels import Labelled, Purpose, QueueQuery
from tracejury.schemas.rates import Sums

FOREVER = 2**63 - 1
Truth = dict[tuple[str, str], bool]


def some_runs(chance: random.Random, count: int, wrong: float) -> tuple[list[QueuedRun], Truth]:
    """Runs of a large and a small service; a detector finds most errors, and some that are none.

    `wrong`: the share of the large service's runs that have an error; the small one's have three times as many.
    """
    runs, truth = list[QueuedRun](), Truth()
    for _ in range(count):
        small = chance.random() < 0.1
        error = chance.random() < (3 * wrong if small else wrong)
        found = chance.random() < (0.7 if error else 0.1)
        run = QueuedRun(f"{chance.getrandbits(128):032x}", "run", "small" if small else "large", found=found)
        runs.append(run)
        truth[run.trace_id, run.run_id] = error
    return runs, truth


def look(labels: NaiveLabelQueue, count: int, service: str = "") -> None:
    """Somebody works through `count` runs of a longer queue."""
    for item in labels.queue(QueueQuery(Purpose.CALIBRATION, 0, FOREVER, 200, service, "ann"))[:count]:
        seen = drawn_review(item, "ann", changed_at=2)
        labels.save(Labelled(reviews=[seen]))


def estimate(labels: NaiveLabelQueue, truth: Truth) -> float:
    """The share of runs with an error: each reviewed one stands for size / reviewed of its stratum."""
    strata = [s for s in labels.strata(0, FOREVER) if s.reviewed]
    weighted = sum(s.size / s.reviewed * sum(truth[run] for run in s.drawn) for s in strata)
    return weighted / sum(s.size for s in strata)


def stops_in_the_middle(labels: NaiveLabelQueue, chance: random.Random) -> Truth:
    """150 of a queue of 200."""
    runs, truth = some_runs(chance, 600, 0.1)
    labels.runs += runs
    look(labels, 150)
    return truth


def looks_at_one_service_more(labels: NaiveLabelQueue, chance: random.Random) -> Truth:
    """The small one, of its own queue, after a look at all."""
    runs, truth = some_runs(chance, 600, 0.1)
    labels.runs += runs
    look(labels, 120)
    look(labels, 30, "small")
    return truth


def grows(labels: NaiveLabelQueue, chance: random.Random) -> Truth:
    """As many runs again come after a first look, with three times as many errors; the queue then goes on."""
    runs, truth = some_runs(chance, 300, 0.06)
    labels.runs += runs
    look(labels, 80)
    more, later = some_runs(chance, 300, 0.18)
    labels.runs += more
    look(labels, 120)
    return truth | later


def looks_at_what_is_bad_first(labels: NaiveLabelQueue, chance: random.Random) -> Truth:
    """Before the queue comes, on their own account: at most runs that have an error, and at a few others."""
    runs, truth = some_runs(chance, 600, 0.1)
    labels.runs += runs
    for (trace_id, run_id), error in truth.items():
        if chance.random() < (0.7 if error else 0.05):
            labels.save(
                Labelled(reviews=[Review(trace_id=trace_id, agent_run_id=run_id, annotator="ann", changed_at=1)])
            )
    look(labels, 150)
    return truth


@pytest.mark.parametrize("story", [stops_in_the_middle, looks_at_one_service_more, grows, looks_at_what_is_bad_first])
def test_the_sample_tells_the_truth(story: Callable[[NaiveLabelQueue, random.Random], Truth]) -> None:
    """Over 150 stories the mean error of the estimate is none that chance would not make."""
    chance = random.Random(20_261_120)  # noqa: S311  a simulation
    errors = []
    for _ in range(150):
        labels = NaiveLabelQueue()
        truth = story(labels, chance)
        errors.append(estimate(labels, truth) - mean(truth.values()))
    assert abs(mean(errors)) < 2.6 * stdev(errors) / len(errors) ** 0.5
    assert stdev(errors) < 0.04


def test_intervals_hold_whatever_people_looked_at_before() -> None:
    """The calibrated share's 95 % interval covers the truth about as often as it says, also after such looks."""
    chance = random.Random(7)  # noqa: S311  a simulation
    covered = []
    for _ in range(200):
        labels = NaiveLabelQueue()
        truth = looks_at_what_is_bad_first(labels, chance)
        found = {(r.trace_id, r.run_id): r.found for r in labels.runs}
        looked = [(run, s.size / s.reviewed) for s in labels.strata(0, FOREVER) for run in s.drawn]
        n, hits = len(found), sum(found.values())
        judged = Sums(n=n, units=n, hits=hits, w=n, w2=n, wt=n, w2t2=n, wb=hits, w2b2=hits, w2bt=hits)
        share = calibrated_share(judged, [Pair(float(truth[run]), found[run], weight) for run, weight in looked])
        assert share is not None
        covered.append(share.low <= mean(truth.values()) <= share.high)
    assert 0.92 <= mean(covered) <= 0.995


def test_a_sample_that_was_left_behind_is_told() -> None:
    """Before the queue goes on, what came since is counted as waiting: the estimate lacks it, and says so."""
    chance = random.Random(1)  # noqa: S311  a simulation
    labels = NaiveLabelQueue()
    runs, _ = some_runs(chance, 300, 0.06)
    labels.runs += runs
    look(labels, 100)
    assert sum(s.waiting for s in labels.strata(0, FOREVER)) == 0
    more, _ = some_runs(chance, 300, 0.18)
    labels.runs += more
    behind = sum(s.waiting for s in labels.strata(0, FOREVER))
    assert 60 < behind < 140
    look(labels, behind + 60)
    assert sum(s.waiting for s in labels.strata(0, FOREVER)) < 5
