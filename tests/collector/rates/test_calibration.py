"""Which labels correct which rates, and that what the store answers covers the truth that was put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from labels_world import StoredWorld
from memory_labels import MemoryRun

from tracejury.collector.labels import Labelled, Purpose, QueueQuery
from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.calibration import ENOUGH, Calibration, LookedAt, calibration
from tracejury.collector.rates.facts import Fact, FactFinding, FactKey, Standing
from tracejury.collector.rates.looked_at import Calibrating
from tracejury.collector.rates.question import exact
from tracejury.collector.store.client import Store
from tracejury.judges.measures.people import seen_errors
from tracejury.judges.measures.ppi import Pair
from tracejury.schemas.annotations import Annotation, Opinion, Review
from tracejury.schemas.rates import By, Population, RateQuery, Sums, Unit
from tracejury.schemas.taxonomy import TRAIL, Dimension, Severity

UNTIL = 1_000
FOUND = FactFinding(
    "loops", llm=False, dimensions=(Dimension.EXECUTION_EFFICIENCY,), taxonomy=TRAIL, category="Resource Abuse",
    severity=Severity.HIGH, confidence=0.9, tool="", turn=0,
)  # fmt: skip
SAID = FactFinding(
    "goal", llm=True, dimensions=(Dimension.GOAL_FULFILMENT,), taxonomy=TRAIL, category="Goal Deviation",
    severity=Severity.LOW, confidence=0.9, tool="", turn=0,
)  # fmt: skip


def a_fact(*findings: FactFinding, weight: float = 1.0, **changes: Any) -> Fact:
    """A run, judged by rules, and with a weight of its own by LLM judges, too."""
    fields: dict[str, Any] = {
        "at": 10, "service": "shop", "version": "1", "session": "", "agent": "planner", "role": "manager",
        "model": "m", "recognised": True, "turns": 2, "parts": ("t",),
        "standings": {
            Population.DETECTORS: Standing(1.0), Population.JUDGES: Standing(weight), Population.BOTH: Standing(weight),
        },
    }  # fmt: skip
    return Fact(FactKey("run", 0, "t", "r"), findings=findings, **fields | changes)


def marked(category: str = "Resource Abuse", opinion: Opinion = Opinion.MISSED, **changes: Any) -> Annotation:
    """An error that somebody marked."""
    fields: dict[str, Any] = {"annotator": "ann", "severity": Severity.HIGH, "changed_at": 1} | changes
    return Annotation(f"{fields['annotator']}-{category}", "t", "s", category=category, opinion=opinion, **fields)


def looked(fact: Fact, *annotations: Annotation, weight: float = 1.0) -> list[LookedAt]:
    """So many like it that they are enough."""
    return [LookedAt(fact, seen_errors(annotations), weight)] * ENOUGH


def ask(runs: Sequence[LookedAt], population: Population = Population.BOTH, **query: Any) -> Calibration:
    """What labels tell of it."""
    return calibration(exact(RateQuery(0, UNTIL, **query), population, {"loops"}), runs)


def the_pair(runs: Sequence[LookedAt], population: Population = Population.BOTH, **query: Any) -> Pair:
    """Of the one kind of run."""
    (pair,) = set(ask(runs, population, **query).total)
    return pair


@pytest.mark.parametrize(
    ("fact", "annotations", "pair"),
    [
        pytest.param(a_fact(FOUND), [marked(opinion=Opinion.AGREE)], Pair(1.0, judge=True), id="both see one"),
        pytest.param(a_fact(FOUND), [], Pair(0.0, judge=True), id="what nobody marks is none"),
        pytest.param(
            a_fact(FOUND), [marked(opinion=Opinion.DISAGREE)], Pair(0.0, judge=True), id="not what people say"
        ),
        pytest.param(a_fact(), [marked()], Pair(1.0, judge=False), id="missed"),
        pytest.param(a_fact(), [], Pair(0.0, judge=False), id="nothing there"),
        pytest.param(
            a_fact(FOUND),
            [marked(opinion=Opinion.AGREE), marked(opinion=Opinion.DISAGREE, annotator="bob")],
            Pair(0.5, judge=True),
            id="divided",
        ),
    ],
)
def test_pairs_of_words(fact: Fact, annotations: list[Annotation], pair: Pair) -> None:
    """What people and judges say of one run."""
    assert the_pair(looked(fact, *annotations)) == pair


def test_weights_multiply() -> None:
    """A run that stands for four of its stratum, judged at one in ten."""
    assert the_pair(looked(a_fact(weight=10.0), weight=4.0)).weight == 40.0
    assert the_pair(looked(a_fact(weight=10.0), weight=4.0), Population.DETECTORS).weight == 4.0


@pytest.mark.parametrize(
    ("population", "judge"), [(Population.DETECTORS, False), (Population.JUDGES, True), (Population.BOTH, True)]
)
def test_judges_see_what_their_population_finds(population: Population, judge: bool) -> None:  # noqa: FBT001  a row of a table
    """A finding of an LLM judge is none of the detectors; people see what they see."""
    assert the_pair(looked(a_fact(SAID), marked()), population) == Pair(1.0, judge)


@pytest.mark.parametrize(
    ("query", "pair"),
    [
        ({"severity": "HIGH"}, Pair(1.0, judge=True)),
        ({"severity": "HIGH", "category": "Goal Deviation"}, Pair(0.0, judge=False)),
        ({"category": "Resource Abuse"}, Pair(1.0, judge=True)),
        ({"category": "Goal Deviation"}, Pair(0.0, judge=False)),
        ({"taxonomy": TRAIL}, Pair(1.0, judge=True)),
        ({"taxonomy": "own"}, Pair(0.0, judge=False)),
        ({"dimension": "EE"}, Pair(1.0, judge=True)),
        ({"dimension": "GF"}, Pair(0.0, judge=False)),
        ({"profile": "0.95"}, Pair(1.0, judge=False)),
    ],
)
def test_only_errors_that_are_asked_for_count(query: dict[str, Any], pair: Pair) -> None:
    """On both sides; a profile hides what judges say, not what people do."""
    assert the_pair(looked(a_fact(FOUND), marked()), **query) == pair


def test_severity_is_the_least() -> None:
    """A run with nothing but minor errors has none of those that were asked for."""
    minor = looked(a_fact(SAID), marked("Goal Deviation", severity=Severity.LOW))
    assert the_pair(minor, severity="LOW") == Pair(1.0, judge=True)
    assert the_pair(minor, severity="MEDIUM") == Pair(0.0, judge=False)


def test_only_runs_that_are_asked_for_count() -> None:
    """By service and the like, by time, and only judged ones."""
    runs = looked(a_fact())
    assert ask(runs, service="shop").refused == ""
    others: list[dict[str, Any]] = [
        {"service": "bank"},
        {"agent": "x"},
        {"model": "x"},
        {"version": "2"},
        {"role": "x"},
    ]
    for other in others:
        assert f"drew 0 reviewed runs of these; {ENOUGH} are needed" in ask(runs, **other).refused
    assert ask(looked(a_fact(at=UNTIL))).refused
    assert ask(looked(a_fact(weight=0.0))).refused


@pytest.mark.parametrize(
    "query", [{"unit": Unit.TURN}, {"judge": "goal"}, {"by": By.JUDGE}, {"tool": "search"}, {"by": By.TOOL}]
)
def test_what_labels_cannot_correct_is_refused(query: dict[str, Any]) -> None:
    """With a reason, and without a figure."""
    found = ask(looked(a_fact(FOUND), marked()), **query)
    assert found.refused
    assert found.of_total(Sums(n=1, units=1, w=1, w2=1, wt=1, w2t2=1)) is None


def test_groups_have_labels_of_their_own() -> None:
    """By attribute of the run, by one of errors, and by point in time; too few of a group: no figure there."""
    runs = looked(a_fact(FOUND), marked(opinion=Opinion.AGREE)) + looked(a_fact(agent="other", at=110), marked())
    by_agent = ask(runs, by=By.AGENT).groups
    assert {key: set(pairs) for key, pairs in by_agent.items()} == {
        (0, "planner"): {Pair(1.0, judge=True)},
        (0, "other"): {Pair(1.0, judge=False)},
    }
    assert set(ask(runs, step=100).groups) == {(0, ""), (100, "")}
    by_category = ask([*runs, *looked(a_fact(SAID))], by=By.CATEGORY).groups
    assert len(by_category[0, f"{TRAIL}/Goal Deviation"]) == 3 * ENOUGH
    judged = Sums(n=50, units=50, hits=0, w=50, w2=50, wt=50, w2t2=50)
    assert ask(runs, by=By.AGENT).of_group((0, "other"), judged) is not None
    assert ask(runs[1:], by=By.AGENT).of_group((0, "planner"), judged) is None


@pytest.mark.store
def test_a_calibrated_share_of_the_store(store: Store) -> None:
    """Detectors that miss half and invent some; 60 runs drawn and labelled: the interval holds what is true."""
    random = Random(3)  # noqa: S311 - a simulation
    world = StoredWorld(store)
    truth = {f"{n:032x}": random.random() < 0.4 for n in range(400)}
    found = {i: random.random() < (0.5 if failed else 0.1) for i, failed in truth.items()}
    world.put([MemoryRun(i, f"run-{i[-4:]}", "shop", arrived=100, found=found[i]) for i in truth])
    rates = StoredRates(store, calibrate=Calibrating(store, world.labels))
    query = RateQuery(0, 10_000, calibrated=True, by=By.SERVICE)
    told = f"people reviewed 0 runs, drawn or not; {ENOUGH} that the label queue drew are needed"
    assert rates.ask(query).uncalibrated == told
    items = world.labels.queue(QueueQuery(Purpose.CALIBRATION, 0, 10_000, 60))
    reviews = [Review(i.trace_id, i.agent_run_id, "ann", i.stratum, i.probability, changed_at=5) for i in items]
    errors = [
        replace(marked(), id=i.trace_id, trace_id=i.trace_id, agent_run_id=i.agent_run_id)
        for i in items
        if truth[i.trace_id]
    ]
    world.labels.save(Labelled(errors, (), reviews))
    answer = rates.ask(query)
    share, calibrated = answer.total.share, answer.total.calibrated
    assert answer.uncalibrated == ""
    assert share is not None
    assert calibrated is not None
    rate = sum(truth.values()) / len(truth)
    assert share.high < rate
    assert calibrated.low < rate < calibrated.high
    assert [row.rate.calibrated for row in answer.rows] == [calibrated]
    assert rates.ask(replace(query, calibrated=False)).total.calibrated is None
