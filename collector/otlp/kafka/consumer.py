"""A receiver that reads from Kafka: an offset is committed once all before it is stored.

A thread polls, since the library calls back there; messages are decoded and stored on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from tracejury.collector.otlp.codec.signals import SCHEMAS, Signal
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.worker.log_throttle import LogThrottle
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.errors import PermanentError, RetryableError

from .client import Options, library, make, options_of, told
from .config import KafkaConfig, TopicConfig
from .dead_letters import DeadLetters
from .group_watch import GroupWatch
from .progress import PartitionProgress
from .projects import MessageProjects

log = logging.getLogger(__name__)

TRANSPORT: Final = "kafka"
RETRY: Final = RetryPolicy(first=0.5, longest=10.0)
POLL_SECONDS: Final = 0.1
POLLED: Final = 64
"""Messages taken from the library at once."""
REVOKE_SECONDS: Final = 5.0
"""How long a partition that is taken away waits for what is being stored."""
ASK_SECONDS: Final = 5.0
QUEUED_KIBIBYTES: Final = 32 * 1024
"""What the library fetches ahead."""

Partition = tuple[str, int]


@dataclass(slots=True)
class KafkaCounters:
    """Counts since the start, and what is known of the partitions that are assigned."""

    messages: int = 0  # stored
    dead_letters: int = 0
    lost: int = 0  # expired before they were read
    assignments: int = 0
    paused: bool = False
    lags: dict[Partition, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Assigned:
    """A partition while it is ours; `gone` is set once it is not."""

    topic: TopicConfig
    progress: PartitionProgress
    gone: asyncio.Event


class KafkaReceiver:
    """Takes messages of a consumer group to `intake`.

    `assigned` is told, in the polling thread, when partitions come; `busy` says that nothing more should be read just
    now; `withholds`: bodies must not be copied to the dead-letter topic, since nothing in them is redacted.
    """

    def __init__(
        self,
        config: KafkaConfig,
        intake: Intake,
        *,
        assigned: Callable[[], None] = lambda: None,
        busy: Callable[[], bool] = lambda: False,
        withholds: bool = False,
        clock: Callable[[], int] = time.time_ns,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Raises ConfigError."""
        self.counters = KafkaCounters()
        self._config, self._intake, self._assigned, self._busy = config, intake, assigned, busy
        self._options = options_of(config, environ)
        self._projects = MessageProjects(config, environ)
        self._dead_letters = DeadLetters(config, self._options, withholds=withholds)
        self._watch = GroupWatch(config, self._options)
        self._storing = OutageLog("storing messages of Kafka", "has failed", "works again", clock)
        self._outage = OutageLog("Kafka", "cannot be read", "can be read again", clock)
        self._throttle = LogThrottle(clock)
        self._kafka = library()
        self._protocol = "consumer" if config.group_protocol != "classic" else "classic"
        self._partitions: dict[Partition, _Assigned] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._held = self._held_bytes = 0
        self._room = threading.Condition()  # guards progress and what is held
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracejury-kafka", daemon=True)

    async def start(self) -> None:
        """Begin to read. Raises ConfigError where the library refuses an option."""
        self._loop = asyncio.get_running_loop()
        make("Consumer", self._consumer_options()).close()
        self._dead_letters.start()
        self._thread.start()

    async def stop(self, deadline: float) -> None:
        """Store and commit what is at hand, within so many seconds, and leave the group. Safe without `start`."""
        self._stopping.set()
        with self._room:
            self._room.notify_all()
        with suppress(RuntimeError):  # not started
            await asyncio.to_thread(self._thread.join, deadline)
        for task in self._tasks:
            task.cancel()
        await self._dead_letters.stop(1.0)

    def problems(self) -> Sequence[str]:
        """What is wrong with Kafka or the lag, a line each."""
        most, lags = self._config.max_lag, dict(self.counters.lags)
        behind = [f"{t}/{p} is {n} messages behind" for (t, p), n in sorted(lags.items()) if most and n > most]
        away = "Kafka cannot be read" if self._outage.failures else ""
        failing = "messages of Kafka cannot be stored now" if self._storing.failures else ""
        return tuple(filter(None, (away, failing, *self._watch.strangers, *behind)))

    def lags(self) -> Mapping[str, int]:
        """Messages that are not stored yet, by topic and partition."""
        return {f"{topic}/{number}": lag for (topic, number), lag in sorted(dict(self.counters.lags).items())}

    # In the polling thread.

    def _run(self) -> None:
        failed = 0
        while not self._stopping.is_set():
            try:
                self._read()
            except Exception as error:  # noqa: BLE001  whatever it is: nobody else reads these partitions
                if self._falls_back(error):
                    continue
                failed += 1
                self._outage.failed(told(error))
                self._stopping.wait(RETRY.delay(failed))

    def _falls_back(self, error: Exception) -> bool:
        """Whether the brokers are too old for `consumer`, and the group may do without."""
        kinds = self._kafka.KafkaError
        # A fatal error has a code of its own; which error was fatal stands in its text.
        texts = [kinds(code).str() for code in (kinds._UNSUPPORTED_FEATURE, kinds.UNSUPPORTED_VERSION)]  # noqa: SLF001
        is_old = isinstance(error, self._kafka.KafkaException) and any(text in str(error) for text in texts)
        if not is_old or self._protocol == "classic" or self._config.group_protocol != "auto":
            return False
        self._protocol = "classic"
        log.info("the brokers do not have KIP-848: the group shares partitions as before (cooperative-sticky)")
        return True

    def _read(self) -> None:
        consumer = make("Consumer", self._consumer_options())
        names = list(self._projects.topics)
        consumer.subscribe(names, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        look = 0.0
        try:
            while not self._stopping.is_set():
                self._take(self._poll(consumer), consumer)
                self._note_offsets(consumer)
                if time.monotonic() >= look:
                    self._look(consumer)
                    look = time.monotonic() + ASK_SECONDS
        finally:
            consumer.close()  # which revokes
            self._drop(list(self._partitions))

    def _poll(self, consumer: Any) -> Sequence[Any]:
        """Messages, where there is room for them; beyond it the partitions are paused, and polled all the same."""
        with self._room:
            is_full = not self._room.wait_for(lambda: self._has_room() or self._stopping.is_set(), POLL_SECONDS)
        if is_full:
            consumer.pause(consumer.assignment())
            self.counters.paused = True
        elif self.counters.paused:
            consumer.resume(consumer.assignment())
            self.counters.paused = False
        first = consumer.poll(POLL_SECONDS)
        if first is None:
            return ()
        return (first, *consumer.consume(POLLED, 0))

    def _has_room(self) -> bool:
        config = self._config
        return self._held < config.inflight_messages and self._held_bytes < config.inflight_bytes and not self._busy()

    def _take(self, messages: Sequence[Any], consumer: Any) -> None:
        """Hand messages on to the event loop. Raises KafkaException for an error that ends the consumer."""
        taken = list[tuple[_Assigned, Any]]()
        for message in messages:
            if error := message.error():
                if error.fatal() or error.code() == self._kafka.KafkaError._FATAL:  # noqa: SLF001
                    raise self._kafka.KafkaException(error)
                self._outage.failed(told(error))
                continue
            place = (message.topic(), message.partition())
            assigned, offset = self._partitions.get(place), message.offset()
            if assigned is None:
                continue  # taken away meanwhile
            if assigned.progress.position is not None and offset < assigned.progress.position:
                log.warning("%s/%d begins again at offset %d: the topic was made anew", *place, offset)
                self._drop([place])
                assigned = self._partitions[place] = self._new(place, None)
            with self._room:
                missed = assigned.progress.take(offset)
                self._held += 1
                self._held_bytes += len(message)
            if missed > 1:  # single ones are the marks of transactions
                self._count_lost(consumer, place, offset, missed)
            taken.append((assigned, message))
        if taken:
            self._loop.call_soon_threadsafe(self._begin, taken)

    def _count_lost(self, consumer: Any, place: Partition, offset: int, missed: int) -> None:
        low, _ = self._offsets_of(consumer, place) or (0, 0)
        lost = min(missed, max(low - (offset - missed), 0))
        if lost:
            self.counters.lost += lost
            log.error("%s/%d: %d messages expired before they were read; going on at offset %d", *place, lost, offset)

    def _note_offsets(self, consumer: Any) -> None:
        """Have the library commit, in its interval, what is stored."""
        with self._room:
            handled = self._handled(self._partitions)
        if handled:
            with suppress(self._kafka.KafkaException):  # a partition that was just taken away
                consumer.store_offsets(offsets=handled)

    def _handled(self, places: Mapping[Partition, _Assigned]) -> list[Any]:
        return [
            self._kafka.TopicPartition(*place, offset)
            for place, one in places.items()
            if (offset := one.progress.handled) is not None
        ]

    def _on_assign(self, consumer: Any, partitions: Sequence[Any]) -> None:
        try:
            known = consumer.committed(list(partitions), ASK_SECONDS)
        except self._kafka.KafkaException:
            known = partitions
        for one in known:
            place = (one.topic, one.partition)
            self._partitions[place] = self._new(place, one.offset if one.offset >= 0 else None)
        if partitions:
            self.counters.assignments += 1
            log.info("reads %s", ", ".join(sorted(f"{one.topic}/{one.partition}" for one in partitions)))
            self._assigned()

    def _on_revoke(self, consumer: Any, partitions: Sequence[Any]) -> None:
        """Give what is being stored some time, commit what is stored, and drop the rest: the next owner reads it."""
        places = [(one.topic, one.partition) for one in partitions]
        held = {place: self._partitions[place] for place in places if place in self._partitions}
        self._drop(places)
        with self._room:
            self._room.wait_for(lambda: not any(one.progress.in_hand for one in held.values()), REVOKE_SECONDS)
            handled = self._handled(held)
        if handled:
            try:
                consumer.commit(offsets=handled, asynchronous=False)
            except self._kafka.KafkaException as error:
                log.warning("offsets were not committed, so their messages are read again: %s", told(error))
        log.info("no longer reads %s", ", ".join(sorted(f"{topic}/{number}" for topic, number in places)))

    def _on_lost(self, _consumer: Any, partitions: Sequence[Any]) -> None:
        self._drop([(one.topic, one.partition) for one in partitions])

    def _drop(self, places: Sequence[Partition]) -> None:
        for place in places:
            self.counters.lags.pop(place, None)
            if one := self._partitions.pop(place, None):
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(one.gone.set)

    def _new(self, place: Partition, position: int | None) -> _Assigned:
        return _Assigned(self._projects.topics[place[0]], PartitionProgress(position), asyncio.Event())

    def _look(self, consumer: Any) -> None:
        """Ask the brokers how far behind we are, and who else is in the group."""
        for place, one in list(self._partitions.items()):
            offsets = self._offsets_of(consumer, place)
            if offsets is None:
                return
            handled = one.progress.handled
            self.counters.lags[place] = max(offsets[1] - (offsets[0] if handled is None else handled), 0)
        if not self._partitions:
            try:
                consumer.list_topics(timeout=1.0)
            except self._kafka.KafkaException as error:
                self._outage.failed(told(error))
                return
        self._outage.ended()
        self._watch.look()

    def _offsets_of(self, consumer: Any, place: Partition) -> tuple[int, int] | None:
        try:
            found: tuple[int, int] | None = consumer.get_watermark_offsets(self._kafka.TopicPartition(*place), 1.0)
        except self._kafka.KafkaException as error:
            self._outage.failed(told(error))
            return None
        return found

    def _consumer_options(self) -> Options:
        options = {
            "group.id": self._config.group,
            "group.protocol": self._protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": True,
            "enable.auto.offset.store": False,
        }
        defaults: Options = {"queued.max.messages.kbytes": QUEUED_KIBIBYTES, "auto.commit.interval.ms": 1000}
        if self._protocol == "classic":
            defaults["partition.assignment.strategy"] = "cooperative-sticky"
        else:  # topics of as many partitions go to the same workers: spans and logs of a trace meet
            defaults["group.remote.assignor"] = "range"
        return defaults | self._options | options

    # On the event loop.

    def _begin(self, taken: Sequence[tuple[_Assigned, Any]]) -> None:
        for assigned, message in taken:
            task = self._loop.create_task(self._handle(assigned, message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle(self, assigned: _Assigned, message: Any) -> None:
        """Store a message, or what is wrong with it; until then it is tried again, as long as the partition is ours."""
        tried, is_done = 0, False
        try:
            while not is_done and not (tried and assigned.gone.is_set()):
                tried += 1
                try:
                    await self._store(assigned.topic, message)
                    is_done = True
                    self._storing.ended()
                except Exception as error:  # noqa: BLE001  an offset that nobody works on stands still for good
                    self._storing.failed(error)
                    asked = error.retry_after if isinstance(error, RetryableError) else 0.0
                    with suppress(TimeoutError):
                        async with asyncio.timeout(RETRY.delay(tried, asked)):
                            await assigned.gone.wait()
        finally:
            with self._room:
                if is_done:
                    assigned.progress.done(message.offset())
                else:
                    assigned.progress.drop()
                self._held -= 1
                self._held_bytes -= len(message)
                self._room.notify_all()

    async def _store(self, topic: TopicConfig, message: Any) -> None:
        """Raises RetryableError."""
        value, signal = message.value() or b"", Signal(topic.signal)
        client = f"{TRANSPORT} {topic.name}/{message.partition()}"
        try:
            project = self._projects.project_of(topic, message.headers() or (), value)
            encoding = topic.encoding.of_body
            decoded, _ = await self._intake.commit(TRANSPORT, signal, encoding, value, client, project)
        except PermanentError as error:
            reason = str(error)
        else:
            nothing = f"there are no {SCHEMAS[signal].noun} in it" if value and not decoded.items else ""
            reason = decoded.message or nothing
        if not reason:
            self.counters.messages += 1
            return
        await self._dead_letters.send(message, topic, reason)
        self.counters.dead_letters += 1
        if self._throttle.due(f"dead letters of {topic.name}"):
            log.warning(
                "%s/%d: the message at offset %d is in %s: %s",
                topic.name,
                message.partition(),
                message.offset(),
                self._config.dead_letter_topic,
                reason,
            )
