"""Workers read from a real broker: everything once it is there, nothing lost, poison aside."""

from __future__ import annotations

import asyncio
import os

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka_broker import Cluster, cluster
from kafka_parts import config_of, reading, until, writing
from otlp_parts import RecordingSink, json_body, span, spans, text, traces

from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.kafka.config import KafkaConfig
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.schemas.errors import RetryableError

MIB = 1 << 20
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def _body(*ids: int) -> bytes:
    return traces(*spans(*ids)).SerializeToString()


def _ids(sink: RecordingSink) -> set[int]:
    return {int(one.span_id, 16) for one in sink.spans}


async def test_messages_of_every_codec_and_of_20_megabytes(broker: Cluster) -> None:
    """Whatever the producer compresses with; large ones beside small ones."""
    topic = broker.topic(max_message_bytes=30 * MIB)
    for number, codec in enumerate(CODECS):
        broker.send(topic, [_body(number + 1)], compression_type=codec)
    large = [traces(span(span_id=n.to_bytes(8), attributes=[text("t", os.urandom(10 * MIB).hex())])) for n in (90, 91)]
    broker.send(topic, [one.SerializeToString() for one in large])
    broker.send(topic, [_body(6)])
    sink = RecordingSink()
    async with reading(config_of(broker, topic, inflight_bytes=4 * MIB), sink) as receiver:
        await until(lambda: _ids(sink) == {1, 2, 3, 4, 5, 6, 90, 91})
        assert not receiver.counters.dead_letters


async def test_poison_goes_to_the_dead_letter_topic_with_the_reason(broker: Cluster) -> None:
    """Its neighbours are stored, and the good part of a request with bad ids; the letter says where it came from."""
    topic, dead = broker.topic(), broker.topic(max_message_bytes=20_000)
    poison = {
        b"\xff\xff\xff\xff": "not a valid ExportTraceServiceRequest",
        json_body(traces(*spans(1))): "not a valid ExportTraceServiceRequest",
        b"\x82\x01\x03abc": "there are no spans in it",
        _body(2, 0): "1 spans rejected: span id is all zero (1)",
        traces(
            span(attributes=[text("t", os.urandom(40_000).hex())])
        ).SerializeToString(): "larger than 50000 bytes (limits.request_bytes)",
    }
    for body in poison:
        broker.send(topic, [body, _body(3)], headers={"mine": b"1"})
    sink = RecordingSink()
    config = config_of(broker, topic, dead_letter_topic=dead)
    async with reading(config, intake=Intake(sink, limits=Limits(request_bytes=50_000))) as receiver:
        await until(lambda: receiver.counters.dead_letters == len(poison) and receiver.counters.messages == len(poison))
    assert _ids(sink) == {2, 3}
    letters = sorted(broker.messages(dead, 5), key=lambda one: int(dict(one.headers() or ())["tracejury-offset"] or 0))
    for letter, (offset, (body, reason)) in zip(letters, enumerate(poison.items()), strict=True):
        headers = dict(letter.headers() or ())
        assert reason.encode() in (headers["tracejury-reason"] or b"")
        told = {name: headers[f"tracejury-{name}"] for name in ("topic", "partition", "offset")}
        assert told == {"topic": topic.encode(), "partition": b"0", "offset": str(2 * offset).encode()}
        assert headers["mine"] == b"1"
        is_kept = len(body) < 20_000
        assert letter.value() == (body if is_kept else b"")
        assert ("tracejury-withheld" in headers) != is_kept
    async with reading(config.model_copy(update={"group": "again"}), RecordingSink(), withholds=True) as receiver:
        await until(lambda: receiver.counters.dead_letters == 4)
    assert b"withheld" in (broker.messages(dead, 6)[5].value() or b"")


async def test_dead_letters_without_a_topic_hold_the_offset(broker: Cluster) -> None:
    """Poison that cannot be set aside is not passed over: it is there for the next worker."""
    topic = broker.topic()
    broker.send(topic, [_body(1), b"\xff", _body(2)])
    config = config_of(broker, topic, delivery_seconds=0.5)
    sink = RecordingSink()
    async with reading(config, sink) as receiver:
        await until(lambda: _ids(sink) == {1, 2} and receiver.problems())
        assert "messages of Kafka cannot be stored now" in receiver.problems()
    assert broker.committed(config.group, topic) == 1


@pytest.mark.parametrize("protocol", ["auto", "classic"])
async def test_partitions_move_between_workers(broker: Cluster, protocol: str) -> None:
    """One joins, one leaves, while messages come: every span arrives, and few twice."""
    topic = broker.topic(4)
    config = config_of(broker, topic, group_protocol=protocol)
    first, second = RecordingSink(), RecordingSink()
    sent = iter(range(1, 10_000))

    async def send(count: int) -> None:
        async with writing(config) as sink:
            produced = Intake(sink, events=False)
            for number in [next(sent) for _ in range(count)]:
                one = traces(span(trace_id=number.to_bytes(16), span_id=number.to_bytes(8)))
                await produced.take("grpc", Signal.TRACES, Encoding.PROTOBUF, one.SerializeToString())

    async with reading(config, first) as one:
        await send(50)
        await until(lambda: len(first.spans) == 50)
        async with reading(config, second) as two:
            await until(lambda: len(two.counters.lags) == 2 and len(one.counters.lags) == 2)
            await send(50)
            await until(lambda: len(first.spans) + len(second.spans) >= 100)
            assert second.spans
        await until(lambda: len(one.counters.lags) == 4)
        await send(50)
        await until(lambda: len(_ids(first) | _ids(second)) == 150)
    assert len(first.spans) + len(second.spans) == 150
    assert broker.committed(config.group, topic) == 150


async def test_a_store_that_fails_pauses_the_partitions_and_shows_the_lag(broker: Cluster) -> None:
    """Nothing is committed meanwhile, and all is stored afterwards, by the next worker, too."""
    topic = broker.topic()
    broker.send(topic, [_body(n) for n in range(1, 101)])
    sink = RecordingSink()
    failing = True

    class Store:
        async def submit(self, batch: object) -> int:
            if failing:
                raise RetryableError("the store cannot take spans now")
            return await sink.submit(batch)  # type: ignore[arg-type]

    config = config_of(broker, topic, inflight_messages=10, max_lag=50)
    async with reading(config, Store()) as receiver:
        await until(lambda: receiver.counters.paused and receiver.counters.lags == {(topic, 0): 100})
        assert set(receiver.problems()) == {
            "messages of Kafka cannot be stored now",
            f"{topic}/0 is 100 messages behind",
        }
    assert broker.committed(config.group, topic) == 0
    async with reading(config, Store()) as receiver:
        await until(lambda: receiver.counters.paused)
        failing = False
        await until(lambda: len(_ids(sink)) == 100 and receiver.counters.lags == {(topic, 0): 0})
        assert not receiver.problems()
    assert broker.committed(config.group, topic) == 100


async def test_what_expired_before_it_was_read_is_counted(broker: Cluster) -> None:
    """A group whose offset is gone goes on at the earliest message."""
    topic = broker.topic(segment_bytes=1024 * 1024, retention_bytes=1)
    config = config_of(broker, topic)
    broker.send(topic, [_body(1)])
    first = RecordingSink()
    async with reading(config, first):
        await until(lambda: _ids(first) == {1})
    big = traces(span(attributes=[text("t", os.urandom(300_000).hex())])).SerializeToString()
    broker.send(topic, [big, big, big])
    low = 0
    async with asyncio.timeout(60):
        consumer = Consumer({"bootstrap.servers": broker.addresses, "group.id": "looking"})
        while low < 3:
            low = (await asyncio.to_thread(consumer.get_watermark_offsets, TopicPartition(topic, 0), 5))[0]
            await asyncio.sleep(0.1)
        consumer.close()
    broker.send(topic, [_body(7)])
    sink = RecordingSink()
    async with reading(config, sink) as receiver:
        await until(lambda: 7 in _ids(sink))
        assert receiver.counters.lost == low - 1


async def test_a_stranger_in_the_group_is_named(broker: Cluster) -> None:
    """Another program that reads with our group takes messages: it is said."""
    topic = broker.topic(2)
    config = config_of(broker, topic)
    options = {"bootstrap.servers": broker.addresses, "group.id": config.group, "client.id": "billing"}
    stranger = Consumer(options | {"group.protocol": "consumer"})
    stranger.subscribe([topic])
    async with asyncio.timeout(60):
        while not stranger.assignment():
            await asyncio.to_thread(stranger.poll, 0.1)
    async with reading(config) as receiver:
        await until(lambda: stranger.poll(0) is None and receiver.problems())
        (line,) = receiver.problems()
        assert line.startswith(f"billing at 127.0.0.1 is in the consumer group {config.group}, too")
    stranger.close()


async def test_three_brokers_without_the_new_protocol(
    tmp_path_factory: pytest.TempPathFactory, broker: Cluster
) -> None:
    """The group falls back; one broker dies while messages are written and read, and nothing acknowledged is lost."""
    assert broker.brokers
    options = {"group_coordinator_rebalance_protocols": "classic", "default_replication_factor": 3}
    with cluster(tmp_path_factory.mktemp("three"), 3, **options) as three:
        topic = three.topic(3, min_insync_replicas=2)
        config: KafkaConfig = config_of(three, topic, delivery_seconds=3)
        sink, acknowledged = RecordingSink(), set[int]()
        async with reading(config, sink), writing(config) as written:
            produced = Intake(written, events=False)
            for number in range(1, 61):
                if number == 20:
                    three.brokers[0].kill()
                one = traces(span(trace_id=number.to_bytes(16), span_id=number.to_bytes(8)))
                while number not in acknowledged:
                    try:
                        await produced.take("grpc", Signal.TRACES, Encoding.PROTOBUF, one.SerializeToString())
                        acknowledged.add(number)
                    except RetryableError:
                        await asyncio.sleep(0.1)
            await until(lambda: _ids(sink) == acknowledged)
