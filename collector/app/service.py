"""The collector process: starts downstream first, stops in reverse, drains within a deadline."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tracejury import __version__
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.auth.sign_in import SignIns
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.receiver.ports import Endpoint
from tracejury.collector.otlp.redaction.build import build_redactor
from tracejury.collector.otlp.redaction.stage import record_redaction
from tracejury.collector.store.backup import Backups
from tracejury.collector.store.health import StoreHealth
from tracejury.collector.store.install import mark_key
from tracejury.collector.store.opening import open_store
from tracejury.collector.store.rule_calibrations import RuleCalibrations
from tracejury.collector.store.server_time import ServerTime
from tracejury.collector.store.writer import dead_letter_folder
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.steady_clock import SteadyClock
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.queries.ledger import JudgesStatus

from .context import ProcessContext, Stop, on_a_thread
from .endpoints import api_url, bound_receivers, check_loopback, unencrypted
from .greeting import ready_text, shown_store
from .store_follower import StoreFollower
from .store_watch import StoreWatch
from .watch import watch_follower

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tracejury.collector.judging.llm.packs.session_closing import SessionClosing
    from tracejury.collector.judging.model.cassette import Cassette
    from tracejury.collector.otlp.kafka.consumer import KafkaReceiver
    from tracejury.collector.store.shared_store import SharedStore
    from tracejury.processors.redact.spans import Redactor
    from tracejury.schemas.verdicts import Judgement

    from .asked_workers import AskedWorkers
    from .kafka import Relaying
    from .receiving import Receiving
    from .working import Working

log = logging.getLogger(__name__)

YOUNG_OBJECTS = 10_000
"""Objects after which the garbage collector looks for cycles among them; among all after a hundred times as many. With
Python's 700 it paused every thread for up to 50 ms where many spans wait."""


class Collector:
    """The parts of the configured role over one store, in the running event loop.

    Use it as `async with Collector(config) as collector`. The ports that were bound are `grpc_port`, `http_port` and
    `api_port`; 0: the role has no such listener. Raises ConfigError for what the user must mend: a taken port, a held
    folder, a bad DSN.
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
        keys = Path(config.keys.file) if config.keys.file else None
        self.keyring = Keyring(keys, closed=bool(config.keys.proxy.header))
        check_loopback(config, has_keys=self.keyring.asks)
        self.config, self._opening, self._cassette = config, opening, cassette
        self._redactor = build_redactor(config.redaction)
        if self.keyring.asks and (names := unencrypted(config)):
            log.warning("%s without TLS: keys cross the network in clear text (docs/tls.md)", ", ".join(names))
        self.api_port = 0
        self._store_shown = ""
        self.telemetry = Telemetry(__version__)
        self._clock = clock or SteadyClock()
        self._stops: list[Stop] = []
        self._ready = False
        self._store: SharedStore | None = None
        self._health: StoreHealth | None = None
        self._receiving: Receiving | None = None
        self._working: Working | None = None
        self._follower: StoreFollower | None = None
        self._asked: AskedWorkers | None = None
        self._relaying: Relaying | None = None
        self._reading: KafkaReceiver | None = None

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
        if self._working is not None:
            self._working.detecting.dismiss()
        deadline = time.monotonic() + (seconds := self.config.shutdown_seconds)
        self._stops.insert(0, lambda _: asyncio.to_thread(self.telemetry.shutdown))
        while self._stops:
            stop = self._stops.pop()
            try:
                await stop(max(deadline - time.monotonic(), 0.1))
            except TimeoutError:
                log.warning("a part of the collector did not stop within %g s (shutdown_seconds)", seconds)
            except Exception:  # what is upstream of it must be stopped all the same, the store above all
                log.exception("a part of the collector did not stop as it should")

    def problems(self) -> Sequence[str]:
        """Why the collector is not ready, a line each; none when it is."""
        if not self._ready:
            return ("starting or stopping",)
        return tuple(filter(None, [self._store.folder_problem() if self._store else ""]))

    def losses(self) -> Sequence[str]:
        """Losses, a full disk, trouble with Kafka, unknown changes by others, a line each; what is stored is served."""
        full = self._receiving.writer.disk_problem() if self._receiving else ""
        late = self._follower.problem() if self._follower else ""
        of_kafka = (line for part in (self._relaying, self._reading) if part for line in part.problems())
        return (*(self._health.problems() if self._health else ()), *filter(None, [full, late]), *of_kafka)

    def lags(self) -> Mapping[str, int]:
        """Messages of Kafka that wait, by topic and partition."""
        return self._reading.lags() if self._reading else {}

    @property
    def grpc_port(self) -> int:
        """The port of the OTLP/gRPC receiver."""
        return receiving.grpc_port if (receiving := self._receiving or self._relaying) else 0

    @property
    def http_port(self) -> int:
        """The port of the OTLP/HTTP receiver."""
        return receiving.http_port if (receiving := self._receiving or self._relaying) else 0

    @property
    def ready_text(self) -> str:
        """The text that `serve` prints once it is ready."""
        ports = {"grpc": self.grpc_port, "http": self.http_port, "api": self.api_port}
        return ready_text(self.config, ports, self._store_shown)

    @property
    def idle(self) -> bool:
        """Whether everything committed is judged and every trace closed, as far as this moment tells."""
        return self._working is None or self._working.idle

    @property
    def sessions(self) -> SessionClosing | None:
        """See `Working.sessions`."""
        return self._working.sessions if self._working else None

    def judges(self, project: str = "") -> JudgesStatus:
        """See `Working.judges`; a process that does not judge knows the configured model alone."""
        if self._working is not None:
            return self._working.judges(project)
        judges = self.config.judges
        return JudgesStatus(judges.on, judges.model, judges.budget.caps, elsewhere=True)

    def judge_again(self, trace_ids: Sequence[str], by_hand: bool = False, tenant: str = "") -> Sequence[Judgement]:  # noqa: FBT001, FBT002  JudgeAgain
        """See `Working.judge_again`."""
        judging = self._working or self._asked
        if judging is None or not self._ready:
            raise RetryableError("the collector is not ready")
        return judging.judge_again(trace_ids, by_hand, tenant)

    async def _start(self) -> None:
        config, role = self.config, self.config.role
        redactor = self._redactor
        if config.relays:
            await self._start_relaying(redactor)
            return
        opening = self._opened()
        # Imported meanwhile: neither needs the other.
        if role.receives:
            from . import receiving  # noqa: F401
        if role.works:
            from . import working  # noqa: F401
        if role.shows:
            from . import readers, web_app  # noqa: F401
        from . import api_server  # noqa: F401

        store = await opening
        self._stops.append(lambda _: asyncio.to_thread(store.close))
        self._store, self._health, self._store_shown = store, StoreHealth(store), shown_store(store)
        server_time: ServerTime | None = None
        if not store.embedded:
            store.role = role.value
            server_time = await asyncio.to_thread(ServerTime, store, self._clock)
            self._clock = SteadyClock(server_time)
        store_watch = StoreWatch(self._health)
        await store_watch.start()
        self._stops.append(store_watch.stop)
        context = ProcessContext(
            config,
            store,
            self._health,
            self.telemetry,
            self.keyring,
            await asyncio.to_thread(mark_key, store),
            dead_letter_folder(store, config.writer),
            self._clock,
            Listeners(),
            self._stops,
        )
        calibrations = RuleCalibrations(store, self._clock)
        if role.works or role.shows:
            await asyncio.to_thread(calibrations.load)
        if role.works:
            from .working import Working, build_llm

            llm = await asyncio.to_thread(build_llm, context, self._cassette) if config.judges.judging else None
            self._working = Working(context, calibrations, redactor, llm, self._pressed)
        if role.receives or (role.works and config.kafka):
            from .receiving import Receiving

            self._receiving = Receiving(context, redactor, self._working.inbox if self._working else None)
        await self._start_parts(context, calibrations)
        if server_time is not None:
            self._follow_others(context, server_time, calibrations)

    def _follow_others(self, context: ProcessContext, server_time: ServerTime, calibrations: RuleCalibrations) -> None:
        """Follow what other processes on the server store."""
        role = context.config.role
        reads = role.works or role.shows
        self._follower = follower = StoreFollower(
            context.store,
            context.listeners,
            server_time,
            self._clock,
            reads=reads,
            judging=(self._working.detecting, self._working.takeover) if self._working else None,
            refresh=calibrations.load if reads else lambda: None,
        )
        watch_follower(context.telemetry, follower)
        follower.worker.start()
        context.stops.append(on_a_thread(follower.worker.stop))

    async def _start_parts(self, context: ProcessContext, calibrations: RuleCalibrations) -> None:
        """Judging before the commits that it hears of, both before what comes in from outside."""
        working, receiving = self._working, self._receiving
        if working is not None:
            working.start_judging()
        if receiving is not None:
            await receiving.start_writer()
            if working is None:
                receiving.start_upkeep()
        if working is not None:
            working.start_background()
        backups = Backups(context.store, self.config.writer.min_free_bytes, self._clock)
        self.api_port = await self._serve(context, calibrations, backups)
        if receiving is not None and self.config.role.receives:
            await receiving.listen()
        if receiving is not None and working is not None and self.config.kafka is not None:
            from .kafka import start_reading

            self._reading = await start_reading(context, receiving, working)
        if working is not None:
            await working.start_sending(api_url(self.config, self.api_port))
        self._stops.append(backups.stop)  # this comes first: the API waits for its requests
        if working is not None:
            working.start_asking()

    async def _start_relaying(self, redactor: Redactor | None) -> None:
        """What a receiver before Kafka has: no store."""
        from .api_server import serve_api
        from .kafka import Relaying

        self._relaying = Relaying(self.config, self.telemetry, self.keyring, redactor, self._clock)
        sign_ins = SignIns(secrets.token_bytes(32))
        self.api_port = await serve_api(self.config, self.keyring, self._watching_app, sign_ins, self._stops)
        await self._relaying.listen(self._stops)

    async def _serve(self, context: ProcessContext, calibrations: RuleCalibrations, backups: Backups) -> int:
        """Serve the API with its pages, else the endpoints that watch the process; returns the port."""
        from .api_server import serve_api

        sign_ins = SignIns(context.secret)
        make = self._pages(context, calibrations, backups, sign_ins) if self.config.role.shows else self._watching_app
        return await serve_api(self.config, self.keyring, make, sign_ins, context.stops)

    def _watching_app(self, tenant: str) -> FastAPI:
        from tracejury.collector.api.watching import create_watching_app

        metrics = partial(self.telemetry.prometheus, tenant)
        return create_watching_app(
            self.problems,
            self.losses,
            metrics,
            self.keyring,
            receivers=self._receivers,
            any_host=self._any_host,
            lags=self.lags,
        )

    def _pages(
        self, context: ProcessContext, calibrations: RuleCalibrations, backups: Backups, sign_ins: SignIns
    ) -> Callable[[str], FastAPI]:
        from tracejury.collector.api.security import Tokens
        from tracejury.collector.api.services import Services, admit_all

        from .readers import Readers
        from .web_app import create_web_app

        readers, tokens = Readers(context, calibrations), Tokens(blake2b(b"forms", key=context.secret).digest())
        judging: Working | AskedWorkers | None = self._working
        if judging is None:
            from .asked_workers import AskedWorkers

            judging = self._asked = AskedWorkers(context.store, self.telemetry)

        def make(tenant: str) -> FastAPI:
            services = Services(
                readers.of(tenant),
                partial(self.judge_again, tenant=tenant),
                self.problems,
                partial(self.telemetry.prometheus, tenant),
                judges=partial(self.judges, tenant),
                any_host=self._any_host,
                clock=self._clock,
                delete=partial(judging.delete, tenant=tenant),
                backup=None if tenant else backups.make,
                tokens=tokens,
                listeners=context.listeners,
                endpoints=self._receivers,
                losses=self.losses,
                admit=partial(self._receiving.admit, tenant) if self._receiving else admit_all,
                lags=self.lags,
                settings=self.config.detectors.settings(),
                close_session=partial(judging.close_session, tenant=tenant),
                keyring=self.keyring,
                redact=record_redaction(self._redactor),
                sign_ins=sign_ins,
            )
            return create_web_app(services)

        return make

    @property
    def _any_host(self) -> bool:
        return self.config.insecure or self.keyring.asks

    def _receivers(self) -> Sequence[Endpoint]:
        return bound_receivers(self.config, self.grpc_port, self.http_port)

    def _pressed(self) -> bool:
        """Whether clients wait for what this process receives."""
        return self._receiving is not None and self._receiving.intake.pressed()

    def _opened(self) -> Awaitable[SharedStore]:
        if self._opening is not None:
            return asyncio.wrap_future(self._opening)
        return asyncio.get_running_loop().run_in_executor(None, open_store, self.config.store)


async def serve(config: CollectorConfig, opening: Future[SharedStore] | None) -> None:
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
