"""Metrics of Kafka."""

from __future__ import annotations

from collections.abc import Iterator

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.telemetry import Telemetry

from .consumer import KafkaReceiver
from .sender import Sender


def watch_sender(telemetry: Telemetry, sender: Sender) -> None:
    """What a receiver writes."""
    counter = telemetry.counter
    counter("tracejury_kafka_sent_messages", "Messages that the brokers acknowledged", lambda: sender.sent)
    counter("tracejury_kafka_refused_requests", "Requests that they did not", lambda: sender.outage.total)


def watch_receiver(telemetry: Telemetry, receiver: KafkaReceiver) -> None:
    """What a worker reads, and how far behind it is."""
    counts, counter = receiver.counters, telemetry.counter
    counter("tracejury_kafka_messages", "Messages stored", lambda: counts.messages)
    counter("tracejury_kafka_dead_letters", "Messages sent to the dead-letter topic", lambda: counts.dead_letters)
    counter("tracejury_kafka_lost_messages", "Messages that expired before they were read", lambda: counts.lost)
    counter("tracejury_kafka_assignments", "Times that partitions came to this worker", lambda: counts.assignments)
    telemetry.gauge("tracejury_kafka_paused", "1 while partitions are paused", lambda: counts.paused)

    def lags(_options: CallbackOptions) -> Iterator[Observation]:
        for (topic, partition), lag in dict(counts.lags).items():
            yield Observation(lag, {"topic": topic, "partition": str(partition)})

    telemetry.meter.create_observable_gauge(
        "tracejury_kafka_lag", callbacks=[lags], description="Messages of a partition that are not stored yet"
    )
