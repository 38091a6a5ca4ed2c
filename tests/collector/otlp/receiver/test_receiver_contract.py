"""What every receiver keeps to: one suite for all; a new one adds one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pytest
from otlp_clients import Client
from otlp_parts import RecordingSink, span, spans, traces

from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake, IntakeConfig
from tracejury.schemas.errors import ConfigError

RETRIED = {"grpc": ("UNAVAILABLE", "CANCELLED"), "http": ("503",)}


class Receiver(Protocol):
    """What the collector asks of a receiver."""

    async def start(self) -> int:
        """Listen; returns the port."""

    async def stop(self, deadline: float) -> None:
        """Drain."""


@dataclass(frozen=True)
class Kind:
    """A kind of receiver: the protocol of its clients, and how to make one."""

    protocol: str
    make: Callable[[str, Intake], Receiver]


KINDS = [
    Kind("grpc", lambda endpoint, intake: GrpcReceiver(GrpcConfig(endpoint=endpoint), intake)),
    Kind("http", lambda endpoint, intake: HttpReceiver(HttpConfig(endpoint=endpoint), intake)),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.protocol)


async def started(kind: Kind, intake: Intake) -> tuple[Receiver, Client]:
    """A receiver on a free port, and its client."""
    receiver = kind.make("127.0.0.1:0", intake)
    return receiver, Client(kind.protocol, await receiver.start())


@every_kind
async def test_stop_is_safe_without_start_and_twice(kind: Kind, intake: Intake) -> None:
    """A collector that fails half-way stops what it did not start."""
    await kind.make("127.0.0.1:0", intake).stop(1)
    receiver, _ = await started(kind, intake)
    await receiver.stop(1)
    await receiver.stop(1)


@every_kind
async def test_nothing_listens_after_stop_and_the_port_is_free_at_once(
    kind: Kind, intake: Intake, sink: RecordingSink
) -> None:
    """A restart on the same port works."""
    receiver = kind.make("127.0.0.1:0", intake)
    port = await receiver.start()
    client = Client(kind.protocol, port)
    assert (await client.send(traces(span()))).ok
    await receiver.stop(1)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    again = kind.make(f"127.0.0.1:{port}", intake)
    assert await again.start() == port
    assert (await client.send(traces(span()))).ok
    await again.stop(1)
    assert len(sink.spans) == 2


@every_kind
@pytest.mark.parametrize("other", KINDS, ids=lambda kind: f"held by {kind.protocol}")
async def test_a_taken_port_is_one_clear_line(kind: Kind, other: Kind, intake: Intake) -> None:
    """It names who holds the port, and nobody shares it."""
    holder = other.make("127.0.0.1:0", intake)
    port = await holder.start()
    with pytest.raises(ConfigError, match=rf"^127\.0\.0\.1:{port} is taken by pid \d+ \(.+\): choose another port .+$"):
        await kind.make(f"127.0.0.1:{port}", intake).start()
    await holder.stop(1)


@every_kind
@pytest.mark.parametrize("endpoint", ["4317", "127.0.0.1", "127.0.0.1:http", "192.0.2.1:4317"])
async def test_a_wrong_endpoint_is_one_clear_line(kind: Kind, endpoint: str, intake: Intake) -> None:
    """Whether it cannot be read or is not ours."""
    with pytest.raises(ConfigError, match=r"^[^\n]+$"):
        await kind.make(endpoint, intake).start()


@every_kind
async def test_shutdown_drains(kind: Kind, intake: Intake, sink: RecordingSink) -> None:
    """A request at hand is committed and acknowledged, however long the deadline."""
    receiver, client = await started(kind, intake)
    sink.hold()
    under_way = asyncio.create_task(client.send(traces(span())))
    await sink.until_waiting(1)
    stopping = asyncio.create_task(receiver.stop(3600))
    await asyncio.wait((stopping,), timeout=0.05)
    assert not stopping.done()
    sink.release()
    assert (await under_way).ok
    await stopping
    assert len(sink.spans) == 1


@every_kind
async def test_shutdown_keeps_its_deadline(kind: Kind, intake: Intake, sink: RecordingSink) -> None:
    """What does not end in time is not acknowledged, and its client is told to try again."""
    receiver, client = await started(kind, intake)
    sink.hold()
    under_way = asyncio.create_task(client.send(traces(span())))
    await sink.until_waiting(1)
    await receiver.stop(0.05)
    assert (await under_way).code in RETRIED[kind.protocol]
    assert sink.spans == []
    assert (intake.inflight.requests, intake.inflight.bytes) == (0, 0)


@every_kind
async def test_what_exceeds_the_bound_is_refused_retryably(kind: Kind, sink: RecordingSink) -> None:
    """Two requests wait for the commit, the third is told to back off; all are taken in the end."""
    intake = Intake(sink, IntakeConfig(inflight_requests=2))
    receiver, client = await started(kind, intake)
    sink.hold()
    waiting = [asyncio.create_task(client.send(traces(*spans(n)))) for n in (1, 2)]
    await sink.until_waiting(2)
    refused = await client.send(traces(*spans(3)))
    assert refused.code in RETRIED[kind.protocol]
    assert refused.retry == 1
    sink.release()
    assert [answer.ok for answer in await asyncio.gather(*waiting)] == [True, True]
    assert (await client.send(traces(*spans(3)))).ok
    assert len(sink.spans) == 3
    await receiver.stop(1)
    intake.close()
