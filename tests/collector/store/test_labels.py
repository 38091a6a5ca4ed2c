"""Labels of people in the store."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from labels_world import ONE, REVIEW, SCORE, TRACE, StoredWorld, drawn_review
from naive_label_queue import NaiveLabelQueue, QueuedRun
from store_parts import a_finding

from tracejury.collector.labels.checks import MAX_STRATUM, name
from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import Annotation, HumanScore, Opinion, Review
from tracejury.schemas.queries.labels import Labelled, LabelQuery, Purpose, QueueItem, QueueQuery
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.taxonomy import Dimension, Severity

FOREVER = 2**63 - 1


@pytest.fixture
def world(store: SharedStore) -> StoredWorld:
    """Labels, and the runs that they are about."""
    return StoredWorld(store)


def test_they_come_back_as_they_were(world: StoredWorld) -> None:
    """Every field, by trace; twice the same is one."""
    other = replace(ONE, id="2", trace_id="c" * 32, severity=Severity.LOW, taxonomy="own", evidence="", explanation="")
    blank = replace(SCORE, dimension=Dimension.PLAN_QUALITY, score=None, explanation="")
    world.labels.save(Labelled([ONE, other], [SCORE, blank], [REVIEW]))
    world.labels.save(Labelled([ONE], [SCORE], [REVIEW]))
    assert world.labels.of_traces([TRACE, other.trace_id, "d" * 32]) == {
        TRACE: Labelled((ONE,), (SCORE, blank), (REVIEW,)), other.trace_id: Labelled((other,)),
    }  # fmt: skip
    assert world.labels.of_traces([]) == {}


@pytest.mark.parametrize("late_first", [False, True])
def test_the_latest_change_wins(world: StoredWorld, late_first: bool) -> None:  # noqa: FBT001  a parameter of the table
    """In whatever order they are stored, also where the span is another one; a withdrawn one counts nowhere."""
    moved = replace(ONE, span_id="d" * 16, opinion=Opinion.OTHER_SPAN, changed_at=6)
    better = replace(SCORE, score=3, changed_at=9)
    gone = replace(REVIEW, withdrawn=True, changed_at=8)
    changes = [Labelled([ONE], [SCORE], [REVIEW]), Labelled([moved], [better], [gone])]
    for labelled in reversed(changes) if late_first else changes:
        world.labels.save(labelled)
    assert world.labels.of_traces([TRACE]) == {TRACE: Labelled((moved,), (better,))}
    world.labels.save(Labelled([replace(moved, withdrawn=True, changed_at=7)], [replace(better, withdrawn=True)]))
    assert world.labels.find(Annotation, LabelQuery(9)) == []
    assert [a.withdrawn for a in world.labels.find(Annotation, LabelQuery(9, withdrawn=True))] == [True]


HOSTILE = ["<b>&amp;", "\x1b[2J", "\u202e\u2066", "\x00", "'; DROP TABLE annotations; --", "x" * 2**20]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_back_as_it_was(world: StoredWorld, text: str) -> None:
    """In every field that is text, and as a filter."""
    told = replace(ONE, annotator=text, category=text, evidence=text, explanation=text, taxonomy=text)
    scored, seen = replace(SCORE, annotator=text, explanation=text), replace(REVIEW, annotator=text, stratum=text)
    world.labels.save(Labelled((told,), (scored,), (seen,)))
    assert world.labels.of_traces([TRACE]) == {TRACE: Labelled((told,), (scored,), (seen,))}
    if len(text) < 100:
        assert world.labels.find(Annotation, LabelQuery(9, annotator=text, category=text)) == [told]


@pytest.mark.parametrize("text", ["\ud800", "a\udcff"])
def test_no_text_at_all_finds_nothing(world: StoredWorld, text: str) -> None:
    """Half a surrogate pair is in no label, and no reason to fail."""
    world.labels.save(Labelled([ONE]))
    assert world.labels.find(Annotation, LabelQuery(9, annotator=text)) == []


def test_tenants_do_not_mix(store: SharedStore) -> None:
    """Each reads and deletes its own."""
    theirs = Labelled((replace(ONE, tenant="x"),), (replace(SCORE, tenant="x"),), (replace(REVIEW, tenant="x"),))
    ours, labels = StoredLabels(store), StoredLabels(store, "x")
    ours.save(theirs)
    assert ours.of_traces([TRACE]) == {}
    assert labels.of_traces([TRACE]) == {TRACE: theirs}
    assert ours.find(HumanScore, LabelQuery(9)) == []
    assert ours.delete(LabelQuery(9, trace_id=TRACE)) == 0
    StoredWorld(store).put_finding(a_finding())
    assert labels.finding(a_finding().id) is None
    assert labels.of_traces([TRACE]) == {TRACE: theirs}


def test_lists_have_an_order_and_places(world: StoredWorld) -> None:
    """Latest change first, or earliest first behind a place; equal times by id; nothing twice, nothing left out."""
    many = [replace(ONE, id=f"{n:02d}", changed_at=5 + n // 3) for n in range(10)]
    world.labels.save(Labelled(many[::2]))
    world.labels.save(Labelled(many[1::2]))
    backwards = [a.id for a in reversed(many)]
    seen: list[str] = []
    before = None
    while page := world.labels.find(Annotation, LabelQuery(4, before=before)):
        seen += [a.id for a in page]
        before = Position(page[-1].changed_at, page[-1].place)
    assert seen == backwards
    forwards: list[str] = []
    after = Position(0)
    while page := world.labels.find(Annotation, LabelQuery(4, after=after)):
        forwards += [a.id for a in page]
        after = Position(page[-1].changed_at, page[-1].place)
    assert forwards == backwards[::-1]


@pytest.mark.parametrize(
    "filters",
    [
        {"id": "1"},
        {"trace_id": TRACE},
        {"span_id": "b" * 16},
        {"agent_run_id": "run-1"},
        {"annotator": "ann"},
        {"finding_id": "f" * 32},
        {"judge": "loops"},
        {"category": "Tool-related"},
        {"opinion": Opinion.DISAGREE},
        {"since": 5},
        {"service": "shop"},
    ],
)
def test_filters(world: StoredWorld, filters: dict[str, Any]) -> None:
    """Each lets one through and holds the other back."""
    world.put([QueuedRun(TRACE, "run-1", "shop"), QueuedRun("c" * 32, "run-2", "other")])
    about: dict[str, Any] = {"id": "2", "trace_id": "c" * 32, "span_id": "0" * 16, "annotator": "bob"}
    empty: dict[str, Any] = dict.fromkeys(("finding_id", "judge", "agent_run_id", "fingerprint"), "")
    other = replace(ONE, **about, **empty, category="Goal Deviation", opinion=Opinion.MISSED, changed_at=4)
    world.labels.save(Labelled([ONE, other]))
    assert world.labels.find(Annotation, LabelQuery(9, **filters)) == [ONE]
    world.labels.save(Labelled(human_scores=[SCORE], reviews=[REVIEW]))
    assert world.labels.find(HumanScore, LabelQuery(9, **filters)) == [SCORE]
    assert world.labels.find(Review, LabelQuery(9, **filters)) == [REVIEW]


def test_a_finding_by_its_id(world: StoredWorld) -> None:
    """Whatever its state; None where there is none."""
    finding = a_finding()
    world.put_finding(finding)
    assert world.labels.finding(finding.id) == finding
    assert world.labels.finding("0" * 32) is None


def some_runs(count: int, seed: int = 0) -> list[QueuedRun]:
    """Runs of three services of unequal size, some with errors, some with scores; two runs a trace."""
    chance = random.Random(seed)  # noqa: S311  no secret
    services = [chance.choices(["large", "small", "rare"], [100, 10, 1])[0] for _ in range(count)]
    return [
        QueuedRun(
            f"{seed:04x}{number:028x}", f"{number:08x}{which:08x}", services[number], "agent", 1_000 + number,
            found=chance.random() < 0.3, lowest=chance.choice([None, None, 0, 2, 3]),
        )
        for number in range(count) for which in range(2)
    ]  # fmt: skip


def ask(labels: NaiveLabelQueue | StoredLabels, limit: int, annotator: str = "", **changes: Any) -> list[QueueItem]:
    """A calibration queue."""
    values: dict[str, Any] = {
        "purpose": Purpose.CALIBRATION,
        "since": 0,
        "until": FOREVER,
        "limit": limit,
        "annotator": annotator,
    }
    return list(labels.queue(QueueQuery(**(values | changes))))


def review(labels: NaiveLabelQueue | StoredLabels, items: list[QueueItem], annotator: str) -> None:
    """Somebody looks at these."""
    reviews = [drawn_review(i, annotator, changed_at=9) for i in items]
    labels.save(Labelled(reviews=reviews))


def test_the_queue_is_the_naive_one(world: StoredWorld) -> None:
    """Runs, order, strata and probabilities, before and after somebody has looked at some."""
    naive = NaiveLabelQueue(some_runs(100))
    world.put(naive.runs)
    for annotator, reviewed in (("ann", 20), ("bob", 20), ("ann", 0)):
        expected, stored = ([replace(i, why="") for i in ask(one, 30, annotator)] for one in (naive, world.labels))
        assert expected == stored
        for labels in (naive, world.labels):
            review(labels, expected[:reviewed], annotator)
        assert world.labels.strata(0, FOREVER) == naive.strata(0, FOREVER)
        assert world.labels.strata(1_010, 1_050, "large") == naive.strata(1_010, 1_050, "large")


def test_the_same_for_everybody(world: StoredWorld) -> None:
    """The order does not depend on who asks, nor on how many are asked for."""
    world.put(some_runs(40))
    long = [(i.trace_id, i.agent_run_id) for i in ask(world.labels, 30, "ann")]
    assert [(i.trace_id, i.agent_run_id) for i in ask(world.labels, 10, "bob")] == long[:10]


def test_small_strata_get_their_share(world: StoredWorld) -> None:
    """Of a thousand and of a few runs: more of the first, and a larger part of the second."""
    large = [QueuedRun(f"{n:032x}", f"{n:016x}", "large") for n in range(400)]
    small = [QueuedRun(f"{n:032x}", f"{n:016x}", "small", found=True) for n in range(400, 425)]
    world.put([*large, *small])
    drawn = ask(world.labels, 50)
    count = Counter(i.service for i in drawn)
    assert count["large"] > count["small"] >= 5
    probability = {i.service: i.probability for i in drawn}
    assert probability["small"] == pytest.approx(4 * probability["large"], rel=1e-3)  # sqrt(400 / 25)
    assert count["small"] == pytest.approx(25 * probability["small"], abs=6)


def test_all_of_it_is_drawn_for_certain(world: StoredWorld) -> None:
    """A queue that ends has everything in it: probability 1."""
    world.put(some_runs(5))
    items = ask(world.labels, 100)
    assert len(items) == 10
    assert {i.probability for i in items} == {1.0}


def test_what_one_has_reviewed_leaves_the_queue(world: StoredWorld) -> None:
    """For oneself all of it; for others all but the share that everybody is asked for; withdrawn: back again."""
    world.put(some_runs(100))
    mine = ask(world.labels, 50, "ann")
    review(world.labels, mine, "ann")
    keys = {(i.trace_id, i.agent_run_id) for i in mine}
    assert not keys & {(i.trace_id, i.agent_run_id) for i in ask(world.labels, 200, "ann")}
    for overlap, least, most in ((0.0, 0, 0), (0.2, 3, 20), (1.0, 50, 50)):
        again = keys & {(i.trace_id, i.agent_run_id) for i in ask(world.labels, 200, "bob", overlap=overlap)}
        assert least <= len(again) <= most
    first = mine[0]
    gone = replace(drawn_review(first, "ann", changed_at=10), withdrawn=True)
    world.labels.save(Labelled(reviews=[gone]))
    assert (ask(world.labels, 1, "ann")[0].trace_id, len(ask(world.labels, 200, "ann"))) == (first.trace_id, 151)


def test_runs_that_come_later_complete_the_sample(world: StoredWorld) -> None:
    """Those whose number is below what was reached come first, and until then they count as waiting."""
    world.put(some_runs(40))
    review(world.labels, ask(world.labels, 30), "ann")
    assert sum(s.waiting for s in world.labels.strata(0, FOREVER)) == 0
    later = some_runs(40, seed=1)
    world.put(later)
    strata = world.labels.strata(0, FOREVER)
    waiting = sum(s.waiting for s in strata)
    assert (sum(s.size for s in strata), sum(s.reviewed for s in strata)) == (160, 30)
    assert waiting > 0
    review(world.labels, ask(world.labels, 160), "ann")
    assert sum(s.waiting for s in world.labels.strata(0, FOREVER)) == 0


def test_a_review_that_nobody_drew_changes_nothing_in_the_sample(world: StoredWorld) -> None:
    """Its run is drawn all the same, and counts once it is reviewed as drawn."""
    world.put(some_runs(40))
    before = ask(world.labels, 30, "ann")
    hands = [replace(drawn_review(i, "ann", changed_at=1), stratum="", probability=0.0) for i in before[::3]]
    world.labels.save(Labelled(reviews=hands))
    for annotator in ("ann", "bob", ""):
        assert [replace(i, why="") for i in ask(world.labels, 30, annotator)] == [replace(i, why="") for i in before]
    assert {s.reviewed for s in world.labels.strata(0, FOREVER)} == {0}
    review(world.labels, before[1::3], "ann")
    waiting = sum(s.waiting for s in world.labels.strata(0, FOREVER))
    assert waiting > 0, "those that were only looked at by hand are missing as others are"
    review(world.labels, before, "ann")
    strata = world.labels.strata(0, FOREVER)
    assert (sum(s.reviewed for s in strata), sum(s.waiting for s in strata)) == (30, 0)


def test_every_stratum_comes_before_any_comes_twice(world: StoredWorld) -> None:
    """Without a run of each there is no figure of all."""
    world.put(some_runs(100))
    names = [s.name for s in world.labels.strata(0, FOREVER)]
    first = ask(world.labels, len(names), "ann")
    assert sorted(i.stratum for i in first) == names
    assert [i.probability for i in first] == [
        pytest.approx(1 / s.size) for i in first for s in world.labels.strata(0, FOREVER) if s.name == i.stratum
    ]


@pytest.mark.parametrize(
    "service", ["", " ", "a/b", "'\"`\\", "two\nlines\t", "\u202eevil\u2066", "\x00\x1b[31m", "ü" * 5_000, "\u00a0"]
)
def test_a_run_can_be_reviewed_whatever_its_service_is_called(store: SharedStore, service: str) -> None:
    """The name of its stratum is short and printable, so that a review may hold it, and tells services apart."""
    world = StoredWorld(store)
    world.put([QueuedRun(f"{n:032x}", "run", service + "x" * n) for n in range(2)])
    items = ask(world.labels, 9)
    assert [name("stratum", i.stratum, MAX_STRATUM) for i in items] == [i.stratum for i in items]
    assert len({i.stratum for i in items}) == 2
    review(world.labels, items, "ann")
    assert {s.name: s.reviewed for s in world.labels.strata(0, FOREVER)} == {i.stratum: 1 for i in items}


def test_only_runs_of_that_time_and_service(world: StoredWorld) -> None:
    """[since, until), by arrival."""
    world.put([QueuedRun(f"{n:032x}", "run", "a" if n % 2 else "b", arrived=n) for n in range(10)])
    assert {i.trace_id for i in ask(world.labels, 9, since=2, until=5)} == {f"{n:032x}" for n in (2, 3, 4)}
    assert {i.trace_id for i in ask(world.labels, 9, since=2, until=5, service="a")} == {f"{3:032x}"}
    assert ask(world.labels, 9, since=5, until=5) == []
    for late in (2**63, 2**64 + 1, 10**30):
        assert ask(world.labels, 9, since=late) == []
        assert world.labels.strata(late, late + 1) == []
        assert len(ask(world.labels, 99, since=-late, until=late)) == 10


def test_two_people_at_one_finding_at_once(world: StoredWorld) -> None:
    """Each keeps their own opinion, however the writes interleave."""
    people = [f"person-{n}" for n in range(8)]

    def say(name: str) -> None:
        for n in range(5):
            opinion = Opinion.AGREE if n % 2 else Opinion.DISAGREE
            world.labels.save(Labelled([replace(ONE, id=name, annotator=name, opinion=opinion, changed_at=n + 1)]))

    threads = [threading.Thread(target=say, args=(name,)) for name in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stands = world.labels.of_traces([TRACE])[TRACE].annotations
    assert [(a.annotator, a.opinion, a.changed_at) for a in stands] == [(p, Opinion.DISAGREE, 5) for p in people]
