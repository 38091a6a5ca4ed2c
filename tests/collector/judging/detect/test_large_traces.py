"""A large trace is judged beside others: they do not wait for it, and what arrives for it meanwhile is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import pytest
from judging_bench import KEY, TRACE, Bench, Booms, span

from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.base import Context, Detector
from tracejury.judges.suite import Suite
from tracejury.processors import open_trace
from tracejury.processors.assemble import SECOND
from tracejury.processors.normalize import normalize
from tracejury.processors.open_trace import LARGE_SPANS
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import Draft, FindingState
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

OTHER, SMALL = "b" * 32, "c" * 32
PATIENCE = 30.0


class Slow:
    """Waits within a large trace until the test has done what it wants to do meanwhile."""

    name, version = "booms", 1

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:
        if len(trace.spans) >= LARGE_SPANS:
            self.began.set()
            assert self.go_on.wait(PATIENCE)
        return Booms().detect(trace, ctx)


class Beside:
    """A bench whose two threads step when the test says so."""

    def __init__(self, store: SharedStore, detector: Detector | None = None) -> None:
        self.slow = Slow()
        self.bench = Bench(store, Suite([detector or self.slow]))
        self.bench.wait(0)
        self.bench.commit(*(span(str(n), "1", "boom" if n == 7 else "") for n in range(2, LARGE_SPANS + 2)))

    def step(self, seconds: float) -> None:
        """What one of the threads does after some time."""
        self.bench.now += round(seconds * SECOND)
        self.bench.judging.worker.step()

    def judge_large(self, meanwhile: Callable[[], None], seconds: float = 1) -> None:
        """Have the large trace judged in a thread of its own, and do something meanwhile."""
        self.step(0)
        other = threading.Thread(target=self.step, args=(seconds,))
        other.start()
        assert self.slow.began.wait(PATIENCE)
        meanwhile()
        self.slow.go_on.set()
        other.join(PATIENCE)
        assert not other.is_alive()

    def settle(self) -> dict[str, FindingState]:
        """Judge all until nothing is left; the findings of the large trace."""
        while self.bench.wait(6):
            pass
        while self.bench.wait(600):
            pass
        assert self.bench.judging.idle
        return {span_id.lstrip("0"): state for span_id, state in self.bench.states().items()}


def test_others_are_judged_and_stored_meanwhile(store: SharedStore) -> None:
    """A step of another thread goes through."""
    beside = Beside(store)

    def judge_another() -> None:
        beside.bench.commit(span("1", output="boom", trace_id=OTHER))
        beside.step(0)
        beside.step(1)
        assert [f.state for f in beside.bench.stored.load_findings([OTHER])[OTHER]] == [FindingState.PROVISIONAL]
        assert beside.bench.states() == {}
        assert not beside.bench.judging.idle

    beside.judge_large(judge_another)
    assert beside.settle() == {"7": FindingState.CURRENT}


@pytest.mark.parametrize("output", ["boom", "all is well"])
def test_a_span_that_arrives_meanwhile_is_judged_next(store: SharedStore, output: str) -> None:
    """Also where the trace was about to settle."""
    beside = Beside(store)

    def arrive() -> None:
        beside.bench.commit(span("1", output=output))
        beside.step(0)

    beside.judge_large(arrive, seconds=601)
    assert beside.bench.judging.assembler.get(KEY) is not None
    well = output == "all is well"
    assert beside.settle() == ({"7": FindingState.RETRACTED} if well else dict.fromkeys("17", FindingState.CURRENT))


def test_a_trace_that_is_deleted_meanwhile_leaves_nothing(store: SharedStore) -> None:
    """Its result is dropped, and what arrives afterwards begins it anew."""
    beside = Beside(store)

    def delete() -> None:
        store.deletions.hold([KEY], beside.bench.now)
        beside.bench.judging.forget([KEY], beside.bench.now)
        beside.step(0)
        store.deletions.let_go([KEY])

    beside.judge_large(delete)
    assert beside.bench.states() == {}
    assert beside.bench.judging.assembler.get(KEY) is None


def test_a_request_meanwhile_is_answered_by_a_later_judging(store: SharedStore) -> None:
    """The one under way may lack what whoever asks has seen."""
    beside = Beside(store)
    futures = []

    def ask() -> None:
        futures.append(beside.bench.judging.ask([KEY]))
        beside.step(0)

    beside.judge_large(ask)
    assert not futures[0].done() or futures[0].result()
    beside.settle()
    assert [one.subject.trace_id for one in futures[0].result(0)][-1] == TRACE


class SlowToTell:
    """A listener that waits, each time it hears of the large trace, until the test has done what it wants meanwhile."""

    def __init__(self, slow: Slow) -> None:
        self._slow, self.heard, self.in_time = slow, 0, True

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        if traces[0].trace.trace_id == TRACE:
            self.heard += 1
            self._slow.began.set()
            self.in_time &= self._slow.go_on.wait(PATIENCE)

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None: ...


def test_others_are_judged_while_a_large_trace_is_stored_and_told(store: SharedStore) -> None:
    """The large one is not, so that a thread is left for the others; what came for it is judged next."""
    beside = Beside(store, Booms())
    listener = SlowToTell(beside.slow)
    beside.bench.listeners.add(listener)

    def go_on() -> None:
        beside.bench.commit(span("1", output="boom"))
        beside.bench.commit(span("1", output="boom", trace_id=OTHER))
        beside.step(0)
        beside.step(60)
        assert [f.state for f in beside.bench.stored.load_findings([OTHER])[OTHER]] == [FindingState.CURRENT]
        assert listener.heard == 1

    beside.judge_large(go_on)
    assert beside.settle() == dict.fromkeys("17", FindingState.CURRENT)
    assert listener.heard > 1
    assert listener.in_time


def test_a_large_trace_that_the_store_refuses_is_judged_again(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As any other."""
    beside = Beside(store, Booms())
    beside.step(0)
    with monkeypatch.context() as broken:
        broken.setattr(store, "insert", failing)
        with pytest.raises(RetryableError):
            beside.step(1)
    assert beside.bench.states() == {}
    assert beside.settle() == {"7": FindingState.CURRENT}


def test_others_step_while_a_large_trace_is_normalised(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes for it meanwhile is judged with it."""
    beside = Beside(store, Booms())
    late = [span(str(LARGE_SPANS + 2), "1")]

    def noted(raw: Span, logs: tuple[LogRecord, ...]) -> NormalizedSpan:
        if late:
            beside.bench.commit(late.pop())
            other = threading.Thread(target=beside.step, args=(0,))
            other.start()
            other.join(PATIENCE)
            assert not other.is_alive()
        return normalize(raw, logs)

    monkeypatch.setattr(open_trace, "normalize", noted)
    beside.step(0)
    beside.step(1)
    assert len(beside.bench.watch.judgings[0].trace.spans) == LARGE_SPANS + 1
    assert beside.settle() == {"7": FindingState.CURRENT}


def test_of_two_large_traces_one_is_judged_at_a_time(store: SharedStore) -> None:
    """The other thread is left for small ones."""
    beside = Beside(store)
    beside.bench.commit(*(span(str(n), "1", trace_id=OTHER) for n in range(2, LARGE_SPANS + 2)))

    def judge_small() -> None:
        beside.step(1)
        assert beside.bench.watch.judgings == []
        beside.bench.commit(span("1", output="boom", trace_id=SMALL))
        beside.step(0)
        beside.step(1)
        assert [judged.trace.trace_id for judged in beside.bench.watch.judgings] == [SMALL]

    beside.judge_large(judge_small)
    beside.step(1)
    assert {judged.trace.trace_id for judged in beside.bench.watch.judgings} == {TRACE, OTHER, SMALL}


def failing(*_args: object, **_named: object) -> None:
    raise RetryableError("the disk is away")
