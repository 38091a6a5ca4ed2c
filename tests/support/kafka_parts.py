"""Receivers and workers of Kafka in the running process, against a real broker."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kafka_broker import Cluster
from otlp_parts import RecordingSink

from tracejury.collector.otlp.kafka.client import options_of
from tracejury.collector.otlp.kafka.config import KafkaConfig
from tracejury.collector.otlp.kafka.consumer import KafkaReceiver
from tracejury.collector.otlp.kafka.projects import MessageProjects
from tracejury.collector.otlp.kafka.sender import Sender
from tracejury.collector.otlp.kafka.sink import KafkaSink
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.schemas.batch import Sink

PATIENCE = 60.0


def config_of(broker: Cluster, *topics: dict[str, Any] | str, **keys: Any) -> KafkaConfig:
    """A configuration with a group and a dead-letter topic of its own; a text is a topic of traces."""
    given = [{"name": one, "signal": "traces"} if isinstance(one, str) else one for one in topics]
    group = {"group": uuid.uuid4().hex, "dead_letter_topic": f"dead-{uuid.uuid4().hex}"}
    return KafkaConfig.model_validate({"brokers": broker.addresses.split(","), "topics": given, **group, **keys})


@asynccontextmanager
async def reading(config: KafkaConfig, sink: Sink | None = None, **keys: Any) -> AsyncIterator[KafkaReceiver]:
    """A receiver that reads to `sink`."""
    intake = keys.pop("intake", None) or Intake(sink or RecordingSink())
    receiver = KafkaReceiver(config, intake, **keys)
    await receiver.start()
    try:
        yield receiver
    finally:
        await receiver.stop(PATIENCE)
        intake.close()


@asynccontextmanager
async def writing(config: KafkaConfig, environ: dict[str, str] | None = None) -> AsyncIterator[KafkaSink]:
    """A sink that writes to the brokers."""
    most = config.max_message_bytes
    sender = Sender(options_of(config), seconds=config.delivery_seconds, most_bytes=most)
    sender.start()
    try:
        yield KafkaSink(sender, MessageProjects(config, environ or os.environ), most)
    finally:
        await sender.stop(PATIENCE)


async def until(condition: Callable[[], object]) -> None:
    """Return once it holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  what is waited for happens in other threads
            await asyncio.sleep(0.02)
