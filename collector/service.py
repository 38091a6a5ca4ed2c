"""The collector put together: starts downstream first, stops in reverse, drains within a deadline."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Self

from .. import __version__
from ..judges.registry import default_suite
from ..schemas.batch import Batch
from ..schemas.errors import RetryableError
from ..schemas.verdicts import Judgement
from .api import create_app
from .config import CollectorConfig
from .deletion import Deletion, no_runs
from .endpoints import bound_receivers, check_loopback
from .export.build import build_exports
from .gauges.build import start_gauges
from .ledger import JudgesStatus
from .llm.config import LlmConfig
from .llm.mark import is_ours
from .logs import set_up
from .metrics import JudgingMetrics, ReceiverCounts, Telemetry, watch
from .panel.build import LlmJudging, build_llm_judging
from .pipeline.inbox import Inbox
from .pipeline.judging import Judging
from .pipeline.listeners import Listeners
from .prices import SpentBy
from .prices.table import PriceTable
from .rates.build import keep_rates
from .receiver.grpc_server import GrpcReceiver
from .receiver.http_server import HttpReceiver
from .receiver.intake import Intake
from .receiver.ports import split_endpoint
from .store.judging import StoredJudging
from .store.opening import open_store
from .store.panel import StoredPanel
from .store.writer import GroupCommitWriter
from .stored_reader import StoredReader
from .web_server import WebServer
from .webhooks.build import build_webhooks

log = logging.getLogger(__name__)

JUDGE_AGAIN_SECONDS = 600.0
PRESSED_REQUESTS = 2
"""Requests waiting for the store from which on judging steps back: more than one insert is taking."""
LAG_SECONDS = 0.2
"""How late detectors may be before passing on steps back."""
SWITCH_SECONDS = 0.001
"""How long a thread may keep the interpreter while another wants it: a request passes through three threads."""

Stop = Callable[[float], Awaitable[None]]


class Collector:
    """Receivers, group commit, judging and API over one store, in the running event loop.

    Use it as `async with Collector(config) as collector`. The ports that were bound are `grpc_port`, `http_port` and
    `api_port`. Raises ConfigError for what the user must mend: a taken port, a held folder, a bad DSN.
    """

    def __init__(self, config: CollectorConfig, *, clock: Callable[[], int] = time.time_ns) -> None:
        check_loopback(config)
        self.config = config
        self.grpc_port = self.http_port = self.api_port = 0
        self.store_shown = config.store.dsn
        self.telemetry = Telemetry(__version__)
        self._clock = clock
        self._inbox: Inbox | None = None
        self._judging: Judging | None = None
        self._llm: LlmJudging | None = None
        self._listeners = Listeners()
        self._stops: list[Stop] = []
        self._ready = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open the store, migrate it, start judging, then the API and the receivers; on failure nothing is left."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        self._ready = True

    async def stop(self) -> None:
        """Refuse new requests, commit those at hand, stop judging, within the configured time. Idempotent."""
        self._ready = False
        if self._judging is not None:
            self._judging.dismiss()
        deadline = time.monotonic() + self.config.shutdown_seconds
        self._stops.insert(0, lambda _: asyncio.to_thread(self.telemetry.shutdown))
        while self._stops:
            stop = self._stops.pop()
            try:
                await stop(max(deadline - time.monotonic(), 0.1))
            except Exception:  # what is upstream of it must be stopped all the same, the store above all
                log.exception("a part of the collector did not stop as it should")

    def problems(self) -> Sequence[str]:
        """Why the collector is not ready, a line each; none when it is."""
        return () if self._ready else ("starting or stopping",)

    @property
    def idle(self) -> bool:
        """Whether everything committed is judged and every trace closed, as far as this moment tells."""
        return (self._judging is None or self._judging.idle) and (self._llm is None or self._llm.bench.idle)

    def judges(self) -> JudgesStatus:
        """What LLM judges do just now."""
        return self._llm.status() if self._llm is not None else JudgesStatus()

    def judge_again(self, trace_ids: Sequence[str], by_hand: bool = False) -> Sequence[Judgement]:  # noqa: FBT001, FBT002  JudgeAgain
        """Judge stored traces again; blocks until the detectors are done, so call it on a thread.

        Of these traces LLM judges catch up with what they left; `by_hand` has all of their runs judged, sample or not.

        Raises:
            RetryableError: it takes too long, or the collector is stopping.
        """
        if self._judging is None or not self._ready:
            raise RetryableError("the collector is not ready")
        if self._llm is not None:
            self._llm.clerk.expect([("", i) for i in trace_ids], by_hand=by_hand)
        try:
            return self._judging.ask([("", i) for i in trace_ids]).result(JUDGE_AGAIN_SECONDS)
        except TimeoutError:
            raise RetryableError("judging takes longer than expected; it goes on") from None

    async def _start(self) -> None:
        config = self.config
        store = await asyncio.to_thread(open_store, config.store)
        self._stops.append(lambda _: asyncio.to_thread(store.close))
        self.store_shown = store.target.shown
        writer = GroupCommitWriter(store, config.writer, self._committed, clock=self._clock)
        inbox = self._inbox = Inbox(config.judging.max_inbox_bytes)
        secret = await asyncio.to_thread(StoredPanel(store).mark_key)
        ours = partial(is_ours, secret=secret)
        if config.judges.on:
            self._llm = await asyncio.to_thread(
                build_llm_judging,
                store,
                config.judges,
                config.judging.assembler(),
                self.telemetry,
                ours,
                self._clock,
                self._listeners,
            )
        judging = Judging(
            StoredJudging(store),
            default_suite(),
            config.judging.assembler(),
            inbox,
            JudgingMetrics(self.telemetry),
            clerk=self._llm.clerk if self._llm else None,
            ours=ours,
            pressed=lambda: writer.queue_batches > PRESSED_REQUESTS,
            spent=SpentBy(PriceTable({name: stated.price() for name, stated in config.prices.items()})),
            listeners=self._listeners,
            clock=self._clock,
        )
        webhooks = build_webhooks(store, config.webhooks, self.telemetry, self._clock)
        self._listeners.add(webhooks)
        self._stops.append(webhooks.stop)

        def busy() -> bool:
            return writer.queue_batches > PRESSED_REQUESTS or judging.lag > LAG_SECONDS

        exports = build_exports(
            store,
            config.export,
            self.telemetry,
            self._listeners,
            secret,
            pressed=busy,
            clock=self._clock,
        )
        self._stops.append(exports.stop)
        watch(self.telemetry, writer, inbox, judging)
        self._judging = judging
        if self._llm is not None:
            bench = self._llm.bench
            self._stops.append(lambda deadline: asyncio.to_thread(bench.stop, deadline))
        judging.start()
        self._stops.append(lambda deadline: asyncio.to_thread(judging.stop, deadline))
        await writer.start()
        self._stops.append(writer.stop)
        reader = StoredReader(store, config.judging.assembler(), self._clock)
        self._stops.append(keep_rates(store, reader.rates, busy, self._clock))
        self._stops.append(start_gauges(store, reader, self.judges, self.telemetry, self._listeners, self._clock))
        drop = self._llm.drop if self._llm else no_runs
        await self._start_api(reader, Deletion(store, judging, drop, self._clock))
        await webhooks.start(config.api.public_url.rstrip("/") or self._api_url())
        await self._start_receivers(writer)
        exports.start()
        if self._llm is not None:  # last: what it imports takes seconds, and nobody waits for it
            self._llm.bench.start()

    async def _start_api(self, reader: StoredReader, deletion: Deletion) -> None:
        app = create_app(
            reader,
            self.judge_again,
            judges=self.judges,
            problems=self.problems,
            metrics=self.telemetry.prometheus,
            any_host=self.config.insecure,
            clock=self._clock,
            listeners=self._listeners,
            delete=deletion.delete,
            endpoints=lambda: bound_receivers(self.config, self.grpc_port, self.http_port),
        )
        server = WebServer(app, self.config.api.endpoint, "api")
        self.api_port = await server.start()
        self._stops += [server.stop, app.state.pulse.stop]  # streams end first: the server waits for them

    async def _start_receivers(self, writer: GroupCommitWriter) -> None:
        config = self.config
        intake = Intake(
            writer,
            config.intake,
            config.limits,
            metrics=ReceiverCounts(self.telemetry),
            clock=self._clock,
            dead_letter=writer.set_aside,
        )
        self._stops.append(lambda _: asyncio.to_thread(intake.close))
        grpc = GrpcReceiver(config.grpc, intake)
        self.grpc_port = await grpc.start()
        self._stops.append(grpc.stop)
        http = HttpReceiver(config.http, intake, grpc_port=self.grpc_port)
        self.http_port = await http.start()
        self._stops.append(http.stop)

    def _api_url(self) -> str:
        host, _ = split_endpoint(self.config.api.endpoint)
        return f"http://{host}:{self.api_port}"

    def _committed(self, batch: Batch, received_at: int) -> None:
        if self._inbox is not None:
            self._inbox.put(batch, received_at)


def run_serve(config: CollectorConfig) -> None:
    """`tracejury serve`: run until SIGINT or SIGTERM, then drain.

    Raises:
        ConfigError: what the user must mend before it can start.
    """
    set_up(config.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    asyncio.run(_serve(config))


async def _serve(config: CollectorConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Collector(config) as collector:
        sys.stdout.write(ready_text(collector))
        sys.stdout.flush()
        await stop.wait()
        log.info("stopping: refusing new requests, committing those at hand")


def ready_text(collector: Collector) -> str:
    """What `serve` prints once it is ready: the bound endpoints, a line each."""
    config = collector.config
    host = {name: split_endpoint(getattr(config, name).endpoint)[0] for name in ("grpc", "http", "api")}
    return (
        f"tracejury {__version__} ready\n"
        f"  OTLP/gRPC  {host['grpc']}:{collector.grpc_port}\n"
        f"  OTLP/HTTP  http://{host['http']}:{collector.http_port}\n"
        f"  API        http://{host['api']}:{collector.api_port}\n"
        f"  store      {collector.store_shown}\n"
        f"  judges     {judges_text(collector.config.judges)}\n"
    )


def judges_text(config: LlmConfig) -> str:
    """Who judges, in one line."""
    if not config.on:
        return "detectors only; --model NAME adds LLM judges"
    where = f" at {config.api_base}" if config.api_base else ""
    return f"detectors and LLM judges ({config.criteria} criteria, {config.model}{where})"
