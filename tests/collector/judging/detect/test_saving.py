"""Results are stored beside judging: others are judged meanwhile, and nothing is read from the store too early."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from judging_bench import KEY, TRACE, Bench, span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.verdicts import JudgedTrace

OTHER = "b" * 32
PATIENCE = 30.0


class Waiting(StoredJudging):
    """A store whose first insert of results takes until the test goes on, and may fail then."""

    def __init__(self, store: SharedStore, *, fails: bool = False) -> None:
        super().__init__(store)
        self.began, self.go_on = threading.Event(), threading.Event()
        self.saves = 0
        self._fails = fails

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        self.saves += 1
        if self.saves == 1:
            self.began.set()
            assert self.go_on.wait(PATIENCE)
            if self._fails:
                raise RetryableError("passing")
        super().save(judged)


def step(bench: Bench, seconds: float) -> None:
    """Let time pass, and one step of a thread run."""
    bench.now += round(seconds * SECOND)
    bench.judging.worker.step()


def store_beside(bench: Bench, reading: Waiting, meanwhile: Callable[[], None]) -> list[Exception]:
    """Judge a trace with a finding and another one in a thread of their own; what the thread raised at storing them."""
    raised: list[Exception] = []

    def judge() -> None:
        try:
            step(bench, 0.05)
        except RetryableError as error:
            raised.append(error)

    bench.commit(span("2", "1", "boom"))
    bench.commit(span("2", "9", trace_id=OTHER))
    step(bench, 0)
    other = threading.Thread(target=judge)
    other.start()
    assert reading.began.wait(PATIENCE)
    meanwhile()
    reading.go_on.set()
    other.join(PATIENCE)
    assert not other.is_alive()
    return raised


def third(bench: Bench) -> None:
    """Have a third trace judged, which has a finding, too."""
    bench.commit(span("2", "1", "boom", trace_id="c" * 32))
    step(bench, 0)
    step(bench, 0.05)


def test_others_are_judged_meanwhile(store: SharedStore) -> None:
    """Their results wait, and are stored next; until then no trace counts as done with."""
    reading = Waiting(store)
    bench = Bench(store, reading=reading)

    def judge_another() -> None:
        third(bench)
        assert len(bench.watch.judgings) == 3
        assert reading.saves == 1
        assert not bench.judging.idle
        assert (bench.judging.next_due() - bench.now) > 0  # a thread with nothing to do does not spin

    assert not store_beside(bench, reading, judge_another)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.PROVISIONAL}
    step(bench, 0.2)
    assert reading.saves == 2
    assert [f.state for f in bench.stored.load_findings(["c" * 32])["c" * 32]] == [FindingState.PROVISIONAL]


def test_what_could_not_be_stored_waits_with_what_came_since(store: SharedStore) -> None:
    """Also what nobody waited for; the step that failed judges its traces once more."""
    reading = Waiting(store, fails=True)
    bench = Bench(store, reading=reading)
    assert store_beside(bench, reading, lambda: third(bench))
    while bench.wait(6) or not bench.judging.idle:
        bench.wait(600)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert [f.state for f in bench.stored.load_findings(["c" * 32])["c" * 32]] == [FindingState.CURRENT]
    assert set(store.rows("SELECT TraceId FROM judgements FINAL")) == {(TRACE,), (OTHER,), ("c" * 32,)}


def test_a_request_waits_for_what_is_being_stored(store: SharedStore) -> None:
    """Whoever asked reads the store next: an older result must not come after its answer."""
    reading = Waiting(store)
    bench = Bench(store, reading=reading)
    futures = []

    def ask() -> None:
        futures.append(bench.judging.ask([KEY]))
        step(bench, 0.1)
        assert not futures[0].done()

    store_beside(bench, reading, ask)
    step(bench, 0.1)
    assert [judgement.subject.trace_id for judgement in futures[0].result(0)] == [TRACE]
    assert reading.saves > 1
    assert bench.states() == {"2".rjust(16, "0"): FindingState.PROVISIONAL}


def test_a_trace_is_read_from_the_store_with_all_that_was_found_in_it(store: SharedStore) -> None:
    """A finding that waits to be stored is taken back by a later judging that reads the trace anew."""

    class Slow(StoredJudging):
        def save(self, judged: Sequence[JudgedTrace]) -> None:
            super().save(judged)
            bench.now += SECOND // 10

    bench = Bench(store, reading=Slow(store))
    for trace_id in (OTHER, "c" * 32, TRACE):
        bench.commit(span("2", "1", "boom", trace_id=trace_id))
        step(bench, 0)
        step(bench, 0.05)
    assert len(bench.watch.judgings) == 3
    assert bench.states() == {}
    bench.commit(span("1", output="all is well"))
    bench.inbox.ask([KEY])
    step(bench, 0.1)
    while bench.wait(6) or not bench.judging.idle:
        bench.wait(600)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.RETRACTED}
