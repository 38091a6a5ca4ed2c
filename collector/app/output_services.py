"""Outputs of the collector over a store: webhooks, forwarding, search texts, rates and gauges, the API with its pages.

Nothing of it is needed to open a store, and its imports take about as long: `service.py` does both at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import cache, partial

from fastapi import FastAPI

from tracejury.collector.api.access import Access
from tracejury.collector.api.services import Services
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.auth.sign_in import SignIns
from tracejury.collector.config import CollectorConfig
from tracejury.collector.judging.detect.texts import TextWriter
from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.otlp.mark import is_ours
from tracejury.collector.otlp.receiver.ports import url_of
from tracejury.collector.otlp.receiver.tls import ListenerTls
from tracejury.collector.otlp.receiver.web_server import WebServer
from tracejury.collector.outbound.otlp.build import build_exports
from tracejury.collector.outbound.webhooks.build import build_webhooks
from tracejury.collector.queries.measured_packs import installed_packs
from tracejury.collector.queries.measures import StoredMeasures
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.gauges.build import Gauges
from tracejury.collector.rates.label_calibration import LabelCalibration
from tracejury.collector.rates.rule_calibrating import Ask, RuleCalibrating
from tracejury.collector.rates.upkeep import ErrorUpkeep
from tracejury.collector.store.lists.pending import pending_worker
from tracejury.collector.store.rule_calibrations import RuleCalibrations, TenantCalibrations
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.texts import StoredTexts
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners
from tracejury.judges.packs.cards.task_cards import load_cards
from tracejury.judges.registry import priors
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.queries.ledger import JudgesStatus

from .web_app import create_web_app

Stop = Callable[[float], Awaitable[object]]


class ProjectApps:
    """Makes the application of a project when it is first asked for. For one event loop.

    An application has one project's data from its making on, so no endpoint can leave the project out. It takes about
    a megabyte and a tenth of a second; their number is that of the projects in the keys.
    """

    def __init__(self, make: Callable[[str], FastAPI]) -> None:
        """`make` gives the application of a project; it is called on a thread."""
        self._make, self._apps, self._making = make, dict[str, FastAPI](), asyncio.Lock()

    async def of(self, project: str) -> FastAPI:
        """The application of a project."""
        async with self._making:
            if project not in self._apps:
                self._apps[project] = await asyncio.to_thread(self._make, project)
            return self._apps[project]

    async def stop_streams(self, deadline: float) -> None:
        """End the streams of all live pages: a server that stops waits for them."""
        for app in self._apps.values():
            await app.state.change_feed.stop(deadline)


class OutputServices:
    """Made in the running event loop: from then on they hear what is judged. `api_port`: once the API is served.

    `secret`: the installation's; `calibrations`: those that judging uses; `busy`: clients wait for the store, or
    judging lags. Making it raises ConfigError: an environment variable or a file that the configuration names is not
    there.
    """

    def __init__(
        self,
        store: SharedStore,
        config: CollectorConfig,
        telemetry: Telemetry,
        listeners: Listeners,
        secret: bytes,
        *,
        calibrations: RuleCalibrations,
        busy: Callable[[], bool],
        clock: Callable[[], int],
    ) -> None:
        self.api_port = 0
        self._tls = ListenerTls(config.api.tls, "api.tls") if config.api.tls else None
        self._calibrations = calibrations
        self._store, self._config, self._telemetry, self._listeners = store, config, telemetry, listeners
        self._busy, self._clock = busy, clock
        self._cards = cache(partial(load_cards, config.judges.tasks))
        self._webhooks = build_webhooks(store, config.webhooks, telemetry, clock)
        listeners.add(self._webhooks)
        self._exports = build_exports(store, config.export, telemetry, listeners, secret, pressed=busy, clock=clock)
        ours = partial(is_ours, secret=secret)
        self._texts = texts = TextWriter(StoredTexts(store, config.judging.assembler(), ours, clock), clock=clock)
        listeners.add(texts)
        telemetry.gauge(
            "tracejury_texts_waiting", "Traces whose text for search waits to be stored", lambda: len(texts)
        )
        telemetry.counter("tracejury_texts_lost", "Traces whose text for search cannot be stored", lambda: texts.lost)

    def reader_of(self, tenant: str) -> StoredReader:
        """A reader of one tenant's data, with caches of its own."""
        store, clock, config = self._store, self._clock, self._config
        labels = StoredLabels(store, tenant)
        calibrate = LabelCalibration(store, labels)
        return StoredReader(
            store,
            config.judging.assembler(),
            labels,
            StoredRates(store, calibrate=calibrate, tenant=tenant),
            TenantCalibrations(store, self._calibrations, tenant),
            StoredMeasures(store, installed_packs, config.judges.task_key, tenant, self._cards),
            clock,
            tenant,
        )

    @property
    def stops(self) -> list[Stop]:
        """Stop functions, the last first, for when nothing is judged any more."""
        texts = self._texts
        return [self._webhooks.stop, self._exports.stop, _stop(texts.stop)]

    def start_background(
        self, judges: Callable[[], JudgesStatus], ask: Ask, projects: Callable[[], Iterable[str]]
    ) -> list[Stop]:
        """Begin to keep texts, rates and gauges; returns what ends the last two.

        `ask`: have traces judged again; `projects`: those that have series of their own.
        """
        clock = self._clock
        self._texts.start()
        calibrating = RuleCalibrating(
            self._store,
            partial(StoredLabels, self._store),
            self._calibrations,
            priors(),
            ask,
            clock,
            self._config.detectors.settings(),
        )
        upkeep = ErrorUpkeep(self._store, calibrating, pressed=self._busy, clock=clock)
        gauges = Gauges(self._store, self.reader_of, judges, self._telemetry, clock, projects)
        self._listeners.add(gauges.findings)
        workers = upkeep.worker, pending_worker(self._store, clock)
        for worker in workers:
            worker.start()
        gauges.start()
        return [*(_stop(worker.stop) for worker in workers), gauges.stop]

    async def serve(self, services_of: Callable[[str], Services], keyring: Keyring, sign_ins: SignIns) -> list[Stop]:
        """Serve the API and the pages of all projects; returns what ends that. Raises ConfigError: a taken port."""
        apps = ProjectApps(lambda project: create_web_app(services_of(project)))
        await apps.of("")
        access = Access(keyring, sign_ins, apps.of, self._config.keys.proxy)
        server = WebServer(access, self._config.api.endpoint, "api", self._config.api, tls=self._tls)
        self.api_port = await server.start()
        return [server.stop, apps.stop_streams]  # streams end first: the server waits for them

    def stop_sending(self, keys: Collection[TraceKey]) -> None:
        """Send nothing more of traces that are being deleted. Callable from any thread; returns at once."""
        self._webhooks.drop(keys)

    async def start_sending(self) -> None:
        """Start webhooks and forwarding, with what an earlier process left; the API is served by now."""
        api = self._config.api
        url = api.public_url.rstrip("/") or url_of(api.endpoint, self.api_port, secure=api.tls is not None)
        await self._webhooks.start(url)
        self._exports.start()


def _stop(stop: Callable[[float], object]) -> Stop:
    return lambda deadline: asyncio.to_thread(stop, deadline)
