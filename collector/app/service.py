"""The collector process: starts downstream first, stops in reverse, drains within a deadline."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tracejury import __version__
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.config import CollectorConfig
from tracejury.collector.judging.detect.inbox import Inbox
from tracejury.collector.judging.detect.metrics import JudgingMetrics
from tracejury.collector.judging.detect.worker import DetectWorker
from tracejury.collector.judging.prices import SpentBy
from tracejury.collector.judging.prices.table import PriceTable
from tracejury.collector.otlp.mark import is_ours
from tracejury.collector.otlp.receiver.grpc_server import GrpcReceiver
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.otlp.receiver.metrics import ReceiverMetrics
from tracejury.collector.otlp.redaction.build import build_redactor
from tracejury.collector.otlp.redaction.stage import RedactionStage
from tracejury.collector.outbound.otlp.marks import installation_id
from tracejury.collector.outbound.otlp.returned_spans import ReturnedSpans
from tracejury.collector.store.backup import Backups
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.health import StoreHealth
from tracejury.collector.store.install import mark_key
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.opening import open_store
from tracejury.collector.store.retention_sweep import RetentionSweep
from tracejury.collector.store.rule_calibrations import RuleCalibrations
from tracejury.collector.store.usual_runs import StoredUsualRuns
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.collector.worker.steady_clock import SteadyClock
from tracejury.judges.registry import default_suite
from tracejury.judges.runaways import UsualRuns
from tracejury.schemas.batch import Sink
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import Judgement

from .endpoints import bound_receivers, check_loopback, unencrypted
from .greeting import ready_text, shown_store
from .store_watch import StoreWatch
from .watch import watch

if TYPE_CHECKING:
    from tracejury.collector.judging.llm.build import LlmJudging
    from tracejury.collector.judging.llm.packs.session_closing import SessionClosing
    from tracejury.collector.judging.model.cassette import Cassette
    from tracejury.collector.store.shared_store import SharedStore
    from tracejury.processors.redact.spans import Redactor

log = logging.getLogger(__name__)

JUDGE_AGAIN_SECONDS = 600.0
YOUNG_OBJECTS = 10_000
"""Objects after which the garbage collector looks for cycles among them; among all after a hundred times as many. With
Python's 700 it paused every thread for up to 50 ms where many spans wait."""
LAG_SECONDS = 0.2
"""How late detectors may be before passing on steps back."""

Stop = Callable[[float], Awaitable[object]]


class Collector:
    """Receivers, group commit, judging and API over one store, in the running event loop.

    Use it as `async with Collector(config) as collector`. The ports that were bound are `grpc_port`, `http_port` and
    `api_port`. Raises ConfigError for what the user must mend: a taken port, a held folder, a bad DSN.
    """

    def __init__(
        self,
        config: CollectorConfig,
        *,
        clock: Callable[[], int] | None = None,
        opening: Future[SharedStore] | None = None,
        cassette: Cassette | None = None,
    ) -> None:
        """`clock`: unix nanos, else a `SteadyClock`. `opening`: gives the store. `cassette`: as `open_model` has it."""
        self.keyring = Keyring(
            Path(config.keys.file) if config.keys.file else None, closed=bool(config.keys.proxy.header)
        )
        check_loopback(config, has_keys=self.keyring.asks)
        self.config, self._opening, self._cassette = config, opening, cassette
        if self.keyring.asks and (names := unencrypted(config)):
            log.warning("%s without TLS: keys cross the network in clear text (docs/tls.md)", ", ".join(names))
        self.grpc_port = self.http_port = self.api_port = 0
        self._store_shown = ""
        self.telemetry = Telemetry(__version__)
        self._clock = clock or SteadyClock()
        self._judging: DetectWorker | None = None
        self._llm: LlmJudging | None = None
        self._listeners = Listeners()
        self._stops: list[Stop] = []
        self._ready = False
        self._store: SharedStore | None = None
        self._health: StoreHealth | None = None
        self._writer: GroupCommitWriter | None = None

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
            except TimeoutError:
                log.warning(
                    "a part of the collector did not stop within %g s (shutdown_seconds)", self.config.shutdown_seconds
                )
            except Exception:  # what is upstream of it must be stopped all the same, the store above all
                log.exception("a part of the collector did not stop as it should")

    def problems(self) -> Sequence[str]:
        """Why the collector is not ready, a line each; none when it is."""
        if not self._ready or self._store is None:
            return ("starting or stopping",)
        return tuple(filter(None, [self._store.folder_problem()]))

    def losses(self) -> Sequence[str]:
        """Losses of the store, and a disk without room for more, a line each: what is stored is served all the same."""
        full = self._writer.disk_problem() if self._writer else ""
        return (*(self._health.problems() if self._health else ()), *filter(None, [full]))

    @property
    def ready_text(self) -> str:
        """The text that `serve` prints once it is ready."""
        ports = {"grpc": self.grpc_port, "http": self.http_port, "api": self.api_port}
        return ready_text(self.config, ports, self._store_shown)

    @property
    def idle(self) -> bool:
        """Whether everything committed is judged and every trace closed, as far as this moment tells."""
        return (self._judging is None or self._judging.idle) and (self._llm is None or self._llm.worker.idle)

    @property
    def sessions(self) -> SessionClosing | None:
        """The sessions that packs judge and that are open yet; None without packs."""
        return self._llm.packs.closing if self._llm and self._llm.packs else None

    def judges(self, project: str = "") -> JudgesStatus:
        """The present state of LLM judges, for a project: no word of another one's caps."""
        return self._llm.status(project) if self._llm is not None else JudgesStatus()

    def judge_again(self, trace_ids: Sequence[str], by_hand: bool = False, tenant: str = "") -> Sequence[Judgement]:  # noqa: FBT001, FBT002  JudgeAgain
        """Judge stored traces of a project again; blocks until the detectors are done, so call it on a thread.

        Of these traces LLM judges catch up with what they left; `by_hand` has all of their runs judged, sample or not.

        Raises:
            RetryableError: it takes too long, or the collector is stopping.
        """
        if self._judging is None or not self._ready:
            raise RetryableError("the collector is not ready")
        if self._llm is not None:
            self._llm.request([(tenant, i) for i in trace_ids], by_hand=by_hand)
        try:
            return self._judging.ask([(tenant, i) for i in trace_ids]).result(JUDGE_AGAIN_SECONDS)
        except TimeoutError:
            raise RetryableError("judging takes longer than expected; it goes on") from None

    async def _start(self) -> None:
        config = self.config
        redactor = build_redactor(config.redaction)
        opening = self._opened()
        from tracejury.collector.api.security import Tokens  # meanwhile: neither needs the other
        from tracejury.collector.api.services import Services, no_sessions
        from tracejury.collector.auth.sign_in import SignIns

        from .output_services import OutputServices

        store = await opening
        self._stops.append(lambda _: asyncio.to_thread(store.close))
        self._store, self._health, self._store_shown = store, StoreHealth(store), shown_store(store)
        store_watch = StoreWatch(self._health)
        await store_watch.start()
        self._stops.append(store_watch.stop)
        inbox = Inbox(config.judging.max_inbox_bytes, self._spill_files(store))
        writer = self._writer = GroupCommitWriter(
            store, config.writer, inbox, in_flight=lambda: intake.inflight.requests, clock=self._clock
        )
        secret = await asyncio.to_thread(mark_key, store)
        ours = partial(is_ours, secret=secret)
        if config.judges.judging:
            self._llm = await asyncio.to_thread(self._build_llm, store, ours)
        calibrations = RuleCalibrations(store, self._clock)
        await asyncio.to_thread(calibrations.load)
        intake = self._build_intake(writer, ReturnedSpans(writer, installation_id(secret)), redactor)
        judging = self._judging = self._build_judging(store, inbox, ours, calibrations, intake.pressed)
        watch(self.telemetry, writer, inbox, judging)

        def busy() -> bool:
            return intake.pressed() or judging.lag > LAG_SECONDS

        outputs = OutputServices(
            store,
            config,
            self.telemetry,
            self._listeners,
            secret,
            calibrations=calibrations,
            busy=busy,
            clock=self._clock,
        )
        self._stops += outputs.stops
        if self._llm is not None:
            llm_worker = self._llm.worker
            self._stops.append(lambda deadline: asyncio.to_thread(llm_worker.stop, deadline))
        judging.start()
        self._stops.append(lambda deadline: asyncio.to_thread(judging.stop, deadline))
        await writer.start()
        self._stops.append(writer.stop)
        self._stops += outputs.start_background(self.judges, judging.ask, lambda: self.keyring.projects)
        drops = (outputs.stop_sending, self._llm.drop) if self._llm else (outputs.stop_sending,)
        close_session = self._llm.close_session if self._llm else no_sessions
        tokens, sign_ins, deleted = Tokens(), SignIns(secret), self._health.record
        backups, names = Backups(store, config.writer.min_free_bytes, self._clock), self._stored_names(redactor)

        def deletion_of(tenant: str) -> Deletion:
            return Deletion(
                store,
                judging,
                drops,
                self._clock,
                deleted,
                close_session,
                tenant,
                dead_letters=writer.dead_letters,
                stored_names=names,
            )

        def services_of(tenant: str) -> Services:
            return Services(
                outputs.reader_of(tenant),
                partial(self.judge_again, tenant=tenant),
                self.problems,
                partial(self.telemetry.prometheus, tenant),
                judges=partial(self.judges, tenant),
                any_host=config.insecure or self.keyring.asks,
                clock=self._clock,
                delete=deletion_of(tenant).delete,
                backup=None if tenant else backups.make,
                tokens=tokens,
                listeners=self._listeners,
                endpoints=lambda: bound_receivers(self.config, self.grpc_port, self.http_port),
                losses=self.losses,
                settings=config.detectors.settings(),
                close_session=partial(close_session, tenant=tenant),
                keyring=self.keyring,
                sign_ins=sign_ins,
            )

        self._stops += await outputs.serve(services_of, self.keyring, sign_ins)
        self.api_port = outputs.api_port
        await self._start_receivers(intake)
        await outputs.start_sending()
        retention = RetentionSweep(store, deletion_of, writer.dead_letters, self._clock).worker
        retention.start()
        # That of backups comes first: the API waits for its requests.
        self._stops += [lambda deadline: asyncio.to_thread(retention.stop, deadline), backups.stop]
        if self._llm is not None:  # last: what it imports takes seconds, and nobody waits for it
            self._llm.worker.start()

    def _opened(self) -> Awaitable[SharedStore]:
        if self._opening is not None:
            return asyncio.wrap_future(self._opening)
        return asyncio.get_running_loop().run_in_executor(None, open_store, self.config.store)

    def _build_llm(self, store: SharedStore, ours: Callable[[Span], bool]) -> LlmJudging:
        from tracejury.collector.judging.llm.build import build_llm_judging

        judges, assembler = self.config.judges, self.config.judging.assembler()
        return build_llm_judging(
            store, judges, assembler, self.telemetry, ours, self._clock, self._listeners, self._cassette
        )

    def _build_judging(
        self,
        store: SharedStore,
        inbox: Inbox,
        ours: Callable[[Span], bool],
        calibrations: RuleCalibrations,
        pressed: Callable[[], bool],
    ) -> DetectWorker:
        config = self.config
        spent = SpentBy(PriceTable({name: stated.price() for name, stated in config.prices.items()}))
        runaway = config.detectors.runaway
        base = UsualRuns(fixed=runaway.bounds(), price=spent.price_of_span)
        return DetectWorker(
            StoredJudging(store),
            default_suite(config.detectors.settings(), calibrations.confidences),
            config.judging.assembler(),
            inbox,
            JudgingMetrics(self.telemetry),
            selectors=self._llm.selectors if self._llm else (),
            ours=ours,
            pressed=pressed,
            spent=spent,
            usual=StoredUsualRuns(store, base, runaway.factor, runaway.least_runs),
            listeners=self._listeners,
            clock=self._clock,
            files=self._spill_files(store),
        )

    def _spill_files(self, store: SharedStore) -> SpillFiles:
        config = self.config
        return SpillFiles(
            store.data_folder,
            min_free_bytes=config.writer.min_free_bytes,
            most_bytes=config.judging.max_file_bytes,
        )

    def _build_intake(self, writer: GroupCommitWriter, sink: Sink, redactor: Redactor | None) -> Intake:
        config = self.config
        redaction = RedactionStage(redactor) if redactor else None
        if redaction:
            redaction.watch(self.telemetry)
        metrics = ReceiverMetrics()
        metrics.watch(self.telemetry)
        return Intake(
            sink,
            config.intake,
            config.limits,
            metrics=metrics,
            clock=self._clock,
            dead_letter=writer.set_aside,
            keyring=self.keyring,
            redaction=redaction,
        )

    async def _start_receivers(self, intake: Intake) -> None:
        config = self.config
        self._stops.append(lambda _: asyncio.to_thread(intake.close))
        grpc = GrpcReceiver(config.grpc, intake)
        self.grpc_port = await grpc.start()
        self._stops.append(grpc.stop)
        http = HttpReceiver(config.http, intake, any_host=config.insecure, grpc_port=self.grpc_port)
        self.http_port = await http.start()
        self._stops.append(http.stop)

    def _stored_names(self, redactor: Redactor | None) -> Callable[[str], Sequence[str]]:
        if redactor is None:
            return lambda user: (user,)
        from tracejury.processors.redact.stored_names import stored_names

        return partial(stored_names, redactor, self.config.store.user_attributes)


async def serve(config: CollectorConfig, opening: Future[SharedStore]) -> None:
    """Run until SIGINT or SIGTERM, then drain. `opening`: as of `Collector`. Raises ConfigError."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Collector(config, opening=opening) as collector:
        gc.freeze()  # what the start has made stays; looking through it meanwhile, again and again, is a tenth of it
        gc.set_threshold(YOUNG_OBJECTS, 10, 10)
        gc.enable()
        sys.stdout.write(collector.ready_text)
        sys.stdout.flush()
        await stop.wait()
        log.info("stopping: refusing new requests, committing those at hand")
