"""What follows from judging: webhooks, alerts, forwarding, search texts, rates and gauges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from tracejury.collector.alerting.alerting import build_alerting
from tracejury.collector.alerting.config import AlertsConfig
from tracejury.collector.judging.detect.texts import TextWriter
from tracejury.collector.judging.detect.worker import SWEEP_AMONG_OTHERS
from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.otlp.mark import is_ours
from tracejury.collector.outbound.otlp.build import build_exports
from tracejury.collector.outbound.webhooks.build import build_webhooks
from tracejury.collector.rates.gauges.build import Gauges
from tracejury.collector.rates.rule_calibrating import Ask, RuleCalibrating
from tracejury.collector.rates.upkeep import ErrorUpkeep
from tracejury.collector.store.lists.pending import pending_worker
from tracejury.collector.store.texts import StoredTexts
from tracejury.judges.registry import priors
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.queries.ledger import JudgesStatus

from .context import ProcessContext, on_a_thread
from .readers import Readers


class BackgroundServices:
    """Made in the running event loop, before judging starts: from then on they hear what is judged.

    `busy`: clients wait for the store, or judging lags; `judges`: the state of LLM judges, of a project. Making it
    raises ConfigError: an environment variable or a file that the configuration names is not there.
    """

    def __init__(
        self,
        context: ProcessContext,
        readers: Readers,
        busy: Callable[[], bool],
        judges: Callable[[str], JudgesStatus],
    ) -> None:
        self._context, self._readers, self._busy = context, readers, busy
        store, config, telemetry, clock = context.store, context.config, context.telemetry, context.clock
        self._webhooks = build_webhooks(store, config.webhooks, telemetry, clock)
        context.listeners.add(self._webhooks)
        context.listeners.add_for_others(self._webhooks.judged_by_others)
        self._exports = build_exports(
            store, config.export, telemetry, context.listeners, context.secret, pressed=busy, clock=clock
        )
        # Of several workers one looks, so that others tell nothing twice.
        alerts = config.alerts if config.judging.share.index == 0 else AlertsConfig()
        self._alerting = build_alerting(alerts, config.channels, readers.of, judges, telemetry, clock)
        ours = partial(is_ours, secret=context.secret)
        self._texts = texts = TextWriter(
            StoredTexts(store, config.judging.assembler(), ours, clock),
            sweeps_every=None if store.embedded else SWEEP_AMONG_OTHERS,
            clock=clock,
        )
        context.listeners.add(texts)
        telemetry.gauge(
            "tracejury_texts_waiting", "Traces whose text for search waits to be stored", lambda: len(texts)
        )
        telemetry.counter("tracejury_texts_lost", "Traces whose text for search cannot be stored", lambda: texts.lost)
        # They end once nothing is judged any more.
        context.stops.extend([self._webhooks.stop, self._exports.stop, self._alerting.stop, on_a_thread(texts.stop)])

    def start(self, judges: Callable[[], JudgesStatus], ask: Ask, projects: Callable[[], Iterable[str]]) -> None:
        """Begin to keep texts, rates and gauges.

        `ask`: have traces judged again; `projects`: those that have series of their own.
        """
        store, config, clock = self._context.store, self._context.config, self._context.clock
        self._texts.start()
        calibrating = RuleCalibrating(
            store,
            partial(StoredLabels, store),
            self._readers.calibrations,
            priors(),
            ask,
            clock,
            config.detectors.settings(),
        )
        upkeep = ErrorUpkeep(store, calibrating, pressed=self._busy, clock=clock)
        gauges = Gauges(store, self._readers.of, judges, self._context.telemetry, clock, projects)
        self._context.listeners.add(gauges.findings)
        workers = upkeep.worker, pending_worker(store, clock)
        for worker in workers:
            worker.start()
        gauges.start()
        self._context.stops.extend([*(on_a_thread(worker.stop) for worker in workers), gauges.stop])

    def stop_sending(self, keys: Collection[TraceKey]) -> None:
        """Send nothing more of traces that are being deleted. Callable from any thread; returns at once."""
        self._webhooks.drop(keys)

    async def start_sending(self, url: str) -> None:
        """Start webhooks, alerts and forwarding, with what an earlier process left. `url`: of API and pages."""
        await self._webhooks.start(url)
        await self._alerting.start(url)
        self._exports.start()
