"""Replay against the real receivers: everything arrives, retries are honoured and bounded, refusals are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury.collector.otlp.client import ReplayResult, connect, replay, replay_files, send_all
from tracejury.collector.otlp.client.export_request import ExportRequest, encoded
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding
from tracejury.collector.otlp.files import BrokenFileError
from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import ConfigError, OverloadedError, PermanentError, RetryableError
from tracejury.schemas.spans import LogRecord, Span

TRACE = bytes(range(16))


def spans(*ids: int, trace: bytes = TRACE, size: int = 0) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for i in ids:
        scope.spans.add(trace_id=trace, span_id=i.to_bytes(8, "big"), name="x" * size, start_time_unix_nano=1)
    return request


def logs() -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add(trace_id=TRACE, span_id=bytes(range(8)))
    return request


class RecordingSink:
    """Keeps what it is given; raises the errors of its script first, one a request."""

    def __init__(self, *script: Exception) -> None:
        self.script = list(script)
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.sizes: list[int] = []
        self.asked = 0

    async def submit(self, batch: Batch) -> int:
        """Raise what the script says, else keep the batch."""
        self.asked += 1
        if self.script:
            raise self.script.pop(0)
        self.spans += batch.spans
        self.logs += batch.logs
        self.sizes.append(len(batch.spans))
        return 0


Receive = Callable[..., Awaitable[tuple[RecordingSink, str]]]


@pytest.fixture(params=["grpc", "http", "json"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def receive(protocol: str) -> AsyncIterator[Receive]:
    """Starts the real receiver of the protocol in front of a recording sink; gives the sink and the endpoint."""
    stops: list[Callable[[], Awaitable[None]]] = []

    async def start(*script: Exception, limits: Limits | None = None) -> tuple[RecordingSink, str]:
        sink = RecordingSink(*script)
        intake = Intake(sink, limits=limits)
        receiver: GrpcReceiver | HttpReceiver
        if protocol == "grpc":
            receiver = GrpcReceiver(GrpcConfig(endpoint="127.0.0.1:0"), intake)
        else:
            receiver = HttpReceiver(HttpConfig(endpoint="127.0.0.1:0"), intake)
        port = await receiver.start()
        stops.append(lambda: receiver.stop(1.0))
        return sink, f"http://127.0.0.1:{port}"

    yield start
    for stop in stops:
        await stop()


async def test_everything_arrives(receive: Receive, protocol: str) -> None:
    """Spans and log records over every protocol, counted; large requests arrive in parts of at most 512 spans."""
    sink, endpoint = await receive()
    counts = await replay([spans(*range(1, 1100)), logs(), spans(2000)], endpoint, protocol)
    assert {s.span_id for s in sink.spans} == {f"{i:016x}" for i in (*range(1, 1100), 2000)}
    assert sorted(n for n in sink.sizes if n) == [1, 75, 512, 512]
    assert len(sink.logs) == 1
    assert (counts.spans, counts.logs, counts.sent, counts.rejected, counts.retried) == (1100, 1, 1101, 0, 0)
    assert counts.requests == 5
    assert counts.seconds > 0


async def test_passing_refusals_are_tried_again_when_the_receiver_says(receive: Receive, protocol: str) -> None:
    """RetryInfo and Retry-After are waited out; nothing is lost and nothing counted as rejected."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    sink, endpoint = await receive(OverloadedError("full", retry_after=7.0), RetryableError("down", retry_after=3.0))
    client = connect(endpoint, protocol)
    try:
        encoding = Encoding.JSON if protocol == "json" else Encoding.PROTOBUF
        counts = await send_all([encoded(spans(1), encoding)], client, sleep=sleep)
    finally:
        await client.close()
    assert waits == [7.0, 3.0]
    assert (counts.retried, counts.sent, counts.rejected) == (2, 1, 0)
    assert len(sink.spans) == 1


async def test_final_refusals_are_counted_and_the_rest_goes_on(receive: Receive, protocol: str) -> None:
    """A request that will never be taken costs its own items only, and its reason is kept once."""
    sink, endpoint = await receive(PermanentError("never"), PermanentError("never"))
    counts = await replay([spans(1, 2), spans(3), spans(4)], endpoint, protocol, in_flight=1)
    assert (counts.sent, counts.rejected, counts.retried) == (1, 3, 0)
    assert [m for m in counts.messages if "never" in m] == counts.messages
    assert len(counts.messages) == 1
    assert [s.span_id for s in sink.spans] == [f"{4:016x}"]


async def test_too_large_is_final(receive: Receive, protocol: str) -> None:
    """RESOURCE_EXHAUSTED without RetryInfo and 413 are not tried again; a span too large for a part goes alone."""
    sink, endpoint = await receive(limits=Limits(request_bytes=5_000_000))
    counts = await replay([spans(1), spans(2, 3, size=6_000_000)], endpoint, protocol)
    assert (counts.sent, counts.rejected, counts.retried, counts.requests) == (1, 2, 0, 3)
    assert [s.span_id for s in sink.spans] == [f"{1:016x}"]


async def test_partial_success_is_reported(receive: Receive, protocol: str) -> None:
    """Spans that the receiver rejects within a good request are counted, with its words."""
    request = spans(1, 2)
    request.resource_spans[0].scope_spans[0].spans.add(trace_id=bytes(16), span_id=bytes(8), name="no ids")
    sink, endpoint = await receive()
    counts = await replay([request], endpoint, protocol)
    assert (counts.sent, counts.rejected) == (2, 1)
    assert counts.messages
    assert len(sink.spans) == 2


async def test_it_gives_up_after_its_tries(receive: Receive, protocol: str) -> None:
    """A receiver that never recovers ends the replay with the last reason, after exactly so many tries."""
    sink, endpoint = await receive(*[OverloadedError("full", retry_after=0.001)] * 10)
    with pytest.raises(RetryableError, match=r"gave up after 3 tries.*full"):
        await replay([spans(1)], endpoint, protocol, retry=RetryPolicy(tries=3, longest_asked=0.001))
    assert sink.asked == 3


@pytest.mark.parametrize("protocol", ["grpc", "http", "json"])
async def test_nobody_at_home_is_said_at_once(protocol: str) -> None:
    """One clear line without waiting for retries."""
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(RetryableError, match=f"nothing listens at 127.0.0.1:{port}"):
        await replay([spans(1)], f"127.0.0.1:{port}", protocol)


async def test_the_other_ports_protocol_is_named() -> None:
    """HTTP sent to a server that answers with something else: the last reason asks whether it is the gRPC port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"\x00\x00\x06\x04\x00\x00\x00\x00\x00")  # an HTTP/2 settings frame
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        endpoint = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(RetryableError, match=r"gave up after 2 tries.*gRPC port"):
            await replay([spans(1)], endpoint, "http", retry=RetryPolicy(tries=2, first=0.001))


async def test_files_are_replayed_from_synchronous_code(receive: Receive, protocol: str, tmp_path: Path) -> None:
    """The command's own entry: a folder, progress by file to its end, new ids where asked for."""
    for name in ("a.pb", "b.pb"):
        (tmp_path / name).write_bytes(spans(1, 2).SerializeToString())
    steps: list[tuple[int, int]] = []
    sink, endpoint = await receive()

    def work() -> ReplayResult:
        return replay_files(
            [tmp_path], endpoint, protocol, fresh_ids=True, progress=lambda done, total, _: steps.append((done, total))
        )

    counts = await asyncio.to_thread(work)
    assert (counts.spans, counts.sent) == (4, 4)
    assert steps == [(0, 2), (1, 2), (2, 2)]
    assert len({s.span_id for s in sink.spans}) == 2
    assert TRACE.hex() not in {s.trace_id for s in sink.spans}


async def test_a_broken_file_in_a_folder_is_passed_over(receive: Receive, protocol: str, tmp_path: Path) -> None:
    """Its neighbours are sent, and it is named; named outright it ends the replay."""
    (tmp_path / "a.pb").write_bytes(spans(1).SerializeToString())
    (tmp_path / "b.pb").write_bytes(b"\x99garbage")
    (tmp_path / "c.pb").write_bytes(spans(2).SerializeToString())
    sink, endpoint = await receive()
    counts = await asyncio.to_thread(replay_files, [tmp_path], endpoint, protocol)
    assert counts.sent == len(sink.spans) == 2
    (line,) = counts.broken
    assert "b.pb" in line
    with pytest.raises(BrokenFileError, match=r"b\.pb"):
        await asyncio.to_thread(replay_files, [tmp_path / "b.pb"], endpoint, protocol)


def test_a_broken_file_ends_a_replay(tmp_path: Path) -> None:
    """With the line that names it; a closed port is noticed before."""
    (tmp_path / "a.pb").write_bytes(b"\x99garbage")
    with pytest.raises(RetryableError, match="nothing listens"):
        replay_files([tmp_path], "127.0.0.1:1")
    with pytest.raises(BrokenFileError, match="no such file"):
        replay_files([tmp_path / "nowhere"], "127.0.0.1:1")


class ScriptedClient:
    """A receiver in one object: counts how many requests are with it at once, refuses what its script says."""

    def __init__(self, *, refuse: int = 0) -> None:
        self.now = self.most = 0
        self.refuse = refuse

    async def send(self, request: ExportRequest) -> PartialSuccess:
        """Take one turn of the loop, so that others get in."""
        assert request.body
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        if self.refuse:
            self.refuse -= 1
            raise RetryableError("later", retry_after=0.0)
        return PartialSuccess()

    async def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize("in_flight", [1, 3])
async def test_requests_in_flight_are_bounded(in_flight: int) -> None:
    """Never more than asked for, and all of them are sent."""
    client = ScriptedClient()
    watched = ReplayResult()
    counts = await send_all([encoded(spans(i)) for i in range(1, 40)], client, in_flight=in_flight, result=watched)
    assert client.most <= in_flight
    assert counts is watched
    assert counts.spans == 39


async def test_waits_double_within_bounds_where_the_receiver_says_nothing() -> None:
    """Each wait is the last one doubled, minus up to half of it as jitter, never above the longest."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    policy = RetryPolicy(first=1.0, longest=8.0, longest_asked=60.0, tries=8)
    await send_all([encoded(spans(1))], ScriptedClient(refuse=6), retry=policy, sleep=sleep)
    full = [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert all(whole / 2 <= wait <= whole for wait, whole in zip(waits, full, strict=True))


async def test_what_reading_raises_ends_the_replay() -> None:
    """A broken file in the middle: what stood before is sent, the error comes out as it is."""

    def requests() -> Iterator[ExportRequest]:
        yield encoded(spans(1))
        raise PermanentError("broken file")

    watched = ReplayResult()
    with pytest.raises(PermanentError, match="broken file"):
        await send_all(requests(), ScriptedClient(), in_flight=1, result=watched)
    assert watched.spans == 1


@pytest.mark.parametrize(
    ("endpoint", "protocol"),
    [("127.0.0.1:4317", "smoke"), ("ftp://x:1", "grpc"), ("http://", "http"), ("x:port", "grpc"), ("x:70000", "json")],
)
def test_what_cannot_be_connected_to(endpoint: str, protocol: str) -> None:
    """A protocol that does not exist or an endpoint that is none is one clear line."""
    with pytest.raises(ConfigError, match=r"unknown protocol|not an endpoint"):
        connect(endpoint, protocol)
