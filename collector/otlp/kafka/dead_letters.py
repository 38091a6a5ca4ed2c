"""The dead-letter topic: messages that cannot be stored, with the reason in their headers."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from tracejury.collector.otlp.codec.signals import Signal
from tracejury.collector.otlp.redaction.stage import note_of

from .client import Options
from .config import KafkaConfig, TopicConfig
from .sender import Outgoing, Sender, TooLargeForBrokersError

MOST_BYTES: Final = 128 << 20
MOST_REASON: Final = 1000


class DeadLetters:
    """Sends messages there, each at least once. `withholds`: a note in place of a body in which nothing is redacted."""

    def __init__(self, config: KafkaConfig, options: Options, *, withholds: bool) -> None:
        self._topic, self._withholds = config.dead_letter_topic, withholds
        # One at a time: brokers refuse batches as a whole, small letters with a large one.
        self._alone = asyncio.Lock()
        self._sender = Sender(options | {"linger.ms": 0}, seconds=config.delivery_seconds, most_bytes=MOST_BYTES)

    def start(self) -> None:
        """See `Sender`."""
        self._sender.start()

    async def stop(self, deadline: float) -> None:
        """See `Sender`."""
        await self._sender.stop(deadline)

    async def send(self, message: Any, topic: TopicConfig, reason: str) -> None:
        """Return once it is there, or a note of one that is too large for it. Raises RetryableError."""
        value = message.value() or b""
        headers = [
            *(message.headers() or ()),
            ("tracejury-reason", reason[:MOST_REASON].encode("utf-8", "replace")),
            ("tracejury-topic", topic.name.encode()),
            ("tracejury-partition", str(message.partition()).encode()),
            ("tracejury-offset", str(message.offset()).encode()),
        ]
        note = note_of(Signal(topic.signal), topic.encoding.of_body, value)
        letter = Outgoing(self._topic, note if self._withholds else value, message.key(), headers)
        async with self._alone:
            try:
                await self._sender.send([letter])
            except TooLargeForBrokersError:
                withheld = ("tracejury-withheld", b"too large for this topic")
                await self._sender.send([Outgoing(self._topic, b"", message.key(), [*headers, withheld])])
