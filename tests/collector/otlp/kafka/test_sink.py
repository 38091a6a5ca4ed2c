"""Receivers write to a real broker; workers read the same from it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from kafka_broker import Cluster
from kafka_parts import config_of, reading, until, writing
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_parts import START, RecordingSink, logs, span, text, traces

from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.kafka.sink import LEFT_OUT
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.schemas.errors import RetryableError

FNV_OFFSET, FNV_PRIME = 0x811C9DC5, 0x01000193


def _clock() -> int:
    return START + 60 * 10**9


def _requests() -> list[tuple[Signal, Any]]:
    """Spans of several traces, one of 50 kB; log records with and without a trace, some events of coding agents."""
    rng = random.Random(7)  # noqa: S311
    typed = [KeyValue(key="n", value=AnyValue(int_value=3)), KeyValue(key="b", value=AnyValue(bytes_value=b"\0\xff"))]
    spans = [
        span(
            trace_id=(n % 7 + 1).to_bytes(16),
            span_id=(n + 1).to_bytes(8),
            attributes=[*typed, text("t", "x" * rng.choice([1, 100, 50_000 if n == 5 else 10]))],
            trace_state="a=1",
        )
        for n in range(60)
    ]
    records = [
        LogRecord(time_unix_nano=START + n, body=AnyValue(string_value=f"line {n}"), trace_id=(n % 3).to_bytes(16))
        for n in range(9)
    ]
    events = [
        LogRecord(
            time_unix_nano=START + n,
            body=AnyValue(string_value="claude_code.user_prompt"),
            attributes=[text("event.name", "user_prompt"), text("session.id", f"s{n % 2}"), text("prompt", "do")],
        )
        for n in range(4)
    ]
    return [(Signal.TRACES, traces(*spans)), (Signal.LOGS, logs(*records, *events))]


def _items(sink: RecordingSink) -> list[str]:
    return sorted(repr(item) for batch in sink.batches for item in (*batch.spans, *batch.logs))


@pytest.mark.parametrize("encoding", ["otlp_proto", "otlp_json"])
async def test_what_a_worker_reads_is_what_the_receiver_took(broker: Cluster, encoding: str) -> None:
    """Span by span, in the same form as without Kafka; messages hold one trace, keyed by its id, within the bound."""
    topics = {signal: broker.topic(5) for signal in ("traces", "logs")}
    described = [{"name": name, "signal": signal, "encoding": encoding} for signal, name in topics.items()]
    config = config_of(broker, *described, max_message_bytes=60_000)
    direct, through = RecordingSink(), RecordingSink()
    taken = Intake(direct, clock=_clock)
    async with writing(config) as sink:
        produced = Intake(sink, clock=_clock, events=False)
        for signal, request in _requests():
            body = request.SerializeToString()
            assert await produced.take("grpc", signal, Encoding.PROTOBUF, body) == PartialSuccess()
            await taken.take("grpc", signal, Encoding.PROTOBUF, body)
    async with reading(config, intake=Intake(through, clock=_clock)):
        await until(lambda: len(_items(through)) >= len(_items(direct)))
    assert _items(through) == _items(direct)
    messages = broker.messages(topics["traces"], 7)
    assert all(len(message) <= 60_000 + 100 for message in messages)
    for message in messages:
        key = message.key()
        assert key is not None
        assert len(key) == 32
        # As the OpenTelemetry Collector's exporter does: the 32-bit FNV-1a hash as a signed number, without its sign.
        digest = FNV_OFFSET
        for byte in key:
            digest = (digest ^ byte) * FNV_PRIME % 2**32
        assert message.partition() == abs(digest - (digest >> 31 << 32)) % 5


@pytest.mark.parametrize("encoding", ["otlp_proto", "otlp_json"])
async def test_a_span_beyond_the_bound_is_left_out(broker: Cluster, encoding: str) -> None:
    """Its sender is told by a partial success; its neighbours are written."""
    topic = broker.topic()
    config = config_of(broker, {"name": topic, "signal": "traces", "encoding": encoding}, max_message_bytes=10_000)
    items = [span(span_id=n.to_bytes(8), attributes=[text("t", "x" * n * 2000)]) for n in range(1, 7)]
    async with writing(config) as sink:
        produced = Intake(sink, left_out=LEFT_OUT, events=False)
        told = await produced.take("grpc", Signal.TRACES, Encoding.PROTOBUF, traces(*items).SerializeToString())
    assert told == PartialSuccess(2, f"2 spans {LEFT_OUT}")
    through = RecordingSink()
    async with reading(config, through):
        await until(lambda: len(through.spans) == 4)


async def test_projects_have_topics_or_a_signed_header(broker: Cluster) -> None:
    """A project's own topic comes first; in a shared one the header says it, and nobody can forge that."""
    own, shared = broker.topic(), broker.topic()
    environ = {"SECRET": "not to be guessed"}
    config = config_of(
        broker,
        {"name": own, "signal": "traces", "project": "red"},
        {"name": shared, "signal": "traces", "project": "other", "trusted_header": "project"},
        dead_letter_topic=broker.topic(),
        header_secret="${SECRET}",
    )
    body = traces(span()).SerializeToString()
    async with writing(config, environ) as sink:
        produced = Intake(sink, events=False)
        for project in ("red", "blue"):
            await produced.take("grpc", Signal.TRACES, Encoding.PROTOBUF, body, tenant=project)
    (signed,) = broker.messages(shared, 1)
    headers = dict(signed.headers() or ())
    forged: list[dict[str, str | bytes | None]] = [
        {**headers, "project": b"red"},
        {"project": b"red"},
        {**headers, "project": b"No Name"},
    ]
    for each in forged:
        broker.send(shared, [signed.value() or b""], headers=each)
    broker.send(shared, [body + body], headers=headers)
    broker.send(shared, [body])
    through = RecordingSink()
    async with reading(config, through, environ=environ) as receiver:
        await until(lambda: len(through.spans) == 3 and receiver.counters.dead_letters == 4)
    assert sorted(one.tenant for one in through.spans) == ["blue", "other", "red"]
    without = config_of(broker, {"name": own, "signal": "traces", "project": "red"})
    async with writing(without) as sink:
        with pytest.raises(RetryableError, match=r"no topic for traces of the default project"):
            await sink.submit(replace(through.batches[0], spans=[replace(through.spans[0], tenant="")]))


async def test_a_receiver_refuses_retryably_while_no_broker_answers(broker: Cluster) -> None:
    """What was acknowledged is there afterwards, also what was sent meanwhile and tried again."""
    topic = broker.topic()
    config = config_of(broker, topic, delivery_seconds=0.7)
    async with writing(config) as sink:
        produced = Intake(sink, events=False)

        async def send(number: int) -> None:
            body = traces(span(span_id=number.to_bytes(8))).SerializeToString()
            await produced.take("grpc", Signal.TRACES, Encoding.PROTOBUF, body)

        await send(1)
        broker.brokers[0].kill()
        with pytest.raises(RetryableError, match="Kafka does not take messages now"):
            await send(2)
        broker.brokers[0].start()
        broker.until_ready()
        tries = 0
        while tries < 60:
            tries += 1
            try:
                await send(2)
                break
            except RetryableError:
                continue
    through = RecordingSink()
    async with reading(config, through):
        await until(lambda: len({one.span_id for one in through.spans}) == 2)
