"""Judging over the real store: step by step, with an injected clock."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from judging_bench import KEY, T0, TRACE, Bench, Booms, span

from tracejury.collector.judging.detect.worker import STEP_TRACES
from tracejury.collector.store.committer import Committer, WriterCounters
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.judges.rule_settings import RuleSetting, RuleSettings
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.schemas.batch import Batch
from tracejury.schemas.findings import FindingState
from tracejury.schemas.spans import LogRecord


def test_a_finding_is_stored_while_the_trace_is_open_and_confirmed_when_it_settles(store: SharedStore) -> None:
    """Provisional first, current after five quiet seconds with an ended root; then nothing is held."""
    bench = Bench(store)
    bench.commit(span("2", "1", "boom"))
    assert bench.wait(0.1) == 1
    assert bench.states() == {"2".rjust(16, "0"): FindingState.PROVISIONAL}
    bench.commit(span("1"))
    bench.wait(1)
    assert bench.wait(5) == 1
    assert bench.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert bench.judging.idle


def test_a_late_span_opens_a_settled_trace_again_and_corrects_it(store: SharedStore) -> None:
    """What no longer holds is retracted, not left standing."""
    bench = Bench(store)
    bench.commit(span("2", "1", "boom"))
    bench.wait(601)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert bench.judging.idle
    bench.commit(span("1", output="all is well"))
    bench.wait(0.1)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.RETRACTED}


def test_what_an_earlier_process_left_unjudged_is_found(store: SharedStore) -> None:
    """Nothing depends on memory: committed but never heard of, or judged only while open."""
    before = Bench(store)
    before.commit(span("2", "1", "boom"), tell=False)
    before.commit(span("9", output="boom", trace_id="b" * 32))
    before.wait(0.1)
    after = Bench(store)
    after.now = T0 + 700 * SECOND
    assert after.judging.sweep() == 2
    after.wait(0)
    assert after.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert after.judging.sweep() == 0


def test_a_trace_seen_before_is_read_back_with_its_findings(store: SharedStore) -> None:
    """A second process judges the whole trace, not only the spans that it received."""
    first = Bench(store)
    first.commit(span("2", "1", "boom"))
    first.wait(0.1)
    second = Bench(store)
    second.now = T0 + 10 * SECOND
    second.commit(replace(span("3", "1", "boom"), end=3))
    second.wait(0.1)
    assert set(second.states()) == {"2".rjust(16, "0"), "3".rjust(16, "0")}
    found = second.stored.load_findings([TRACE])[TRACE]
    assert {f.span_id: f.first_seen for f in found}["2".rjust(16, "0")] == T0 + SECOND // 10


def test_a_settled_trace_that_is_sent_again_keeps_its_first_sight(store: SharedStore) -> None:
    """Also where the new request holds every span of it, so that nothing of it seems to be missing."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    before = bench.stored.load_findings([TRACE])
    bench.now += 100 * SECOND
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    assert bench.stored.load_findings([TRACE]) == before


def test_a_settled_trace_that_is_sent_again_corrected_loses_its_findings(store: SharedStore) -> None:
    """What no longer holds is retracted, also where every span of the trace is new."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    bench.commit(replace(span("1", output="fine"), end=3))
    bench.wait(6)
    assert bench.states() == {"1".rjust(16, "0"): FindingState.RETRACTED}


def test_an_older_copy_of_a_settled_trace_is_no_news(store: SharedStore) -> None:
    """What is judged is what the store shows: of two copies of a span the one that ended later."""
    bench = Bench(store)
    bench.commit(replace(span("1", output="fine"), end=3))
    bench.wait(6)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    assert bench.states() == {}


def test_log_records_that_came_before_any_span_are_judged_with_them(store: SharedStore) -> None:
    """However long before: a live judging sees what one of the stored rows sees."""
    bench = Bench(store)
    record = LogRecord(TRACE, "1".rjust(16, "0"), 1, 1, body="a remark")
    bench.commit(logs=[record])
    bench.wait(1)
    bench.commit(span("1"))
    bench.wait(1)
    live = bench.watch.judgings[-1].trace.spans["1".rjust(16, "0")].log_text
    assert "a remark" in live


def test_judging_again_changes_nothing(store: SharedStore) -> None:
    """The same outcome is neither written anew nor given another time."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    before = bench.stored.load_findings([TRACE])
    bench.now += 100 * SECOND
    future = bench.judging.ask([KEY])
    bench.wait(0)
    (judgement,) = future.result(0)
    assert len(judgement.findings) == 1
    assert bench.watch.judgings[-1].changed == ()
    assert bench.stored.load_findings([TRACE]) == before


def test_asking_for_an_unknown_trace_is_answered_with_nothing(store: SharedStore) -> None:
    """Nobody waits for ever."""
    bench = Bench(store)
    future = bench.judging.ask([("", "f" * 32)])
    bench.wait(0)
    assert future.result(0) == []
    assert bench.judging.ask([]).result(0) == []
    assert bench.judging.idle


def test_a_service_is_introduced_once_its_root_is_there(store: SharedStore, caplog: pytest.LogCaptureFixture) -> None:
    """A sub-agent's span comes before the manager's: what is on its way is not called missing."""
    caplog.set_level(logging.INFO, "tracejury")
    bench = Bench(store)
    agent = {"openinference.span.kind": "AGENT"}
    bench.commit(replace(span("2", "1"), attributes=agent))
    bench.wait(1)
    assert caplog.messages == []
    bench.commit(replace(span("1"), attributes=agent))
    bench.wait(1)
    assert len(caplog.messages) == 1
    assert "service shop" in caplog.messages[0]
    assert "root span" not in caplog.messages[0]


def test_a_finding_need_not_wait_for_a_backlog(store: SharedStore) -> None:
    """A trace that arrives while many wait is judged in the next step, long before the last of them."""
    bench = Bench(store)
    many = 3 * STEP_TRACES
    bench.commit(*(span("1", trace_id=f"{number:032x}") for number in range(many)))
    bench.commit(span("2", "1", "boom"))
    assert bench.wait(0.1) == STEP_TRACES
    assert bench.states() == {"2".rjust(16, "0"): FindingState.PROVISIONAL}
    while bench.judging.step():
        pass
    assert bench.judging.judged_traces == many + 1


def test_what_a_rule_found_before_it_was_switched_off_is_retracted_at_the_next_judging(store: SharedStore) -> None:
    """On the services for which it is switched off; on others it stands, and is lowered where that was said."""
    before = Bench(store)
    before.commit(span("1", output="boom"))
    before.wait(6)
    assert before.states() == {"1".rjust(16, "0"): FindingState.CURRENT}
    for settings, state, confidence in (
        (RuleSetting("booms", services=frozenset({"bank"})), FindingState.CURRENT, 0.9),
        (RuleSetting("booms", 0.2), FindingState.CURRENT, 0.2),
        (RuleSetting("booms", services=frozenset({"shop"})), FindingState.RETRACTED, 0.2),
    ):
        after = Bench(store, Suite([Booms()], settings=RuleSettings((settings,))))
        after.now = before.now = before.now + SECOND
        asked = after.judging.ask([KEY])
        after.wait(0)
        assert asked.done()
        (finding,) = after.stored.load_findings([TRACE])[TRACE]
        assert (finding.state, finding.confidence) == (state, confidence)


def test_under_pressure_judging_rests_twelve_times_as_long_as_it_worked(store: SharedStore) -> None:
    """Not once clients no longer wait."""
    ticks = itertools.count(0, SECOND // 150)  # it is asked three times, and twice more for each further trace
    waiting = [True]
    bench = Bench(store, pressed=lambda: waiting[0], timer=lambda: next(ticks))
    steps = []

    def step(seconds: float, trace_id: str) -> None:
        bench.commit(span("1", output="boom", trace_id=trace_id * 32))
        bench.judging.worker.step()
        bench.now += round(seconds * SECOND)
        bench.judging.worker.step()
        bench.now += SECOND // 20  # for which a new trace waits for more
        bench.judging.worker.step()
        steps.append({judged.trace.trace_id[0] for judged in bench.watch.judgings})

    step(0.1, "a")
    step(0.15, "b")  # still resting
    step(0.15, "c")  # rested: both
    step(0.1, "d")  # resting again
    waiting[0] = False
    step(0.1, "e")
    assert [sorted(found) for found in steps] == [["a"], ["a"], [*"abc"], [*"abc"], [*"abcde"]]


@pytest.mark.parametrize(("waited", "judged"), [(3.9, "a"), (4, "ab")])
def test_under_pressure_what_arrives_waits_in_the_inbox_for_four_seconds(
    store: SharedStore, waited: float, judged: str
) -> None:
    """However long judging would rest."""
    bench = Bench(store, pressed=lambda: True)
    bench.commit(span("1", output="boom", trace_id="a" * 32))
    bench.wait(0.1)
    bench.judging.schedule._rest_until = bench.now + 100 * SECOND
    bench.commit(span("1", output="boom", trace_id="b" * 32))
    bench.now += round(waited * SECOND)
    bench.judging.worker.step()
    assert bench.inbox.waits == (judged == "a")
    bench.now += SECOND // 20  # for which a new trace waits for more
    bench.judging.worker.step()
    assert sorted({one.trace.trace_id[0] for one in bench.watch.judgings}) == [*judged]


@pytest.mark.parametrize(("most", "waits"), [(2_900, True), (1_000_000, False)])
def test_files_are_read_once_memory_has_room_or_nothing_else_is_due(
    store: SharedStore, tmp_path: Path, most: int, *, waits: bool
) -> None:
    """A trace has 2,600 bytes. What memory has no room for would be written to a file once more."""
    bench = Bench(store, config=AssemblerConfig(max_bytes=most))
    bench.inbox._files, bench.inbox._max_bytes = SpillFiles(tmp_path), 1
    committer = Committer(store, DeadLetterFolder(tmp_path, 1), WriterCounters(), bench.inbox, clock=lambda: bench.now)

    def commit(trace_id: str) -> None:
        committer.commit([Batch([span("1", output="boom" * 400, trace_id=trace_id * 32)], (), 1)])

    commit("a")
    bench.judging.worker.step()
    bench.now += SECOND // 20
    commit("b")
    commit("c")
    bench.judging.worker.step()
    assert bench.inbox.waits == waits
    for _ in range(3):
        bench.wait(6)
    assert {one.trace.trace_id[0] for one in bench.watch.judgings} == {*"abc"}
    assert bench.judging.idle
