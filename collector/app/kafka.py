"""The parts of a process with Kafka: a receiver that writes to it and has no store; a worker that reads from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.kafka.client import options_of
from tracejury.collector.otlp.kafka.config import KafkaConfig
from tracejury.collector.otlp.kafka.consumer import KafkaReceiver
from tracejury.collector.otlp.kafka.metrics import watch_receiver, watch_sender
from tracejury.collector.otlp.kafka.projects import MessageProjects
from tracejury.collector.otlp.kafka.sender import Sender
from tracejury.collector.otlp.kafka.sink import LEFT_OUT, KafkaSink
from tracejury.collector.telemetry import Telemetry

from .context import ProcessContext, Stop
from .receiving import Receiving, build_intake, listen

if TYPE_CHECKING:
    from tracejury.processors.redact.spans import Redactor

    from .working import Working


class Relaying:
    """A receiver that writes to Kafka. Made in the running event loop; raises ConfigError.

    `grpc_port` and `http_port`: once it listens.
    """

    def __init__(
        self,
        config: CollectorConfig,
        telemetry: Telemetry,
        keyring: Keyring,
        redactor: Redactor | None,
        clock: Callable[[], int],
    ) -> None:
        self.grpc_port = self.http_port = 0
        kafka = _section(config)
        self._config, most = config, kafka.max_message_bytes
        self._sender = Sender(options_of(kafka), seconds=kafka.delivery_seconds, most_bytes=most, clock=clock)
        watch_sender(telemetry, self._sender)
        sink = KafkaSink(self._sender, MessageProjects(kafka), most)
        self.intake = build_intake(config, telemetry, keyring, sink, redactor, clock, left_out=LEFT_OUT, events=False)

    def problems(self) -> Sequence[str]:
        """What is wrong, a line each."""
        return ("Kafka does not take messages now",) if self._sender.outage.failures else ()

    async def listen(self, stops: list[Stop]) -> None:
        """Begin to receive. Raises ConfigError: a taken port."""
        self._sender.start()
        stops += [self._sender.stop, lambda _: asyncio.to_thread(self.intake.close)]
        self.grpc_port, self.http_port = await listen(self._config, self.intake, stops)


async def start_reading(context: ProcessContext, receiving: Receiving, working: Working) -> KafkaReceiver:
    """Read from Kafka, to the intake of this process. Raises ConfigError."""
    most = context.config.judging.max_inbox_bytes // 2
    reading = KafkaReceiver(
        _section(context.config),
        receiving.intake,
        assigned=working.detecting.read_known_again,
        busy=lambda: working.inbox.queued_bytes > most,
        withholds=context.config.redaction.on,
        clock=context.clock,
    )
    await reading.start()
    context.stops.append(reading.stop)
    watch_receiver(context.telemetry, reading)
    return reading


def _section(config: CollectorConfig) -> KafkaConfig:
    if config.kafka is None:
        raise ValueError("without a section kafka")
    return config.kafka
