"""The gRPC receiver: what its clients see."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http2_frames import PREFACE, call, message, opening
from otlp_clients import METHODS, Answer, Client
from otlp_parts import RecordingSink, span, spans, traces

from tracejury.collector.otlp.receiver.grpc_server import SERVICES, GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.intake import Intake

Status = health_pb2.HealthCheckResponse


async def started(intake: Intake, **config: float) -> tuple[GrpcReceiver, int]:
    """A receiver that a test stops itself."""
    receiver = GrpcReceiver(GrpcConfig.model_validate({"endpoint": "127.0.0.1:0"} | config), intake)
    return receiver, await receiver.start()


def channel(port: int) -> grpc.aio.Channel:
    """A connection of its own."""
    return grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])


@pytest.mark.parametrize("service", ["", *SERVICES])
async def test_health_is_serving(grpc_port: int, service: str) -> None:
    """Overall and for each OTLP service."""
    async with channel(grpc_port) as connection:
        stub: Any = health_pb2_grpc.HealthStub(connection)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
    assert answer.status == Status.SERVING


async def test_watchers_hear_of_the_shutdown_and_do_not_hold_it_up(intake: Intake) -> None:
    """Who watches our health is told NOT_SERVING; the deadline, of an hour here, is not waited for."""
    receiver, port = await started(intake)
    async with channel(port) as connection:
        stub: Any = health_pb2_grpc.HealthStub(connection)
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        seen = [(await watch.read()).status]
        stopping = asyncio.create_task(receiver.stop(3600))
        seen.append((await watch.read()).status)
        await stopping
    assert seen == [Status.SERVING, Status.NOT_SERVING]


async def test_what_comes_during_a_shutdown_is_acknowledged_only_if_stored(intake: Intake, sink: RecordingSink) -> None:
    """Over a new connection, while an earlier request still drains."""
    receiver, port = await started(intake)
    client = Client("grpc", port)
    sink.hold()
    under_way = asyncio.create_task(client.send(traces(span())))
    await sink.until_waiting(1)
    stopping = asyncio.create_task(receiver.stop(60))
    late = asyncio.create_task(client.send(traces(span())))
    await asyncio.wait((stopping, late), timeout=0.1)
    assert not stopping.done()
    sink.release()
    answers = await asyncio.gather(under_way, late)
    await stopping
    assert answers[0].ok
    assert answers[1].code in ("OK", "UNAVAILABLE", "CANCELLED")
    assert len(sink.spans) == sum(answer.ok for answer in answers)


async def test_unknown_methods_are_unimplemented(grpc_port: int) -> None:
    """Answered by grpcio's core."""
    async with channel(grpc_port) as connection:
        call = connection.unary_unary("/x.Y/Z", request_serializer=None, response_deserializer=None)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_deflate_is_taken(grpc_port: int, sink: RecordingSink) -> None:
    """GRPC's other compression."""
    async with channel(grpc_port) as connection:
        method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        call = connection.unary_unary(method, request_serializer=None, response_deserializer=None)
        body = traces(*spans(1, 2)).SerializeToString()
        assert await call(body, compression=grpc.Compression.Deflate) == b""
    assert len(sink.spans) == 2


async def test_truncated_gzip_is_answered_by_the_core(grpc_port: int, sink: RecordingSink) -> None:
    """INTERNAL, before our code sees anything; the server lives on. Spoken frame by frame: no client sends that."""
    body = gzip.compress(bytes(1000))[:-9]
    reader, writer = await asyncio.open_connection("127.0.0.1", grpc_port)
    writer.write(opening() + call(1, encoding="gzip") + message(1, body, compressed=True, last=True))
    heard = b""
    while b"grpc-status" not in heard:
        piece = await reader.read(65_536)
        assert piece, "closed without a status"
        heard += piece
    assert b"\x0bgrpc-status\x0213" in heard
    writer.close()
    await writer.wait_closed()
    assert sink.batches == []
    assert await Client("grpc", grpc_port).send(traces(span())) == Answer("OK")


@pytest.mark.parametrize("first", [b"", PREFACE[:10], PREFACE], ids=["nothing", "half a preface", "a preface"])
async def test_a_handshake_that_never_ends_is_given_up(intake: Intake, sink: RecordingSink, first: bytes) -> None:
    """Whoever does not speak HTTP/2 soon is disconnected; others are served."""
    receiver, port = await started(intake, handshake_seconds=0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    async with asyncio.timeout(5):
        assert not (await reader.read()).endswith(PREFACE)
    writer.close()
    assert (await Client("grpc", port).send(traces(span()))).ok
    assert len(sink.spans) == 1
    await receiver.stop(1)


async def test_an_idle_connection_is_closed_and_its_client_connects_again(intake: Intake, sink: RecordingSink) -> None:
    """No export is lost by it."""
    receiver, port = await started(intake, idle_seconds=0.1)
    async with channel(port) as connection:
        export = connection.unary_unary(METHODS["traces"], request_serializer=None, response_deserializer=None)
        await export(traces(span()).SerializeToString())
        async with asyncio.timeout(5):
            while connection.get_state() == grpc.ChannelConnectivity.READY:
                await connection.wait_for_state_change(grpc.ChannelConnectivity.READY)
        await export(traces(span()).SerializeToString())
    assert len(sink.spans) == 2
    await receiver.stop(1)


async def test_connections_are_bounded(intake: Intake, sink: RecordingSink) -> None:
    """Beyond the bound new ones are closed; once others have ended, they are taken again."""
    receiver, port = await started(intake, connections=2, handshake_seconds=0.2)
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
    async with asyncio.timeout(5):
        await asyncio.gather(*(reader.read() for reader, _ in held))
    for _, writer in held:
        writer.close()
    assert (await Client("grpc", port).send(traces(span()))).ok
    assert len(sink.spans) == 1
    await receiver.stop(1)
