"""Receivers and group commit: from OTLP to the store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tracejury.collector.otlp.receiver.grpc_server import GrpcReceiver
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.otlp.receiver.metrics import ReceiverMetrics
from tracejury.collector.otlp.redaction.stage import RedactionStage
from tracejury.collector.outbound.otlp.marks import installation_id
from tracejury.collector.outbound.otlp.returned_spans import ReturnedSpans
from tracejury.collector.store.committer import Hearer
from tracejury.collector.store.lists.pending import pending_worker
from tracejury.collector.store.retention import DAY, Retention, expire_dead_letters
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker

from .context import ProcessContext, on_a_thread
from .watch import watch_writer

if TYPE_CHECKING:
    from tracejury.processors.redact.spans import Redactor


class Receiving:
    """Made in the running event loop. `grpc_port` and `http_port`: once it listens.

    `hearer` hears of each commit, where this process judges what it received.
    """

    def __init__(self, context: ProcessContext, redactor: Redactor | None, hearer: Hearer | None = None) -> None:
        self.grpc_port = self.http_port = 0
        self._context = context
        config = context.config
        self.writer = writer = GroupCommitWriter(
            context.store,
            config.writer,
            hearer,
            dead_letters=context.dead_letters,
            in_flight=lambda: intake.inflight.requests,
            clock=context.clock,
        )
        redaction = RedactionStage(redactor) if redactor else None
        if redaction:
            redaction.watch(context.telemetry)
        metrics = ReceiverMetrics()
        metrics.watch(context.telemetry)
        self.intake = intake = Intake(
            ReturnedSpans(writer, installation_id(context.secret)),
            config.intake,
            config.limits,
            metrics=metrics,
            clock=context.clock,
            dead_letter=writer.set_aside,
            keyring=context.keyring,
            redaction=redaction,
        )
        watch_writer(context.telemetry, writer)

    async def start_writer(self) -> None:
        """Begin to commit."""
        await self.writer.start()
        self._context.stops.append(self.writer.stop)

    def start_upkeep(self) -> None:
        """Where nobody judges in this process: list what was received, and drop dead letters that are kept no longer.

        A trace that no worker ever judges is to be seen all the same.
        """
        context = self._context
        retention = Retention(context.store.config)

        def expire() -> None:
            expire_dead_letters(context.dead_letters, retention, context.clock())

        outage = OutageLog("the retention of dead letters", "fails", "works again", context.clock)
        letters = Worker("dead letters", Task(expire), outage, every=DAY, clock=context.clock)
        for worker in (pending_worker(context.store, context.clock), letters):
            worker.start()
            context.stops.append(on_a_thread(worker.stop))

    async def listen(self) -> None:
        """Begin to receive. Raises ConfigError: a taken port."""
        config, stops = self._context.config, self._context.stops
        stops.append(lambda _: asyncio.to_thread(self.intake.close))
        grpc = GrpcReceiver(config.grpc, self.intake)
        self.grpc_port = await grpc.start()
        stops.append(grpc.stop)
        http = HttpReceiver(config.http, self.intake, any_host=config.insecure, grpc_port=self.grpc_port)
        self.http_port = await http.start()
        stops.append(http.stop)
