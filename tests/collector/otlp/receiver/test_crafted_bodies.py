"""Bodies that are small to send and large to hold, beside those of a client that means no harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from otlp_clients import Client
from otlp_parts import RecordingSink, span, text, traces

from tracejury.collector.otlp.codec.limits import Limits

MANY = Limits().values + 1
TOO_LARGE = {"grpc": "RESOURCE_EXHAUSTED", "http": "413", "json": "413"}


def crafted(protocol: str) -> bytes:
    """One value more than a request may hold, in as few bytes as there can be."""
    if protocol == "json":
        return b'{"resourceSpans":[' + b"{}," * MANY + b"{}]}"
    values = ArrayValue(values=[AnyValue()] * MANY)
    return traces(span(attributes=[KeyValue(key="k", value=AnyValue(array_value=values))])).SerializeToString()


@asynccontextmanager
async def attacked(client: Client, body: bytes, answers: set[str]) -> AsyncIterator[None]:
    """Two clients that send `body` again and again meanwhile; `answers` are the codes they got."""

    async def attack() -> None:
        while True:
            answers.add((await client.send_bytes(body)).code)

    attackers = [asyncio.create_task(attack()) for _ in range(2)]
    try:
        while not answers:
            await asyncio.wait(attackers, timeout=0.01)
        yield
    finally:
        for attacker in attackers:
            attacker.cancel()
        await asyncio.wait(attackers)


async def test_too_many_values_are_refused_for_good(client: Client, sink: RecordingSink) -> None:
    """With what to do about it."""
    answer = await client.send_bytes(crafted(client.protocol))
    assert (answer.code, answer.retry) == (TOO_LARGE[client.protocol], None)
    values = Limits().values
    assert answer.message == f"the request holds more than {values} values (limits.values): send smaller batches"
    assert sink.batches == []


@pytest.mark.parametrize("client", ["http", "json"], indirect=True)
async def test_crafted_bodies_keep_nobody_out(client: Client, http_port: int, sink: RecordingSink) -> None:
    """Exports of 300 kB pass while two clients send such bodies at full speed."""
    honest = traces(*(span(attributes=[text("input.value", "a" * 1000)]) for _ in range(300)))
    answers = set[str]()
    async with attacked(client, crafted(client.protocol), answers), asyncio.timeout(30):
        for _ in range(2):
            assert (await Client("http", http_port).send(honest)).ok
    assert answers == {"413"}
    assert len(sink.spans) == 600
