"""Which labels correct which rates, and that what the store answers covers the truth that was put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from labels_world import StoredWorld, drawn_review
from naive_label_queue import QueuedRun
from store_parts import a_finding

from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.calibration import (
    ENOUGH,
    Calibration,
    ReviewedRun,
    UnseenStrata,
    UnseenStratum,
    calibration,
)
from tracejury.collector.rates.label_calibration import LabelCalibration
from tracejury.collector.rates.question import exact
from tracejury.collector.rates.sampling_frame import frame, unseen
from tracejury.collector.store.derived.facts import ErrorScope, Fact, FactError, FactKey, Standing
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.grouping import group
from tracejury.judges.measures.people import seen_errors
from tracejury.judges.measures.ppi import Pair
from tracejury.schemas.agent_errors import NEVER, summary
from tracejury.schemas.annotations import Annotation, Opinion
from tracejury.schemas.queries.labels import Labelled, Purpose, QueueQuery
from tracejury.schemas.rates import By, Population, RateQuery, Sums, Unit
from tracejury.schemas.taxonomy import TRAIL, Dimension, Severity

UNTIL = 1_000
FOUND = FactError(
    "loops", llm=False, scopes=ErrorScope.DETECTORS | ErrorScope.BOTH,
    dimensions=(Dimension.EXECUTION_EFFICIENCY,), taxonomy=TRAIL, category="Resource Abuse",
    confidences=(0.9, 0.9, 0.9), tool="", turn=0,
)  # fmt: skip
SAID = FactError(
    "goal", llm=True, scopes=ErrorScope.JUDGES | ErrorScope.BOTH,
    dimensions=(Dimension.GOAL_FULFILMENT,), taxonomy=TRAIL, category="Goal Deviation",
    confidences=(0.9, NEVER, NEVER), tool="", turn=0,
)  # fmt: skip


def a_fact(*errors: FactError, weight: float = 1.0, **changes: Any) -> Fact:
    """A run, judged by rules, and with a weight of its own by LLM judges, too."""
    fields: dict[str, Any] = {
        "at": 10, "service": "shop", "version": "1", "session": "", "agent": "planner", "role": "manager",
        "model": "m", "recognised": True, "turns": 2, "parts": ("t",),
        "standings": {
            Population.DETECTORS: Standing(1.0), Population.JUDGES: Standing(weight), Population.BOTH: Standing(weight),
        },
    }  # fmt: skip
    return Fact(FactKey("run", 0, "t", "r"), errors=errors, **fields | changes)


def marked(category: str = "Resource Abuse", opinion: Opinion = Opinion.MISSED, **changes: Any) -> Annotation:
    """An error that somebody marked."""
    fields: dict[str, Any] = {"annotator": "ann", "severity": Severity.HIGH, "changed_at": 1} | changes
    return Annotation(
        id=f"{fields['annotator']}-{category}", trace_id="t", span_id="s", category=category, opinion=opinion, **fields
    )


def looked(fact: Fact, *annotations: Annotation, weight: float = 1.0) -> list[ReviewedRun]:
    """So many like it that they are enough."""
    return [ReviewedRun(fact, seen_errors(annotations), weight)] * ENOUGH


def ask(runs: Sequence[ReviewedRun], population: Population = Population.BOTH, **query: Any) -> Calibration:
    """What labels tell of it."""
    return calibration(exact(RateQuery(0, UNTIL, **query), population, {"loops"}), runs)


def the_pair(runs: Sequence[ReviewedRun], population: Population = Population.BOTH, **query: Any) -> Pair:
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
            [
                marked(opinion=Opinion.AGREE),
                marked(opinion=Opinion.DISAGREE, annotator="bob"),
                marked("Goal Deviation"),
            ],
            Pair(1.0, judge=True),
            id="one that is contested beside one that is not",
        ),
    ],
)
def test_pairs_of_words(fact: Fact, annotations: list[Annotation], pair: Pair) -> None:
    """What people and judges say of one run."""
    assert the_pair(looked(fact, *annotations)) == pair


def test_a_contested_error_is_neither_right_nor_wrong() -> None:
    """Runs without another one that people see are left out, of the questions that it is about."""
    contested = [marked(opinion=Opinion.AGREE), marked(opinion=Opinion.DISAGREE, annotator="bob")]
    runs = looked(a_fact(FOUND), *contested)
    assert ask(runs).refused == (
        f"people contradict each other on the errors of {ENOUGH} reviewed runs that the label queue drew of these; "
        f"{ENOUGH} others are needed"
    )
    assert set(ask([*runs, *looked(a_fact())]).total) == {Pair(0.0, judge=False)}
    assert the_pair(runs, category="Goal Deviation") == Pair(0.0, judge=False)
    by_category = ask([*runs, *looked(a_fact(SAID))], by=By.CATEGORY).groups
    assert {key: len(pairs) for (_, key), pairs in by_category.items()} == {
        f"{TRAIL}/Resource Abuse": ENOUGH,
        f"{TRAIL}/Goal Deviation": 2 * ENOUGH,
    }


def test_an_error_that_judges_found_has_its_own_severity_and_category() -> None:
    """Not those of whichever of its findings has the label; a finding that the profile hides does not raise it."""
    lead = a_finding(trace_id="t", judge="loops", confidence=0.6, severity=Severity.MEDIUM)
    other = replace(lead, id="f" * 32, judge="loops-too", confidence=0.2, severity=Severity.HIGH)
    errors = [summary(error) for error in group([lead, other], ["run-1"])]
    said = marked(opinion=Opinion.AGREE, severity=Severity.HIGH, finding_id=other.id, judge=other.judge)
    said = replace(said, span_id=other.span_id, agent_run_id="run-1")
    runs = [ReviewedRun(a_fact(), seen_errors([said], errors), 1.0)] * ENOUGH
    assert the_pair(runs, severity="MEDIUM").human == 1.0
    assert the_pair(runs, severity="HIGH").human == 0.0
    assert the_pair(runs, severity="HIGH", profile="recall").human == 1.0
    assert the_pair(runs, category="Resource Abuse", dimension="EE", profile="0.95").human == 1.0


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


def test_strata_that_nobody_looked_at_are_not_guessed() -> None:
    """No figure for what has runs of them; the answer names them, and the command that gives them."""
    runs = looked(a_fact(FOUND), marked(opinion=Opinion.AGREE)) + looked(a_fact(agent="other", at=110), marked())
    sums = Sums(n=50, units=50, hits=0, w=50, w2=50, wt=50, w2t2=50)
    question = exact(RateQuery(0, UNTIL, by=By.AGENT), Population.BOTH, {"loops"})
    clean = UnseenStratum("clean/0/shop", "shop", 12)
    missing = UnseenStrata([clean], frozenset({(0, "other")}))
    found = calibration(question, runs, missing)
    assert found.refused == (
        "nobody has reviewed a drawn run of clean/0/shop (12 runs); they come first in: "
        "tracejury labels queue --service shop --until 1970-01-01T00:00:00.000001Z"
    )
    assert found.of_total(sums) is None
    assert set(found.groups) == {(0, "planner")}
    more = [UnseenStratum(f"found/{n}/$(x)", f"$(x)\n{n}", 1) for n in range(5)]
    told = calibration(question, runs, replace(missing, strata=more)).refused
    assert "found/2/$(x) (1 run) and 2 more; " in told
    assert "--service" not in told
    assert calibration(question, runs, replace(missing, groups=None)).groups == {}
    for by in (By.CATEGORY, None):
        question = exact(RateQuery(0, UNTIL, by=by, step=100), Population.BOTH, {"loops"})
        groups = calibration(question, runs, replace(missing, groups=frozenset({(100, "")}))).groups
        assert {at for at, _ in groups} == {0}


def review_drawn(world: StoredWorld, truth: dict[str, bool], limit: int, **query: Any) -> None:
    """Somebody goes through the queue and marks what is wrong."""
    items = world.labels.queue(QueueQuery(Purpose.CALIBRATION, 0, 10_000, limit, **query))
    reviews = [drawn_review(i, "ann", changed_at=5) for i in items]
    errors = [
        replace(marked(), id=i.trace_id, trace_id=i.trace_id, agent_run_id=i.agent_run_id)
        for i in items
        if truth[i.trace_id]
    ]
    world.labels.save(Labelled(errors, (), reviews))


def test_a_stratum_of_the_store_that_nobody_looked_at(store: SharedStore) -> None:
    """Of what is asked, as far as its population judged it: others are not missed, and one look at it is enough."""
    world = StoredWorld(store)
    truth = {f"{n:032x}": n % 3 == 0 for n in range(200)}
    runs = [QueuedRun(i, f"run-{i[-4:]}", "shop", arrived=100, found=truth[i]) for i in truth]
    world.put([*runs[:190], *(replace(run, service="rare", agent="one") for run in runs[190:])])
    rates = StoredRates(store, calibrate=LabelCalibration(store, world.labels))
    review_drawn(world, truth, 60, service="shop")
    answer = rates.ask(RateQuery(0, 10_000, calibrated=True, by=By.SERVICE))
    assert "clean/-/rare (7 runs), found/-/rare (3 runs); they come first in: " in answer.uncalibrated
    assert "labels queue --service rare " in answer.uncalibrated
    assert answer.total.calibrated is None
    assert {row.key: row.rate.calibrated is not None for row in answer.rows} == {"shop": True, "rare": False}
    assert rates.ask(RateQuery(0, 10_000, calibrated=True, service="shop")).total.calibrated is not None
    assert rates.ask(RateQuery(0, 10_000, calibrated=True, agent="one")).total.calibrated is None
    review_drawn(world, truth, 2)
    answer = rates.ask(RateQuery(0, 10_000, calibrated=True))
    assert answer.uncalibrated == ""
    assert answer.total.calibrated is not None


def test_many_strata_and_groups_that_nobody_looked_at(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found by no parameter that grows with them; of more groups than some, none is told apart."""
    world = StoredWorld(store)
    services = [f"{n}".ljust(250, "x") for n in range(3)]
    world.put([QueuedRun(f"{n:032x}", f"run-{n}", services[n % 3], f"agent-{n // 3}", arrived=9) for n in range(15)])
    StoredRates(store).ask(RateQuery(0, UNTIL))
    question = exact(RateQuery(0, UNTIL, by=By.AGENT), Population.DETECTORS, frozenset())
    strata = frame(store, question)
    bound: list[Any] = []
    ask_store = store.rows

    def noted(sql: str, values: Any) -> Any:
        bound.append(values)
        return ask_store(sql, values)

    monkeypatch.setattr(store, "rows", noted)
    found = unseen(store, question, strata, most=5)
    assert found.groups == frozenset((0, f"agent-{n}") for n in range(5))
    assert sorted((one.service, one.runs) for one in found.strata) == [(service, 5) for service in services]
    assert unseen(store, question, strata, most=4).groups is None
    assert services[0] not in str(bound)


def test_only_strata_that_the_population_judged_are_needed(store: SharedStore) -> None:
    """Where LLM judges looked at some runs, their rate needs no look at the others; one of detectors does."""
    world = StoredWorld(store)
    truth = {f"{n:032x}": n % 3 == 0 for n in range(200)}
    world.put(
        [QueuedRun(i, f"run-{i[-4:]}", "shop", arrived=100, lowest=0 if n % 2 else None) for n, i in enumerate(truth)]
    )
    rates = StoredRates(store, calibrate=LabelCalibration(store, world.labels))
    items = world.labels.queue(QueueQuery(Purpose.CALIBRATION, 0, 10_000, 100))
    scored = [i for i in items if i.stratum == "clean/0/shop"]
    reviews = [drawn_review(i, "ann", changed_at=5) for i in scored]
    world.labels.save(Labelled((), (), reviews))
    judged = rates.ask(RateQuery(0, 10_000, calibrated=True, population=Population.BOTH))
    assert (judged.total.judged, judged.uncalibrated) == (100, "")
    assert judged.total.calibrated is not None
    ruled = rates.ask(RateQuery(0, 10_000, calibrated=True, population=Population.DETECTORS))
    assert "nobody has reviewed a drawn run of clean/-/shop (100 runs); " in ruled.uncalibrated


def test_a_calibrated_share_of_the_store(store: SharedStore) -> None:
    """Detectors that miss half and invent some; 60 runs drawn and labelled: the interval holds what is true."""
    random = Random(3)  # noqa: S311 - a simulation
    world = StoredWorld(store)
    truth = {f"{n:032x}": random.random() < 0.4 for n in range(400)}
    found = {i: random.random() < (0.5 if failed else 0.1) for i, failed in truth.items()}
    world.put([QueuedRun(i, f"run-{i[-4:]}", "shop", arrived=100, found=found[i]) for i in truth])
    rates = StoredRates(store, calibrate=LabelCalibration(store, world.labels))
    query = RateQuery(0, 10_000, calibrated=True, by=By.SERVICE)
    told = f"people reviewed 0 runs, drawn or not; {ENOUGH} that the label queue drew are needed"
    assert rates.ask(query).uncalibrated == told
    review_drawn(world, truth, 60)
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
