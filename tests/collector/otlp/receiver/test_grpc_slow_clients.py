"""gRPC clients that never finish, never read or watch without end, beside one that does as it should.

Spoken frame by frame: no library sends such calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http2_frames import EXPORT, call, message, opening
from otlp_clients import Client
from otlp_parts import RecordingSink, span, traces

from tracejury.collector.otlp.receiver import grpc_health, grpc_message
from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.intake import Intake, IntakeConfig
from tracejury.schemas.config_base import MIB

CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
SOON = 0.05
UNAVAILABLE = b"\x0bgrpc-status\x0214"
LARGE = 60 * MIB

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def receiving(intake: Intake, **config: float) -> AsyncIterator[int]:
    """The port of an OTLP/gRPC receiver."""
    receiver = GrpcReceiver(GrpcConfig.model_validate({"endpoint": "127.0.0.1:0"} | config), intake)
    yield await receiver.start()
    await receiver.stop(1)


@asynccontextmanager
async def speaking(port: int, said: bytes) -> AsyncIterator[Streams]:
    """A connection that says something."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    yield reader, writer
    writer.close()


@asynccontextmanager
async def watching(port: int, service: str = "") -> AsyncIterator[Any]:
    """A watch of a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        yield health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=service), timeout=10)


async def heard(reader: asyncio.StreamReader, sought: bytes, times: int = 1) -> None:
    """Read until `sought` has come so often."""
    text = b""
    async with asyncio.timeout(10):
        while text.count(sought) < times:
            piece = await reader.read(65_536)
            assert piece, "closed before that"
            text += piece


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message must arrive at once."""
    monkeypatch.setattr(grpc_message, "QUICK", SOON)


@pytest.mark.parametrize("path", [EXPORT, CHECK, WATCH])
async def test_a_message_that_never_ends_is_given_up(intake: Intake, path: str) -> None:
    """Retryably, after the time that one may take."""
    said = opening() + call(1, path) + message(1, b"x", length=1000)
    async with receiving(intake, read_seconds=SOON) as port, speaking(port, said) as (reader, _):
        await heard(reader, UNAVAILABLE)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("path", [EXPORT, CHECK])
async def test_few_messages_are_read_slowly_at_a_time(sink: RecordingSink, path: str) -> None:
    """Of thirty that never end all but two give way; a quick one is taken, and so is one when they are gone.

    grpcio's core would store 60 MiB of each, also for those who have no key and ask for our health.
    """
    intake = Intake(sink, IntakeConfig(inflight_bytes=256 * MIB, client_share=0.5))
    async with receiving(intake) as port:
        stalled = b"".join(call(n, path) + message(n, b"\x0a\xff" * 1000, length=LARGE) for n in range(1, 61, 2))
        async with speaking(port, opening() + stalled) as (reader, _):
            await heard(reader, UNAVAILABLE, 28)
            assert intake.inflight.bytes == 2 * intake.limits.request_bytes
            assert (await Client("grpc", port).send(traces(span()))).ok
        async with asyncio.timeout(10):
            while intake.inflight.bytes:  # noqa: ASYNC110  until the core has noticed that they are gone
                await asyncio.sleep(0.01)
        assert (await Client("grpc", port).send(traces(span()))).ok


async def test_a_service_of_a_long_name_is_not_stored(intake: Intake) -> None:
    async with receiving(intake) as port, watching(port, "x" * grpc_health.LONGEST) as watch:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await watch.read()
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_no_more_than_so_many_watch(intake: Intake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends makes room."""
    monkeypatch.setattr(grpc_health, "MOST_WATCHERS", 1)
    async with receiving(intake) as port:
        async with watching(port) as first:
            assert (await first.read()).status == health_pb2.HealthCheckResponse.SERVING
            async with watching(port) as second:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await second.read()
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            first.cancel()
        async with asyncio.timeout(10), watching(port) as third:
            assert (await third.read()).status == health_pb2.HealthCheckResponse.SERVING


async def test_an_unknown_service_is_unknown(intake: Intake) -> None:
    async with receiving(intake) as port, watching(port, "x.Y") as watch:
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


async def test_a_watcher_that_reads_nothing_holds_up_nobody(intake: Intake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither other watchers nor the shutdown: it lets the server send no byte."""
    monkeypatch.setattr(grpc_health, "TELLING_SECONDS", SOON)
    receiver = GrpcReceiver(GrpcConfig(endpoint="127.0.0.1:0"), intake)
    port = await receiver.start()
    said = opening(window=0) + call(1, WATCH) + message(1, b"", last=True)
    async with asyncio.timeout(10), speaking(port, said) as (reader, _):
        await heard(reader, b"application/grpc")
        async with watching(port) as watch:
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        await receiver.stop(3600)
