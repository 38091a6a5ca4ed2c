"""Broken requests over gRPC: each is answered with a code that its client understands, and the next is served."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

import grpc
import pytest
from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_clients import METHODS, Client
from otlp_parts import SPAN, TRACE, RecordingSink, logs, nest_arrays, span, spans, text, traces
from sizes import sized

pytestmark = pytest.mark.timeout(sized(120, 3600))

REQUESTS = sized(400, 200_000)
"""Of each kind."""
AT_ONCE = 16
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
CODES = {"OK", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"}
"""What is no fault of ours: the request is fine in part, cannot be read, or is too large."""


def _metrics() -> ExportMetricsServiceRequest:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="tokens", unit="1")
    metric.sum.data_points.add(as_int=1, attributes=[text("a", "b")])
    return request


def _full_traces() -> Message:
    nested = KeyValue(key="deep", value=AnyValue(kvlist_value=KeyValueList(values=[text("a", "é")])))
    request = traces(
        span(
            attributes=[text("input.value", "hello " * 20), nested, KeyValue(key="list")],
            events=[{"name": "e", "time_unix_nano": 5, "attributes": [text("a", "b")]}],
            links=[{"trace_id": TRACE, "span_id": SPAN, "trace_state": "a=b"}],
            status={"code": 2, "message": "m"},
            kind=3,
            flags=1,
        ),
        *spans(2, 3),
    )
    nest_arrays(request.resource_spans[0].scope_spans[0].spans[0].attributes[2].value, 20)
    return request


VALID = {
    "traces": _full_traces(),
    "logs": logs(LogRecord(trace_id=TRACE, span_id=SPAN, body=AnyValue(string_value="line"))),
    "metrics": _metrics(),
}


def noise(chance: random.Random, _valid: bytes) -> bytes:
    """Any bytes."""
    return chance.randbytes(chance.choice((0, 1, 2, 10, 100, 1000)))


def mutated(chance: random.Random, valid: bytes) -> bytes:
    """A valid request with some of its bytes changed, removed, repeated or put elsewhere."""
    body = bytearray(valid)
    for _ in range(chance.randint(1, 4)):
        at, other = sorted(chance.randrange(len(body) + 1) for _ in range(2))
        change = chance.randrange(6)
        if change == 0 and body:
            body[min(at, len(body) - 1)] ^= 1 << chance.randrange(8)
        elif change == 1:
            del body[at : min(other, at + 8)]
        elif change == 2:
            body[at:at] = body[at:other]
        elif change == 3:
            body[at:at] = chance.randbytes(chance.randint(1, 4))
        elif change == 4:
            body[at : at + 1] = b"\xff" * chance.randint(1, 10)
        else:
            del body[other:]
    return bytes(body)


@pytest.mark.parametrize("make", [noise, mutated])
@pytest.mark.parametrize("signal", sorted(VALID))
async def test_broken_requests_are_answered(
    grpc_port: int, sink: RecordingSink, signal: str, make: Callable[[random.Random, bytes], bytes]
) -> None:
    """Never with UNKNOWN or INTERNAL, on which clients drop what they have, nor as if it were worth a retry."""
    chance, valid = random.Random(f"{signal} {make.__name__}"), VALID[signal].SerializeToString()  # noqa: S311 - repeatable
    async with grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
        export = channel.unary_unary(METHODS[signal], request_serializer=None, response_deserializer=None)

        async def code(body: bytes) -> str:
            try:
                await export(body, timeout=60)
            except grpc.aio.AioRpcError as error:
                return error.code().name
            return "OK"

        for _ in range(0, REQUESTS, AT_ONCE):
            bodies = [make(chance, valid) for _ in range(AT_ONCE)]
            for body, found in zip(bodies, await asyncio.gather(*map(code, bodies)), strict=True):
                assert found in CODES, f"{found} for {body.hex()}"
    await is_served(grpc_port, sink)


async def test_broken_connections_are_closed(grpc_port: int, sink: RecordingSink) -> None:
    """Frames of noise, with and without a proper beginning."""
    chance = random.Random("frames")  # noqa: S311 - repeatable
    for _ in range(0, REQUESTS, AT_ONCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", grpc_port)
        kind, body = chance.randrange(12), chance.randbytes(chance.choice((1, 9, 100)))
        frame = len(body).to_bytes(3) + bytes([kind, chance.randrange(256)]) + chance.randbytes(4) + body
        writer.write(chance.choice((b"", PREFACE, PREFACE + SETTINGS)) + frame)
        writer.write_eof()
        with suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), 30)
        writer.close()
    await is_served(grpc_port, sink)


async def is_served(port: int, sink: RecordingSink) -> None:
    """An honest export is taken and stored."""
    sink.batches.clear()
    answer = await Client("grpc", port).send(traces(span(name="honest")))
    assert (answer.code, answer.partial) == ("OK", False)
    assert [kept.name for kept in sink.spans] == ["honest"]
