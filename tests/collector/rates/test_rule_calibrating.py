"""Labels of a service move the confidence of its rules: findings, errors and rates follow, also after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from naive_errors import expected_errors, stored_errors
from naive_rates import expected
from several import processes
from store_parts import a_finding, a_judged_trace, a_run
from trace_pages import SECOND, START, failing_run

from tracejury.collector.judging.detect.inbox import Inbox
from tracejury.collector.judging.detect.metrics import JudgingMetrics
from tracejury.collector.judging.detect.worker import DetectWorker
from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.rule_calibrating import CALIBRATE_EVERY, RuleCalibrating
from tracejury.collector.rates.upkeep import ErrorUpkeep
from tracejury.collector.store.derived.deriving import derive
from tracejury.collector.store.detector_opinions import write_opinions
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.rule_calibrations import RuleCalibrations, TenantCalibrations
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.judges.registry import priors, suite_of
from tracejury.judges.rule_settings import RuleSetting, RuleSettings
from tracejury.judges.service_records import ALIKE_FROM, ServiceRecord, local_confidence
from tracejury.judges.suite import NO_SETTINGS
from tracejury.judges.verification import MOST_REFUTED, confidence_after
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.annotations import Annotation, Opinion
from tracejury.schemas.batch import Batch
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Finding, FindingState, Verification
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.rates import Population, RateQuery, Unit
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

RULE = "ungrounded-turn"
COVERED, ELSEWHERE = "ungrounded-after-failure", "file-error"
"""Of the same error at its primary span, and of another error."""
QUERY = RateQuery(0, 2**62, 0, unit=Unit.RUN, population=Population.DETECTORS)


class Process:
    """A collector's judging and upkeep, without threads, with the clock of the test."""

    def __init__(
        self, store: SharedStore, now: int = START + 3600 * SECOND, settings: RuleSettings = NO_SETTINGS
    ) -> None:
        self.now, self.store, self.inbox = now, store, Inbox(1 << 20)
        self.calibrations = RuleCalibrations(store, self.clock)
        self.calibrations.load()
        suite = suite_of((), settings, self.calibrations.confidences)
        self.judging = DetectWorker(
            StoredJudging(store), suite, AssemblerConfig(), self.inbox, JudgingMetrics(Telemetry("test")),
            clock=self.clock, timer=lambda: 0,
        )  # fmt: skip
        self.labels = StoredLabels(store)
        self.rates = StoredRates(store, rules=frozenset(priors()))
        self.calibrating = RuleCalibrating(
            store, partial(StoredLabels, store), self.calibrations, priors(), self.judging.ask, self.clock, settings
        )
        self.upkeep = ErrorUpkeep(store, self.calibrating, clock=self.clock)

    def clock(self) -> int:
        self.now += 1
        return self.now

    def receive(self, number: int, service: str) -> str:
        """A failing run in a trace of its own, judged to its end."""
        trace_id = f"{number:032x}"
        spans = [replace(span, trace_id=trace_id, service=service) for span in failing_run()]
        self.store.insert("spans", SPAN_COLUMNS, span_columns(spans, self.clock()))
        self.inbox.put(Batch(spans=tuple(spans)), self.now)
        self.judge()
        return trace_id

    def judge(self) -> None:
        for _ in range(4):
            self.judging.step()
            self.now += 3600 * SECOND
        assert self.judging.idle

    def keep_up(self) -> None:
        """What the worker does in a few minutes, and what is judged again through it."""
        for _ in range(3):
            self.now += CALIBRATE_EVERY
            self.upkeep.worker.step()
            self.judge()

    def found(self, trace_id: str, rule: str = RULE) -> Finding:
        (finding,) = [f for f in StoredJudging(self.store).load_findings([trace_id])[trace_id] if f.judge == rule]
        return finding

    def say(self, trace_id: str, opinion: Opinion, who: str = "ann", *, withdrawn: bool = False) -> None:
        f = self.found(trace_id)
        said = Annotation(
            id=f"{who}-{f.id}", trace_id=f.trace_id, span_id=f.span_id, annotator=who, category=f.category,
            severity=f.severity, changed_at=self.clock(),
            opinion=opinion, finding_id=f.id, judge=f.judge, fingerprint=f.fingerprint, withdrawn=withdrawn,
        )  # fmt: skip
        self.labels.save(Labelled([said]))

    def opine(self, trace_ids: Sequence[str], word: Verification, by: str = "m", rule: str = RULE) -> None:
        """A judge says this of the rule's findings in these traces."""
        said = [DetectorOpinion.on(self.found(trace_id, rule), word, by, "S1 says so.") for trace_id in trace_ids]
        write_opinions(self.store, said, self.clock())
        derive(self.store, [("", trace_id) for trace_id in trace_ids])

    def check(self) -> None:
        """Errors and rates are those of a scan of what is stored, and it is what judging from scratch would store."""
        answer, wanted = self.rates.ask(QUERY), expected(self.store, QUERY, frozenset(priors()))
        assert (answer.total.hits, answer.total.errors) == (wanted.total.hits, wanted.total.errors)
        assert stored_errors(self.store) == expected_errors(self.store)
        scan = "SELECT Id, Confidence FROM findings FINAL WHERE State = 'current' ORDER BY Id"
        before = self.store.rows(scan)
        keys = [("", row[0]) for row in self.store.rows("SELECT DISTINCT TraceId FROM traces")]
        again = Process(self.store, self.now)
        again.judging.ask(keys)
        again.judge()
        self.now = again.now
        assert self.store.rows(scan) == before


def general() -> float:
    return priors()[RULE].mean


def test_labels_move_the_rule_on_their_service_alone(store: SharedStore) -> None:
    one = Process(store)
    shop = [one.receive(number, "shop") for number in range(1, 7)]
    bank = one.receive(9, "bank")
    before = one.rates.ask(QUERY).total.errors
    for trace_id in shop[:5]:
        one.say(trace_id, Opinion.DISAGREE)
    one.keep_up()
    expected_now = local_confidence(priors()[RULE], ServiceRecord(0, 5))
    assert {one.found(trace_id).confidence for trace_id in shop} == {expected_now}
    assert one.found(bank).confidence == general()
    assert one.found(shop[0], COVERED).confidence == local_confidence(priors()[COVERED], ServiceRecord(0, 5))
    assert one.found(shop[0], ELSEWHERE).confidence == priors()[ELSEWHERE].mean
    assert one.calibrations.version("", "shop") == 1
    assert one.calibrations.version("", "bank") == 0
    one.check()
    assert one.rates.ask(QUERY).total.errors == before - len(shop)
    later = one.receive(10, "shop")
    assert one.found(later).confidence == expected_now, "new traces are judged with the newest calibration"
    assert one.found(one.receive(11, "bank")).confidence == general()


def test_a_version_is_written_for_a_step_and_not_for_less_or_sooner(store: SharedStore) -> None:
    one = Process(store)
    traces = [one.receive(number, "shop") for number in range(1, 4)]
    one.keep_up()
    assert one.calibrations.version("", "shop") == 0
    one.say(traces[0], Opinion.AGREE)
    one.now += CALIBRATE_EVERY
    one.calibrating.step()
    assert one.calibrations.version("", "shop") == 1
    one.say(traces[1], Opinion.AGREE)
    one.calibrating.step()
    assert one.calibrations.version("", "shop") == 1, "at most every few minutes"
    one.keep_up()
    assert one.calibrations.version("", "shop") == 2
    one.keep_up()
    assert [h.version for h in TenantCalibrations(one.store, one.calibrations).history("shop", RULE)] == [1, 2]
    one.check()


def test_labels_that_contradict_each_other_or_are_withdrawn_count_as_none(store: SharedStore) -> None:
    one = Process(store)
    trace_id = one.receive(1, "shop")
    one.say(trace_id, Opinion.AGREE)
    one.say(trace_id, Opinion.DISAGREE, "ben")
    one.keep_up()
    assert (one.found(trace_id).confidence, one.calibrations.version("", "shop")) == (general(), 0)
    one.say(trace_id, Opinion.AGREE, withdrawn=True)
    one.keep_up()
    lowered = local_confidence(priors()[RULE], ServiceRecord(0, 1))
    assert one.found(trace_id).confidence == lowered < general()
    one.say(trace_id, Opinion.DISAGREE, "ben", withdrawn=True)
    one.keep_up()
    assert one.found(trace_id).confidence == general()
    assert not one.calibrations.of("", "shop")[RULE].holds
    assert one.calibrations.confidences("", "shop") == {}
    one.check()


def test_labels_on_several_findings_of_one_error_count_once_for_their_rule(store: SharedStore) -> None:
    """Also on its repeats; another error, and another rule in the same error, count for themselves."""
    one, rule, other = Process(store), "service-error", "timeout-error"
    spans = [f"{n:016x}" for n in range(1, 9)]
    found = [
        a_finding(
            span_id=span_id,
            judge=rule,
            category="Service Errors",
            turn=turn,
            also_at=tuple(spans[1:] if not turn else ()),
        )
        for turn, span_id in enumerate(spans)
    ]
    found += [a_finding(span_id=spans[0], judge=other, category="Timeout Issues", turn=0)]
    found += [a_finding(span_id="f" * 16, judge=rule, category="Service Errors", turn=90)]
    StoredJudging(store).save([a_judged_trace(*found, received=100, runs=(a_run(),))])
    said = [
        Annotation(
            id=f"ann-{f.id}", trace_id=f.trace_id, span_id=f.span_id, annotator="ann", category=f.category,
            severity=f.severity, changed_at=one.clock(),
            opinion=Opinion.AGREE, finding_id=f.id, judge=f.judge, fingerprint=f.fingerprint,
        )
        for f in found
    ]  # fmt: skip
    one.labels.save(Labelled(said))
    one.calibrating.calibrate()
    (service,) = {service for _, service in one.calibrations.services}
    counts = {r: (c.right, c.wrong) for r, c in one.calibrations.of("", service).items()}
    assert counts == {rule: (2, 0), other: (1, 0)}
    store.command("DELETE FROM traces WHERE 1")  # as retention does; the labels stay
    one.calibrating.calibrate()
    assert {r: c.holds for r, c in one.calibrations.of("", service).items()} == {rule: False, other: False}
    assert one.calibrations.confidences("", service) == {}


def test_what_an_earlier_process_did_not_judge_again_is_judged_after_a_restart(store: SharedStore) -> None:
    before = Process(store)
    shop = [before.receive(number, "shop") for number in range(1, 5)]
    before.say(shop[0], Opinion.DISAGREE)
    before.now += CALIBRATE_EVERY
    before.calibrating.calibrate()  # and ends before anything is judged again
    assert {before.found(trace_id).confidence for trace_id in shop} == {general()}
    after = Process(store, before.now)
    after.keep_up()
    lowered = local_confidence(priors()[RULE], ServiceRecord(0, 1))
    assert {after.found(trace_id).confidence for trace_id in shop} == {lowered}
    assert after.calibrations.version("", "shop") == 1
    assert after.calibrations.outdated(("", ""), 10) == []
    after.check()


def test_two_processes_judge_by_one_version_at_last(store_folder: Path) -> None:
    """Each counts other labels for the same version; what either judges meanwhile is judged again by what is stored."""
    with processes(store_folder, 2) as stores:
        one, other = map(Process, stores)
        shop = [one.receive(number, "shop") for number in range(1, 5)]
        one.say(shop[0], Opinion.DISAGREE)
        one.now += CALIBRATE_EVERY
        other.now = one.now
        one.calibrating.calibrate()
        one.say(shop[1], Opinion.DISAGREE)
        other.calibrating.calibrate()
        lowered = local_confidence(priors()[RULE], ServiceRecord(0, 2))
        for process in (other, one):
            process.judging.ask([("", trace_id) for trace_id in shop])
            process.now += SECOND
            process.judge()
        assert {one.found(trace_id).confidence for trace_id in shop} != {lowered}
        for process in (one, other):
            process.calibrations.load()
            for _ in range(3):
                process.calibrating.step()
                process.judge()
        assert one.calibrations.version("", "shop") == other.calibrations.version("", "shop") == 1
        assert {one.found(trace_id).confidence for trace_id in shop} == {lowered}


def test_what_the_settings_do_not_allow_is_judged_again_once(store: SharedStore) -> None:
    """On the services that a setting names; what it leaves as it is, is not judged again."""
    before = Process(store)
    shop, bank = before.receive(1, "shop"), before.receive(2, "bank")
    settings = RuleSettings(
        (RuleSetting(RULE, services=frozenset({"shop"})), RuleSetting("*-error", 0.2, frozenset({"shop"})))
    )
    after = Process(store, before.now, settings)
    after.keep_up()
    assert after.found(shop).state is FindingState.RETRACTED
    assert after.found(shop, ELSEWHERE).confidence == 0.2
    assert after.found(bank).state is FindingState.CURRENT
    assert after.found(bank, ELSEWHERE).confidence == priors()[ELSEWHERE].mean
    judged = store.rows("SELECT max(JudgedAt) FROM traces")
    after.calibrating = RuleCalibrating(
        store, partial(StoredLabels, store), after.calibrations, priors(), after.judging.ask, after.clock, settings
    )
    for _ in range(3):
        after.calibrating.step()
        after.judge()
    assert store.rows("SELECT max(JudgedAt) FROM traces") == judged


def test_what_judges_refute_moves_the_rule_on_their_service_alone(store: SharedStore) -> None:
    """Less than labels; errors and rates follow, and stay after a restart. A person's label goes before."""
    one = Process(store)
    shop = [one.receive(number, "shop") for number in range(1, 6)]
    bank = one.receive(9, "bank")
    one.opine(shop[:4], Verification.REFUTED)
    assert {one.found(trace_id).confidence for trace_id in shop[:4]} == {MOST_REFUTED}
    one.keep_up()
    now = local_confidence(priors()[RULE], ServiceRecord(refuted=4))
    assert now < general()
    assert one.found(shop[4]).confidence == now
    assert one.found(bank).confidence == general()
    assert {one.found(trace_id).confidence for trace_id in shop[:4]} == {MOST_REFUTED}
    stored = one.calibrations.of("", "shop")[RULE]
    assert (stored.right, stored.wrong, stored.confirmed, stored.refuted) == (0, 0, 0, 4)
    one.check()
    one.say(shop[0], Opinion.AGREE)
    one.opine([shop[4]], Verification.VERIFIED)
    one.keep_up()
    stored = one.calibrations.of("", "shop")[RULE]
    assert (stored.right, stored.wrong, stored.confirmed, stored.refuted) == (1, 0, 1, 3)
    now = local_confidence(priors()[RULE], ServiceRecord(1, 0, 1, 3))
    assert one.found(shop[4]).confidence == pytest.approx(confidence_after(now, Verification.VERIFIED))
    one.check()
    later = Process(store, one.now)
    assert later.calibrations.of("", "shop") == one.calibrations.of("", "shop")


def test_a_model_that_refutes_everything_does_not_silence_a_rule(store: SharedStore) -> None:
    """From so many errors on its opinions count no more; they are still shown."""
    one = Process(store)
    shop = [one.receive(number, "shop") for number in range(1, ALIKE_FROM + 2)]
    one.opine(shop[: ALIKE_FROM - 1], Verification.REFUTED)
    one.keep_up()
    assert one.calibrations.of("", "shop")[RULE].refuted == ALIKE_FROM - 1
    assert one.found(shop[-1]).confidence < general()
    one.opine(shop[ALIKE_FROM - 1 : ALIKE_FROM], Verification.REFUTED)
    one.keep_up()
    assert not one.calibrations.of("", "shop")[RULE].holds
    assert one.found(shop[-1]).confidence == general()
    assert one.found(shop[0]).verification is Verification.REFUTED


def test_nothing_is_written_of_findings_that_are_decided_retracted_or_deleted(store: SharedStore) -> None:
    """The first answer stands; rates and errors are as before."""
    one = Process(store)
    trace_id, other = one.receive(1, "shop"), one.receive(2, "shop")
    opinion = DetectorOpinion.on(one.found(trace_id), Verification.VERIFIED, "m", "S1")
    one.opine([trace_id], Verification.UNVERIFIED)
    assert one.found(trace_id).confidence == general()
    one.opine([trace_id], Verification.REFUTED)
    before = one.found(trace_id)
    one.opine([trace_id], Verification.VERIFIED)
    assert one.found(trace_id) == before
    gone = one.found(other)
    store.deletions.hold([("", other)], one.now)
    write_opinions(store, [DetectorOpinion.on(gone, Verification.REFUTED, "m", "S1")], one.clock())
    write_opinions(store, [replace(opinion, finding_id="0" * 32), replace(opinion, tenant="x")], one.clock())
    assert one.found(other) == gone
    store.deletions.let_go([("", other)])
    one.keep_up()
    one.check()
