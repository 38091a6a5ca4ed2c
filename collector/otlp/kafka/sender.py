"""Messages to Kafka's brokers: acknowledged by all in-sync replicas, or refused."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from tracejury.collector.worker.outage_log import OutageLog
from tracejury.schemas.errors import OverloadedError, RetryableError

from .client import Options, library, make, told

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.1
QUEUE_BYTES: Final = 128 * 1024
"""Kibibytes of messages that wait for the brokers."""
OVERHEAD: Final = 2048
"""Bytes of a message beside its value: key, headers and Kafka's own."""


class TooLargeForBrokersError(RetryableError):
    """The brokers take no message of this size."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message."""

    topic: str
    value: bytes
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Sender:
    """An idempotent producer. `start` in the event loop; `send` from it alone."""

    def __init__(
        self, options: Options, *, seconds: float, most_bytes: int, clock: Callable[[], int] = time.time_ns
    ) -> None:
        """`seconds`: how long the brokers may take; `most_bytes`: of one message. Raises ConfigError."""
        self.sent = 0
        self.outage = OutageLog("Kafka", "does not take messages", "takes messages again", clock)
        self._options = options | {
            "enable.idempotence": True,
            "acks": "all",
            "delivery.timeout.ms": round(seconds * 1000),
            "message.max.bytes": min(most_bytes + OVERHEAD, 1_000_000_000),
            "queue.buffering.max.kbytes": max(QUEUE_BYTES, 2 * most_bytes // 1024),
            # As the OpenTelemetry Collector's exporter shares keys among partitions, so that both agree.
            "partitioner": "fnv1a_random",
        }
        self._options.setdefault("compression.type", "lz4")
        self._options.setdefault("linger.ms", 5)
        self._producer: Any = make("Producer", self._options)
        self._broken, self._stopping = False, threading.Event()
        self._thread = threading.Thread(target=self._poll, name="tracejury-kafka-sender", daemon=True)

    def start(self) -> None:
        """Begin to hear of deliveries."""
        self._thread.start()

    async def stop(self, deadline: float) -> None:
        """Wait for messages on their way, so many seconds at most. Safe without `start`, idempotent."""
        self._stopping.set()
        with suppress(RuntimeError):  # not started
            await asyncio.to_thread(self._thread.join, deadline)

    async def send(self, messages: Sequence[Outgoing]) -> None:
        """Return once all are acknowledged.

        Raises:
            TooLargeForBrokersError: one is larger than its topic allows; others may be stored.
            OverloadedError: too many messages wait.
            RetryableError: some may not be stored.
        """
        if not messages:
            return
        if self._stopping.is_set():
            raise RetryableError("the collector is shutting down")
        delivery = _Delivery(len(messages), asyncio.get_running_loop())
        for one in messages:
            try:
                self._producer.produce(
                    one.topic, one.value, key=one.key, headers=list(one.headers), on_delivery=delivery.heard
                )
            except BufferError:
                raise OverloadedError("too many messages wait for Kafka's brokers: try again") from None
            except library().KafkaException as error:
                raise self._refusal(error.args[0]) from None
        failure = await delivery.done
        if failure is not None:
            raise self._refusal(failure)
        self.sent += len(messages)
        self.outage.ended()

    def _refusal(self, error: Any) -> RetryableError:
        if error.fatal():
            self._broken = True  # an idempotent producer that has lost its place is made anew
        if error.code() == library().KafkaError.MSG_SIZE_TOO_LARGE:
            return TooLargeForBrokersError(
                f"Kafka takes no message of this size: the topic's max.message.bytes must exceed "
                f"kafka.max_message_bytes ({told(error)})"
            )
        self.outage.failed(told(error))
        return RetryableError(f"Kafka does not take messages now: {told(error)}")

    def _poll(self) -> None:
        while not self._stopping.is_set() or len(self._producer):
            self._producer.poll(POLL_SECONDS)
            if self._broken:
                self._broken = False
                self._producer.purge()
                self._producer.poll(0)
                log.warning("the Kafka producer is made anew after a fatal error")
                self._producer = make("Producer", self._options)


class _Delivery:
    """Hears of the deliveries of one request, in the sender's thread; `done` gives the first error, or None."""

    def __init__(self, left: int, loop: asyncio.AbstractEventLoop) -> None:
        self.done: asyncio.Future[Any] = loop.create_future()
        self._left, self._loop = left, loop
        self._error: Any = None

    def heard(self, error: Any, _message: object) -> None:
        self._error = self._error or error
        self._left -= 1
        if not self._left:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.done.done():  # its sender may have gone
            self.done.set_result(self._error)
