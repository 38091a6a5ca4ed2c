"""The way to one backend while our own store fails, or one trace in it, or while nobody was here to send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from forwarding_store import OPTIONS, Kept, name
from otlp_backend import Act, Backend, http_backend
from store_parts import a_judged_trace

from tracejury.collector.otlp.client.backend_connection import BackendConnection
from tracejury.collector.otlp.client.http_client import HttpClient
from tracejury.collector.outbound.otlp import forwarder as forwarder_module
from tracejury.collector.outbound.otlp.counts import ExportCounts
from tracejury.collector.outbound.otlp.delivery import Delivery
from tracejury.collector.outbound.otlp.forwarder import MAX_TRIES, Forwarder, WaitLimits
from tracejury.collector.store.exports import StoredExports
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import SECOND
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.export_rows import ExportProgress, Passed
from tracejury.schemas.trajectory import TraceState

DAY = 24 * 3600 * SECOND
RETRY = RetryPolicy(first=0.001, longest=0.004, longest_asked=0.01)


class Way:
    """A forwarder at work; `passed`: nanos that the clock is ahead."""

    def __init__(self, store: Kept, backend: Backend) -> None:
        self.store, self.backend, self.passed, self.counts = store, backend, 0, ExportCounts()
        self.sender = HttpClient(BackendConnection(backend.url))
        delivery = Delivery("there", self.sender, self.counts, RETRY)
        self.forwarder = Forwarder(
            "there", store, delivery, OPTIONS, WaitLimits(0, DAY), 1000, RETRY, self.counts,
            loop=LoopRunner(), pressed=lambda: False, clock=lambda: time.time_ns() + self.passed,
        )  # fmt: skip
        self.forwarder.worker.start()

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait for something that the forwarder comes to by itself; its thread must live."""
        async with asyncio.timeout(30):
            while not ready():
                assert self.forwarder.worker.is_alive, "the thread has ended"
                await asyncio.sleep(0.002)


@asynccontextmanager
async def way(store: Kept, act: Act | None = None) -> AsyncIterator[Way]:
    """A forwarder with a store and a backend, which answers as `act` says."""
    async with http_backend() as backend:
        if act is not None:
            backend.always = lambda _signal, _request: act
        made = Way(store, backend)
        try:
            yield made
        finally:
            await made.forwarder.stop(10)
            await made.sender.close()


def times(least: int, error: Exception) -> Callable[[str, Sequence[str]], None]:
    """A store that fails so often, whatever is asked, then works."""
    left = [least]

    def fail(_call: str, _ids: Sequence[str]) -> None:
        if left[0]:
            left[0] -= 1
            raise error

    return fail


def for_trace(trace_id: str, call: str, error: Exception) -> Callable[[str, Sequence[str]], None]:
    """A store in which one call about one trace fails each time."""

    def fail(made: str, ids: Sequence[str]) -> None:
        if made == call and trace_id in ids:
            raise error

    return fail


@pytest.mark.parametrize("error", [StoreError("no such column"), RetryableError("busy"), ValueError("bad row")])
@pytest.mark.parametrize("began", [False, True])
async def test_a_store_that_fails_stops_nothing_for_good(
    began: bool,  # noqa: FBT001  a column
    error: Exception,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At the start or later: tried again with pauses, down meanwhile, told once, and then everything goes."""
    caplog.set_level(logging.INFO)
    store = Kept(3, time.time_ns())
    broken: list[Exception] = [error]

    def fail(_call: str, _ids: Sequence[str]) -> None:
        if broken:
            raise broken[0]

    if not began:
        store.fails = fail
    async with way(store) as made:
        if began:
            await made.until(lambda: len(store.saved) == 3)
            store.traces.append(name(4))
            store.fails = fail
            made.forwarder.queue.put_keys([name(4)])
        await made.until(lambda: made.forwarder.store_failures >= 5)
        assert not made.forwarder.is_up()
        broken.clear()
        await made.until(lambda: len(store.saved) == len(store.traces))
        await made.until(made.forwarder.is_up)
        assert len(made.backend.spans) == len(store.traces)
    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert told == [f"backend there waits for the store: {error}"]
    assert [r.getMessage() for r in caplog.records if "works again" in r.getMessage()]
    assert made.counts.broken == 0


async def test_what_is_heard_of_goes_where_the_store_cannot_tell_what_else_is_due() -> None:
    """The look-up that fails is the one that looks for what was forgotten."""
    store = Kept(1, time.time_ns())
    async with way(store) as made:
        await made.until(lambda: len(store.saved) == 1)

        def fail(call: str, _ids: Sequence[str]) -> None:
            if call == "due":
                raise StoreError("broken part")

        store.fails = fail
        made.passed += DAY
        store.traces.append(name(2))
        made.forwarder.queue.put_keys([name(2)])
        await made.until(lambda: name(2) in store.saved)
        assert not made.forwarder.is_up()
        store.fails = lambda _call, _ids: None
        made.passed += DAY
        await made.until(made.forwarder.is_up)


@pytest.mark.parametrize("call", ["records", "pages"])
@pytest.mark.parametrize("error", [StoreError("cannot parse"), ValueError("bad\nrow")])
async def test_a_trace_that_fails_each_time_is_set_aside(
    call: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """After some tries, counted and named; the others go, and what is said of it later is tried anew."""
    store = Kept(40, time.time_ns())
    store.fails = for_trace(name(7), call, error)
    async with way(store) as made:
        await made.until(lambda: len(store.saved) == 40)
        assert made.forwarder.is_up()
        assert made.forwarder.lag() == 0.0
        store.fails = lambda _call, _ids: None
        made.forwarder.queue.put_keys([name(7)])
        await made.until(lambda: store.saved[name(7)].outcome is Passed.SENT)
    assert made.counts.broken == 1
    assert {s.trace_id.hex() for s in made.backend.spans} == set(store.traces)
    (line,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    assert line.startswith(f"trace {name(7)} goes to backend there no more, it failed {MAX_TRIES} times: ")
    assert "\n" not in line


@pytest.mark.parametrize("call", ["records", "pages"])
@pytest.mark.parametrize("count", [1, 12, 40])
async def test_where_every_trace_fails_none_is_set_aside(
    count: int, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The store answers when asked what is due, and can tell nothing of any trace: down, told once, until it can."""
    store = Kept(count, time.time_ns())
    broken = [StoreError("broken part")]

    def fail(made: str, _ids: Sequence[str]) -> None:
        if made == call and broken:
            raise broken[0]

    store.fails = fail
    async with way(store) as made:
        await made.until(lambda: made.forwarder.store_failures >= 3 * MAX_TRIES)
        assert not made.forwarder.is_up()
        assert not store.saved
        broken.clear()
        await made.until(lambda: len(store.saved) == count)
        await made.until(made.forwarder.is_up)
        assert {s.trace_id.hex() for s in made.backend.spans} == set(store.traces)
    assert {p.outcome for p in store.saved.values()} == {Passed.SENT}
    assert made.counts.broken == 0
    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert told == ["backend there waits for the store: broken part"]


async def test_a_trace_that_fails_alone_is_set_aside_once_another_one_went() -> None:
    """Until then nobody can tell whose fault it is."""
    store = Kept(1, time.time_ns())
    store.fails = for_trace(name(1), "pages", StoreError("cannot parse"))
    async with way(store) as made:
        await made.until(lambda: not made.forwarder.is_up())
        assert not store.saved
        store.traces.append(name(2))
        made.forwarder.queue.put_keys([name(2)])
        await made.until(lambda: len(store.saved) == 2)
        await made.until(made.forwarder.is_up)
    assert (store.saved[name(1)].outcome, store.saved[name(2)].outcome) == (Passed.GIVEN_UP, Passed.SENT)


async def test_traces_that_are_one_go_together_until_one_fails_each_time() -> None:
    """News in one of them is news in all; the one that cannot be read is found among them."""
    store = Kept(1, time.time_ns())
    store.kin = frozenset(map(name, range(1, 6)))
    async with way(store) as made:
        await made.until(lambda: len(store.saved) == 5)
        assert len(made.backend.taken) == 1
    store = Kept(1, time.time_ns())
    store.kin = frozenset(map(name, range(1, 6)))
    store.fails = for_trace(name(3), "pages", StoreError("cannot parse"))
    async with way(store) as made:
        await made.until(lambda: len(store.saved) == 5)
    assert made.counts.broken == 1
    assert store.saved[name(3)].outcome is Passed.GIVEN_UP
    assert {s.trace_id.hex() for s in made.backend.spans} == store.kin - {name(3)}


async def test_a_trace_that_is_too_large_to_be_read_keeps_no_other() -> None:
    """It may fit later, so it is tried on and on, alone."""
    store = Kept(40, time.time_ns())
    store.fails = for_trace(name(7), "records", RetryableError("memory limit exceeded"))
    async with way(store) as made:
        await made.until(lambda: len(store.saved) == 39)
        store.fails = lambda _call, _ids: None
        await made.until(lambda: len(store.saved) == 40)
    assert made.counts.broken == 0


async def test_what_was_judged_while_nobody_was_here_to_send_it_goes() -> None:
    """Two days without a collector are no fault of the backend: nothing is too old for one that answers."""
    store = Kept(3, time.time_ns() - 2 * DAY)
    async with way(store) as made:
        await made.until(lambda: len(store.saved) == 3)
    assert {p.outcome for p in store.saved.values()} == {Passed.SENT}
    assert made.counts.given_up == 0


async def test_a_trace_is_given_up_after_a_day_of_asking_however_old_it_is() -> None:
    """A backend that is away since we are here; what was given up is not sent when it is back, the next ones are."""
    store = Kept(70, time.time_ns() - 2 * DAY)
    async with way(store, Act(status=503)) as made:
        await made.until(lambda: made.counts.retries >= 5)
        assert not store.saved, "it was not asked for long enough"
        made.passed += DAY + SECOND
        await made.until(lambda: len(store.saved) == 70)
        assert {p.outcome for p in store.saved.values()} == {Passed.GIVEN_UP}
        assert made.counts.given_up == 70
        made.backend.always = lambda _signal, _request: Act()
        store.traces.append(name(71))
        store._judged_at = time.time_ns() + made.passed
        made.forwarder.queue.put_keys([name(71)])
        await made.until(lambda: name(71) in store.saved)
    assert [s.trace_id.hex() for s in made.backend.spans] == [name(71)]


async def test_only_one_trace_asks_whether_a_backend_is_back() -> None:
    """However many wait."""
    store = Kept(20, time.time_ns())
    async with way(store, Act(status=503)) as made:
        await made.until(lambda: made.counts.retries >= 6)
        pages = [call for call in store.asked if call == "pages"]
        assert len(pages) <= made.counts.retries
        made.backend.always = lambda _signal, _request: Act()
        await made.until(lambda: len(store.saved) == 20)
    sizes = [len(s.spans) for t in made.backend.taken for r in t.request.resource_spans for s in r.scope_spans]
    assert sizes[0] == 1
    assert max(sizes[1:]) > 1


async def test_the_end_does_not_wait_for_a_store_that_fails() -> None:
    """What is due stands in the store."""
    store = Kept(3, time.time_ns())
    store.fails = times(10**9, StoreError("gone"))
    async with way(store) as made:
        await made.until(lambda: made.forwarder.store_failures >= 2)
        async with asyncio.timeout(10):
            await made.forwarder.stop(60)
        assert not made.forwarder.worker.is_alive


async def test_what_another_process_left_is_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once whoever judged it has had its time; also where the store fails just then."""
    monkeypatch.setattr(forwarder_module, "TAKE_UP", RetryPolicy(first=0.5, longest=0.5))
    store = Kept(0, time.time_ns())
    async with way(store) as made:
        await made.until(lambda: "due" in store.asked)
        store.fails = times(2, RetryableError("busy"))
        began = time.monotonic()
        made.forwarder.take_up([name(1), name(2)])
        store.saved[name(2)] = ExportProgress(name(2), 1, Passed.SENT, 1, 1, {})
        await made.until(lambda: name(1) in store.saved)
        assert time.monotonic() - began >= 0.25
        assert len(made.backend.spans) == 1


def test_what_a_backend_lacks(store: SharedStore) -> None:
    """Of the traces that others judged: complete ones, whose last judgement was not forwarded."""
    exports = StoredExports(store, "there", clock=lambda: 1)
    ids = [name(n) for n in range(1, 4)]
    states = (TraceState.SETTLED, TraceState.SETTLED, TraceState.OPEN)
    StoredJudging(store).save(
        [a_judged_trace(trace_id=i, state=s, judged_at=9) for i, s in zip(ids, states, strict=True)]
    )
    assert sorted(exports.left([*ids, name(4)])) == ids[:2]
    exports.save([ExportProgress(ids[0], 9, Passed.SENT, 9, 9, {}), ExportProgress(ids[1], 8, Passed.SENT, 9, 9, {})])
    assert exports.left(ids) == [ids[1]]
