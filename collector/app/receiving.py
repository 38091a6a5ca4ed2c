"""Receivers and group commit: from OTLP to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.config import CollectorConfig
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
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker
from tracejury.schemas.batch import Sink

from .context import ProcessContext, Stop, on_a_thread
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
        sink = ReturnedSpans(writer, installation_id(context.secret))
        self.intake = intake = build_intake(
            config, context.telemetry, context.keyring, sink, redactor, context.clock, dead_letter=writer.set_aside
        )
        watch_writer(context.telemetry, writer)

    def admit(self, tenant: str, size: int) -> None:
        """Count bytes that a project sends beside spans and log records; any thread. Raises RetryableError: no room."""
        self.writer.check_disk()
        self.intake.admit(tenant, size)

    async def start_writer(self) -> None:
        """Begin to commit."""
        await self.writer.start()
        self._context.stops.extend([self.writer.stop, lambda _: asyncio.to_thread(self.intake.close)])

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
        context = self._context
        self.grpc_port, self.http_port = await listen(context.config, self.intake, context.stops)


def build_intake(
    config: CollectorConfig,
    telemetry: Telemetry,
    keyring: Keyring,
    sink: Sink,
    redactor: Redactor | None,
    clock: Callable[[], int],
    **more: Any,
) -> Intake:
    """An intake in front of `sink`, with its metrics; `more`: see `Intake`."""
    redaction = RedactionStage(redactor) if redactor else None
    if redaction:
        redaction.watch(telemetry)
    metrics = ReceiverMetrics()
    metrics.watch(telemetry)
    return Intake(
        sink,
        config.intake,
        config.limits,
        metrics=metrics,
        clock=clock,
        keyring=keyring,
        redaction=redaction,
        **more,
    )


async def listen(config: CollectorConfig, intake: Intake, stops: list[Stop]) -> tuple[int, int]:
    """Begin to receive; returns the ports of gRPC and HTTP. Raises ConfigError: a taken port."""
    grpc = GrpcReceiver(config.grpc, intake)
    grpc_port = await grpc.start()
    stops.append(grpc.stop)
    http = HttpReceiver(config.http, intake, any_host=config.insecure, grpc_port=grpc_port)
    http_port = await http.start()
    stops.append(http.stop)
    return grpc_port, http_port
