"""Which labels bear on the share of a pattern, and that what the store answers covers the truth that was put in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

import httpx
import pytest
from click.testing import CliRunner
from labels_world import StoredWorld, drawn_review
from naive_label_queue import QueuedRun
from served_api import NOW, served
from store_parts import a_finding
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.root import root
from tracejury.collector.rates.calibration import ReviewedRun
from tracejury.collector.rates.pattern_calibration import ENOUGH_WITH, pattern_pairs
from tracejury.collector.rates.question import exact
from tracejury.collector.store.derived.facts import ErrorScope, Fact, FactError, FactKey, Standing
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.grouping import group
from tracejury.judges.measures.people import seen_errors
from tracejury.judges.measures.ppi import Pair
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.agent_errors import NEVER, summary
from tracejury.schemas.annotations import Annotation, Opinion
from tracejury.schemas.queries.labels import Labelled, Purpose, QueueItem, QueueQuery
from tracejury.schemas.queries.patterns import PatternQuery, PatternRow
from tracejury.schemas.rates import Population, RateQuery
from tracejury.schemas.taxonomy import TRAIL

WEEK = 7 * 86_400 * 10**9
QUERY = PatternQuery(NOW - WEEK, NOW, limit=10)


class Shop:
    """Runs of a service, half of which have an error of one pattern, some rightly so."""

    def __init__(self, store: SharedStore, runs: int = 300, service: str = "shop") -> None:
        random = Random(5)  # noqa: S311 - a simulation
        self.world = StoredWorld(store)
        self.reader = stored_reader(store, AssemblerConfig(), lambda: NOW)
        self.runs = {
            f"{n:032x}": QueuedRun(
                f"{n:032x}", f"run-{n}", service, arrived=NOW - WEEK // 2 + n, found=random.random() < 0.5
            )
            for n in range(runs)
        }
        self.truth = {i: run.found and random.random() < 0.6 for i, run in self.runs.items()}
        self.world.put(list(self.runs.values()))

    def draw(self, limit: int) -> list[QueueItem]:
        """What the queue asks for next."""
        return list(self.world.labels.queue(QueueQuery(Purpose.CALIBRATION, 0, NOW, limit)))

    def review(self, items: Iterable[QueueItem]) -> None:
        """Somebody agrees with what is right, and says of half of the others that they are wrong."""
        told = list(items)
        opinions = [
            self.opinion(i, Opinion.AGREE if self.truth[i.trace_id] else Opinion.DISAGREE)
            for n, i in enumerate(told)
            if self.runs[i.trace_id].found and (self.truth[i.trace_id] or n % 2)
        ]
        reviews = [drawn_review(i, "ann", changed_at=5) for i in told]
        self.world.labels.save(Labelled(opinions, (), reviews))

    def opinion(self, item: QueueItem, opinion: Opinion, annotator: str = "ann") -> Annotation:
        """On the finding of a run."""
        f = a_finding(trace_id=item.trace_id, agent_run_id=item.agent_run_id, evidence=item.agent_run_id)
        return Annotation(
            id=f"{annotator}-{f.id}", trace_id=f.trace_id, span_id=f.span_id, annotator=annotator,
            category=f.category, severity=f.severity, changed_at=6, opinion=opinion, finding_id=f.id,
            judge=f.judge, fingerprint=f.fingerprint, agent_run_id=f.agent_run_id,
        )  # fmt: skip

    def pattern(self, **query: bool | str) -> PatternRow:
        """The one pattern."""
        (row,) = self.reader.patterns.ask(QUERY).rows
        assert (row.calibrated, row.uncalibrated) == (None, "")
        found = self.reader.patterns.one(replace(QUERY, pattern=row.id, **query))  # type: ignore[arg-type]  # a few
        assert found is not None
        return found[0]


def test_a_share_as_far_as_people_confirm_it(store: SharedStore) -> None:
    """Six in ten are right; labels of 80 drawn runs tell it, and the interval holds the truth."""
    shop = Shop(store)
    assert shop.pattern().uncalibrated == (
        f"people reviewed 0 runs, drawn or not; {ENOUGH_WITH} that the label queue drew are needed"
    )
    shop.review(shop.draw(80))
    row, truth = shop.pattern(), sum(shop.truth.values()) / len(shop.truth)
    assert row.share is not None
    assert row.calibrated is not None
    assert truth < row.share.low
    assert row.calibrated.low < truth < row.calibrated.high < row.share.value
    assert row.uncalibrated == ""


def test_missed_errors_and_runs_that_nobody_drew_tell_nothing_of_a_pattern(store: SharedStore) -> None:
    """A missed error has no cause; what somebody picked is no sample."""
    shop = Shop(store)
    items = shop.draw(200)
    shop.review(items[:100])
    before = shop.pattern().calibrated
    assert before is not None
    clean = [i for i in items[:100] if not shop.runs[i.trace_id].found]
    missed = [replace(shop.opinion(i, Opinion.MISSED), finding_id="", judge="") for i in clean]
    picked = [replace(drawn_review(i, "ann", changed_at=7), probability=0.0) for i in items[100:]]
    against = [shop.opinion(i, Opinion.DISAGREE) for i in items[100:] if shop.runs[i.trace_id].found]
    assert missed
    assert against
    shop.world.labels.save(Labelled([*missed, *against], (), picked))
    assert shop.pattern().calibrated == before


def test_what_people_contradict_each_other_about_is_left_out(store: SharedStore) -> None:
    """Where it leaves too few runs there is no figure."""
    shop = Shop(store)
    items = shop.draw(60)
    shop.review(items)
    right = [i for i in items if shop.truth[i.trace_id]]
    shop.world.labels.save(Labelled([shop.opinion(i, Opinion.DISAGREE, "bob") for i in right]))
    found = shop.pattern()
    seen = sum(shop.runs[i.trace_id].found for i in items) - len(right)
    if seen >= ENOUGH_WITH:
        assert found.calibrated is not None
        assert found.calibrated.value == 0.0
    else:
        assert found.uncalibrated.startswith(f"of runs with it that the label queue drew, people reviewed {seen} ")


def test_why_there_is_none(store: SharedStore) -> None:
    """Too few reviews with it, strata with it that nobody looked at, none in this time."""
    shop = Shop(store)
    items = shop.draw(150)
    clean = [i for i in items if not shop.runs[i.trace_id].found]
    found = [i for i in items if shop.runs[i.trace_id].found]
    shop.review(clean[:ENOUGH_WITH])
    told = shop.pattern().uncalibrated
    assert told.startswith("nobody has reviewed a drawn run of found/-/shop (")
    assert "tracejury labels queue --service shop" in told
    shop.review(found[: ENOUGH_WITH - 1])
    assert shop.pattern().uncalibrated == (
        f"of runs with it that the label queue drew, people reviewed {ENOUGH_WITH - 1} and agree about them; "
        f"{ENOUGH_WITH} such runs are needed"
    )
    # Strata without runs of it say nothing about it.
    shop.world.put(
        [
            QueuedRun("e" * 32, "run-e", "bank", arrived=NOW - WEEK // 2),
            QueuedRun("d" * 32, "run-d", "shop", arrived=NOW - WEEK // 2, lowest=2),
        ]
    )
    shop.review(found[ENOUGH_WITH - 1 : ENOUGH_WITH + 5])
    assert shop.pattern().calibrated is not None
    row = shop.pattern()
    gone = shop.reader.patterns.one(PatternQuery(NOW, NOW + WEEK, pattern=row.id))
    assert gone is not None
    assert gone[0].uncalibrated == "no run has it in this time"


@pytest.fixture
def url(store: SharedStore) -> Iterator[str]:
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW)
    services = Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW)
    with served(create_web_app(services)) as url:
        yield url


def test_page_api_and_command_tell_it(store: SharedStore, url: str) -> None:
    """A page where nobody has reviewed anything does not explain itself; lists have no calibrated share."""
    shop = Shop(store, runs=120, service="<b>&'; \x1b[2J")
    (listed,) = httpx.get(f"{url}/api/patterns", timeout=60).json()["items"]
    assert (listed["calibrated"], listed["uncalibrated"]) == (None, None)
    address = f"/patterns/{listed['id']}"
    assert "people reviewed 0 runs" in httpx.get(f"{url}/api{address}").json()["uncalibrated"]
    assert "Confirmed by labels" not in httpx.get(f"{url}{address}?range=7d").text
    shop.review(i for i in shop.draw(60) if not shop.runs[i.trace_id].found)
    page = httpx.get(f"{url}{address}?range=7d").text
    assert "nobody has reviewed a drawn run of found/-/" in page
    assert "<b>" not in page
    assert "\x1b" not in page
    shop.review(shop.draw(60))
    calibrated = httpx.get(f"{url}/api{address}").json()["calibrated"]
    assert 0 < calibrated["low"] < calibrated["value"] < calibrated["high"] < 1
    assert "Confirmed by labels" in httpx.get(f"{url}{address}?range=7d").text
    shown = CliRunner().invoke(root, ["pattern", listed["id"], "--url", url], env={"COLUMNS": "200"})
    assert f"as far as people confirm it: {100 * calibrated['value']:.1f} %" in shown.output


def test_a_run_counts_as_often_as_judges_and_the_queue_drew_it() -> None:
    """Where its own errors of the pattern are shown in the profile; errors of other patterns say nothing."""
    finding = a_finding(trace_id="t", confidence=0.9)
    (error,) = group([finding], ["run-1"])
    own = FactError(
        "goal", llm=True, scopes=ErrorScope.JUDGES | ErrorScope.BOTH, dimensions=(), taxonomy=TRAIL,
        category="Goal Deviation", confidences=(0.5, 0.5, NEVER), tool="", turn=0, pattern="mine",
    )  # fmt: skip
    fact = Fact(
        FactKey("run", 0, "t", "run-1"), at=1, service="shop", version="1", session="", agent="a", role="manager",
        model="m", recognised=True, turns=1, parts=("t",), errors=(own,),
        standings={Population.DETECTORS: Standing(1.0), Population.JUDGES: Standing(10.0)},
    )  # fmt: skip
    mine, other = (replace(summary(error), pattern=name) for name in ("mine", "other"))
    agreed = Annotation(
        id="1", trace_id="t", span_id=finding.span_id, annotator="ann", category=finding.category,
        severity=finding.severity, changed_at=1, opinion=Opinion.AGREE, finding_id=finding.id, judge=finding.judge,
        agent_run_id="run-1",
    )  # fmt: skip
    run = ReviewedRun(fact, seen_errors([agreed], [mine]), 3.0)
    question = replace(exact(RateQuery(0, 9), Population.JUDGES, ()), pattern="mine")
    assert pattern_pairs(question, [run]) == [Pair(1.0, judge=True, weight=30.0)]
    assert pattern_pairs(question, [replace(run, errors=seen_errors([agreed], [other]))]) == [
        Pair(0.0, judge=True, weight=30.0)
    ]
    assert pattern_pairs(replace(question, pattern="other"), [run]) == []
    assert pattern_pairs(replace(question, population=Population.DETECTORS), [run]) == []
    strict = replace(exact(RateQuery(0, 9, profile="strict"), Population.JUDGES, ()), pattern="mine")
    assert pattern_pairs(strict, [run]) == []
