"""Every durable worker over a store in memory whose calls can be made to fail: for the tests of their contract.

To have a worker tested, add its builder to `WORKERS`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from alert_parts import an_alert
from forwarding_store import OPTIONS, Kept
from store_parts import a_finding, a_judged_trace, a_run

from tracejury.collector.alerting.sender import ChannelSender, OutgoingAlert
from tracejury.collector.judging.detect.texts import TextWriter
from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.outbound.otlp.counts import ExportCounts
from tracejury.collector.outbound.otlp.delivery import Delivery
from tracejury.collector.outbound.otlp.forwarder import Forwarder, WaitLimits
from tracejury.collector.outbound.webhooks.metrics import WebhookMetrics
from tracejury.collector.outbound.webhooks.posting import PostAnswer, Poster
from tracejury.collector.outbound.webhooks.rules import WebhookRules
from tracejury.collector.outbound.webhooks.webhook import Webhook
from tracejury.collector.outbound.webhooks.webhook_spec import WebhookSpec
from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.store.texts import StoredTexts, TraceText, text_of
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.worker import Task, Worker
from tracejury.judges.grouping import standing_errors
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.alert_records import AlertDelivery
from tracejury.schemas.alerts import Alert
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.queries.webhook_events import Delivered, Found, Looked
from tracejury.schemas.verdicts import JudgedTrace

QUICK = RetryPolicy(first=0.001, longest=0.004, longest_asked=0.004)
DAY = 24 * 3600 * 10**9


def name(number: int) -> str:
    """The id of an item."""
    return f"{number:032x}"


class Faults:
    """Makes calls of a store fail: `meet` is called with the call's name and the items that it is about."""

    def __init__(self) -> None:
        self.once: dict[str, Exception] = {}
        self.always: Exception | None = None
        self.poison: tuple[str, str, Exception] | None = None  # the call, the item and what it raises
        self.hangs: threading.Event | None = None
        self.met = 0

    def meet(self, call: str, items: Collection[str] = ()) -> None:
        """Fail, or hang, as told."""
        if self.hangs is not None:
            self.met += 1
            self.hangs.wait(60)
        error = self.once.pop(call, None) or self.always
        if self.poison is not None and self.poison[0] == call and self.poison[1] in items:
            error = self.poison[2]
        if error is not None:
            self.met += 1
            raise error


@dataclass
class Rig:
    """A worker. `feed` brings items, `saved` tells which are stored; `calls`: of the store, one after the other.

    `poisons`: calls at which one item can fail each time; `bound`: of `held`, the items in memory.
    """

    start: Callable[[], None]
    stop: Callable[[float], Awaitable[object]]
    is_alive: Callable[[], bool]
    faults: Faults
    calls: Sequence[str]
    poisons: Sequence[str] = ()
    feed: Callable[[Sequence[str]], None] = lambda _names: None
    saved: Callable[[], Sequence[str]] = tuple
    held: Callable[[], int] = lambda: 0
    bound: int = 0
    stored: list[str] = field(default_factory=list)


def quick(*workers: Worker[Any, Any]) -> None:
    """Have workers wait for milliseconds where they would wait for seconds."""
    for worker in workers:
        worker._retry = QUICK


def texts() -> Rig:
    """Texts for search."""
    faults = Faults()
    saved: list[str] = []

    class Store(StoredTexts):
        def __init__(self) -> None: ...

        def keep(self, texts: Sequence[TraceText]) -> None:
            faults.meet("keep", [text.key[1] for text in texts])
            saved.extend(text.key[1] for text in texts)

        def read(self, key: TraceKey) -> TraceText | None:
            return text_of(of(key[1]))

        def missing(self, before: int, limit: int) -> list[TraceKey]:  # noqa: ARG002  the base's signature
            faults.meet("missing")
            return []

    bound = 20
    size = 60  # characters of each text, at least
    writer = TextWriter(Store(), max_characters=bound * size, every=0.001)
    quick(writer.worker)

    def of(name: str) -> JudgedTrace:
        return a_judged_trace(trace_id=name, runs=(a_run(goal="x" * size),))

    def judged(names: Sequence[str]) -> None:
        writer.traces_judged(list(map(of, names)))

    return Rig(
        start=writer.start,
        stop=lambda deadline: asyncio.to_thread(writer.stop, deadline),
        is_alive=lambda: writer.worker.is_alive,
        faults=faults,
        calls=("missing", "keep"),
        poisons=("keep",),
        feed=judged,
        saved=lambda: saved,
        held=lambda: len(writer.queue) + writer.queue.in_flight,
        bound=bound,
    )


class Taking:
    """An OTLP client whose backend takes everything."""

    async def send(self, _request: Any) -> PartialSuccess:
        return PartialSuccess()

    async def close(self) -> None:
        """Nothing to close."""


def forwarding() -> Rig:
    """Forwarding to one backend."""
    faults = Faults()
    store = Kept(0, time.time_ns())
    store.fails = faults.meet
    counts = ExportCounts()
    forwarder = Forwarder(
        "there", store, Delivery("there", Taking(), counts, QUICK), OPTIONS, WaitLimits(0, DAY), 20, QUICK, counts,
        loop=LoopRunner(), pressed=lambda: False, clock=time.time_ns,
    )  # fmt: skip

    def feed(names: Sequence[str]) -> None:
        store.traces.extend(n for n in names if n not in store.traces)
        forwarder.queue.put_keys(names)

    return Rig(
        start=forwarder.worker.start,
        stop=forwarder.stop,
        is_alive=lambda: forwarder.worker.is_alive,
        faults=faults,
        calls=("since", "last_passed", "due", "records", "pages", "save"),
        poisons=("records", "pages"),
        feed=feed,
        saved=lambda: list(store.saved),
        held=lambda: len(forwarder.queue) + forwarder.queue.in_flight,
        bound=20,
    )


class Deliveries(StoredDeliveries):
    """What webhooks were told, in memory; every trace has one finding."""

    def __init__(self, faults: Faults) -> None:
        self.traces: list[str] = []
        self.marked: dict[str, Delivered] = {}
        self._faults = faults

    def since(self, _webhook: str) -> int:
        self._faults.meet("since")
        return 0

    def quiet(self, _webhook: str) -> int:
        self._faults.meet("quiet")
        return 0

    def keep_quiet(self, _webhook: str, _at: int) -> None:
        self._faults.meet("keep_quiet")

    def recent(self, _changed: int, _since: int, after: str, limit: int) -> list[str]:
        self._faults.meet("recent")
        return sorted(t for t in self.traces if t > after)[:limit]

    def read_findings(self, _webhook: str, trace_ids: Sequence[str]) -> Looked:
        self._faults.meet("look", trace_ids)
        findings = [a_finding(trace_id=t) for t in trace_ids if t not in self.marked]
        now = time.time_ns()
        found = tuple(Found(f, "shop", "planner", "", "settled", (), now, now) for f in findings)
        return Looked(found, {}, tuple(map(summary, standing_errors(findings, ()))))

    def mark(self, delivered: Sequence[Delivered]) -> None:
        self._faults.meet("mark", [one.trace_id for one in delivered])
        self.marked |= {one.trace_id: one for one in delivered}

    def stays(self, _trace_id: str, _received: int) -> bool:
        return True


class Answering(Poster):
    """A receiver that takes everything."""

    def __init__(self) -> None:
        """It needs no connection."""

    async def post(self, _headers: Any, _body: bytes) -> PostAnswer:
        return PostAnswer(204)


def webhook() -> Rig:
    """One webhook."""
    faults = Faults()
    store = Deliveries(faults)
    spec = WebhookSpec("ops", replace(WebhookRules(Confidence.of("0"))), (b"k" * 32,), "http://pages", DAY, 4)
    made = Webhook(spec, store, Answering(), WebhookMetrics(Telemetry("test")), retry=QUICK)
    quick(made.worker)

    def feed(names: Sequence[str]) -> None:
        store.traces.extend(n for n in names if n not in store.traces)
        made.hint(names)

    return Rig(
        start=made.start,
        stop=made.stop,
        is_alive=lambda: made.worker.is_alive,
        faults=faults,
        calls=("since", "quiet", "recent", "look", "mark"),
        poisons=("look", "mark"),
        feed=feed,
        saved=lambda: list(store.marked),
        held=lambda: made.waiting,
        bound=1000,
    )


def task() -> Rig:
    """A call at an interval, as rates and gauges make it."""
    faults = Faults()
    made = Worker(
        "task", Task(lambda: faults.meet("call")), OutageLog("x", "fails", "works", time.time_ns),
        retry=QUICK, every=0.001,
    )  # fmt: skip
    return Rig(
        start=made.start,
        stop=lambda deadline: asyncio.to_thread(made.stop, deadline),
        is_alive=lambda: made.is_alive,
        faults=faults,
        calls=("call",),
    )


class Silent:
    """A channel that takes everything."""

    async def send(self, _alert: Alert) -> None: ...

    async def send_digest(self, _alerts: Sequence[Alert]) -> None: ...


def alerts() -> Rig:
    """The alerts of one channel."""
    faults = Faults()
    stored: list[str] = []

    def settle(_project: str, delivery: AlertDelivery) -> None:
        faults.meet("settle", [delivery.key])
        stored.append(delivery.key)

    def settled(outgoing: OutgoingAlert, _channel: str) -> bool:
        faults.meet("settled", [outgoing.key])
        return outgoing.key in stored

    made = ChannelSender("ops", Silent(), settle, settled, retry=QUICK)

    def feed(names: Sequence[str]) -> None:
        now = time.time_ns()
        for one in names:
            made.add(OutgoingAlert(an_alert(id=one, key=one), one, 1, now))

    return Rig(
        start=made.worker.start,
        stop=lambda deadline: asyncio.to_thread(made.stop, deadline),
        is_alive=lambda: made.worker.is_alive,
        faults=faults,
        calls=("settled", "settle"),
        poisons=("settled", "settle"),
        feed=feed,
        saved=lambda: list(stored),
        held=lambda: len(made.queue) + made.queue.in_flight,
        bound=1000,
    )


WORKERS: dict[str, Callable[[], Rig]] = {
    "texts": texts,
    "forwarding": forwarding,
    "webhook": webhook,
    "alerts": alerts,
    "task": task,
}
