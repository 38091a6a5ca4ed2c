"""The HTTP receiver: what its clients see."""

from __future__ import annotations

import asyncio
import gzip
import logging
import zlib
from collections.abc import Callable

import httpx
import pytest
from backports import zstd
from otlp_clients import MEDIA, Client
from otlp_parts import RecordingSink, json_body, span, traces

from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.http_protocol import HEAD_BYTES
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake

HELP = "OTLP/HTTP is POST /v1/traces, /v1/logs, /v1/metrics\n"


async def started(intake: Intake, **config: float) -> tuple[HttpReceiver, int]:
    """A receiver that a test stops itself."""
    receiver = HttpReceiver(HttpConfig.model_validate({"endpoint": "127.0.0.1:0"} | config), intake)
    return receiver, await receiver.start()


@pytest.mark.parametrize("protocol", ["http", "json"])
@pytest.mark.parametrize("bad", [False, True])
async def test_the_answer_is_written_as_the_request(http_port: int, protocol: str, bad: bool) -> None:  # noqa: FBT001 - a table
    """Success and refusal, in protobuf and in JSON."""
    client = Client(protocol, http_port)
    answer = await client.send_bytes(b"\xff" if bad else client.body(traces(span())))
    assert (answer.code, answer.media) == ("400" if bad else "200", MEDIA[protocol])


@pytest.mark.parametrize(
    "media", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;charset=UTF-8"]
)
async def test_content_types_may_have_parameters(http_port: int, sink: RecordingSink, media: str) -> None:
    """And be of any case."""
    body = json_body(traces(span()))
    answer = await Client("json", http_port).post("/v1/traces", body, {"content-type": media})
    assert answer.ok
    assert len(sink.spans) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-thrift"},
        {"content-type": "application/json", "content-encoding": "br"},
        {"content-type": "application/json", "content-encoding": "snappy"},
        {"content-type": "application/json", "content-encoding": "gzip, gzip"},
    ],
)
async def test_unknown_content_types_and_encodings_are_415(http_port: int, headers: dict[str, str]) -> None:
    """Refused for good, in JSON, which every client can show."""
    answer = await Client("json", http_port).post("/v1/traces", b"{}", headers)
    assert (answer.code, answer.retry, answer.media) == ("415", None, "application/json")


SAME = "http://collector.example"


@pytest.mark.parametrize(
    ("headers", "alone", "shared"),
    [
        ({"host": "localhost:4318"}, 200, 200),
        ({"host": "127.0.0.1"}, 200, 200),
        ({"host": "[::1]:4318"}, 200, 200),
        ({"host": "192.168.1.5:4318"}, 200, 200),
        ({"host": "agent-host"}, 200, 200),
        ({"host": "host.docker.internal:4318"}, 200, 200),
        ({"host": "collector.example"}, 403, 200),
        ({"host": "127.0.0.1.collector.example."}, 403, 200),
        ({"host": "[::1"}, 403, 200),
        ({"host": "collector.example", "origin": SAME}, 403, 200),
        ({"host": "collector.example", "origin": "http://evil.example"}, 403, 403),
        ({"host": "localhost:4318", "origin": "http://localhost:4318"}, 200, 200),
        ({"host": "localhost:4318", "origin": "http://localhost:3000"}, 403, 403),
        ({"host": "localhost:4318", "origin": "http://evil.example"}, 403, 403),
        ({"host": "localhost:4318", "origin": "null"}, 403, 403),
        ({"host": "localhost:4318", "sec-fetch-site": "cross-site"}, 403, 403),
    ],
)
async def test_pages_of_other_sites_may_send_nothing(
    intake: Intake, sink: RecordingSink, headers: dict[str, str], alone: int, shared: int
) -> None:
    """Nor one under a name of its own that it points here; exporters name the collector as they like."""
    body = json_body(traces(span()))
    for any_host, status in ((False, alone), (True, shared)):
        receiver = HttpReceiver(HttpConfig(endpoint="127.0.0.1:0"), intake, any_host=any_host)
        client = Client("json", await receiver.start())
        answer = await client.post("/v1/traces", body, {"content-type": "application/json"} | headers)
        assert (answer.code, answer.retry) == (str(status), None)
        await receiver.stop(1)
    assert len(sink.spans) == [alone, shared].count(200)


@pytest.mark.parametrize(
    ("coding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstd.compress)]
)
async def test_compressed_bodies_are_taken(
    http_port: int, sink: RecordingSink, coding: str, compress: Callable[[bytes], bytes]
) -> None:
    """In each coding, named in any case."""
    headers = {"content-type": "application/json", "content-encoding": coding.upper()}
    answer = await Client("json", http_port).post("/v1/traces", compress(json_body(traces(span()))), headers)
    assert answer.ok
    assert len(sink.spans) == 1


@pytest.mark.parametrize("body", [b"", gzip.compress(b"{}")[:-1], b"{}"], ids=["empty", "truncated", "plain"])
async def test_broken_gzip_is_refused_for_good(http_port: int, body: bytes) -> None:
    """It will be no better next time."""
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = await Client("json", http_port).post("/v1/traces", body, headers)
    assert (answer.code, answer.retry) == ("400", None)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/traces", 405),
        ("PUT", "/v1/logs", 405),
        ("GET", "/", 404),
        ("POST", "/v1/spans", 404),
        ("POST", "/v1/traces/", 404),
    ],
)
async def test_other_methods_and_paths_are_told_what_there_is(
    http_port: int, method: str, path: str, status: int
) -> None:
    """One line for the person who looks."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{http_port}") as http:
        answer = await http.request(method, path)
    assert (answer.status_code, answer.text) == (status, HELP)


async def test_a_connection_is_used_again(http_port: int, sink: RecordingSink) -> None:
    """Also after a refusal that came before the whole body was read."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{http_port}") as http:
        for content, media, status in (
            (bytes(65 << 20), "application/json", 413),
            (bytes(1 << 20), "text/plain", 415),
            (json_body(traces(span())), "application/json", 200),
        ):
            answer = await http.post("/v1/traces", content=content, headers={"content-type": media})
            assert answer.status_code == status
    assert len(sink.spans) == 1


async def test_a_body_without_length_is_bounded(http_port: int) -> None:
    """Chunked bodies announce nothing: they are counted as they come."""

    async def endless() -> object:
        chunk = bytes(1 << 20)
        for _ in range(65):
            yield chunk

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{http_port}") as http:
        answer = await http.post("/v1/traces", content=endless(), headers={"content-type": MEDIA["http"]})  # type: ignore[arg-type]
    assert answer.status_code == 413


async def test_an_endless_head_is_refused(http_port: int, sink: RecordingSink) -> None:
    """The head of a request is bounded like its body, however it arrives."""
    reader, writer = await asyncio.open_connection("127.0.0.1", http_port)
    writer.write(b"POST /v1/traces HTTP/1.1\r\nx: ")
    for _ in range(HEAD_BYTES // 1024 + 1):
        writer.write(bytes(b"a" * 1024))
        await writer.drain()
    assert (await reader.readline()).startswith(b"HTTP/1.1 400")
    writer.close()
    assert (await Client("http", http_port).send(traces(span()))).ok
    assert len(sink.spans) == 1


async def test_heads_below_the_bound_are_taken_one_after_the_other(http_port: int, sink: RecordingSink) -> None:
    """The bound is a request's, not a connection's."""
    headers = {"content-type": "application/json", "x-padding": "p" * (HEAD_BYTES // 2)}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{http_port}") as http:
        for _ in range(3):
            answer = await http.post("/v1/traces", content=json_body(traces(span())), headers=headers)
            assert answer.status_code == 200
    assert len(sink.spans) == 3


async def test_a_body_that_does_not_arrive_is_refused_retryably(intake: Intake) -> None:
    """A slow client holds its place for so long and no longer."""
    receiver, port = await started(intake, read_seconds=0.01)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{")
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert head.startswith(b"http/1.1 503")
    assert b"retry-after: 1" in head
    writer.close()
    await receiver.stop(1)
    assert (intake.inflight.requests, intake.inflight.bytes) == (0, 0)


async def test_a_client_that_leaves_costs_nothing(intake: Intake, http_port: int, sink: RecordingSink) -> None:
    """Half a body is no request."""
    _, writer = await asyncio.open_connection("127.0.0.1", http_port)
    writer.write(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await Client("http", http_port).send(traces(span()))).ok
    assert len(sink.spans) == 1
    assert intake.inflight.bytes <= 1


async def test_a_grpc_client_is_told_where_to_go(
    intake: Intake, http_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connection ends, and one line of the log, not one a connection, says which port it wanted."""
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            answer = await Client("grpc", http_port).send(traces(span()))
            assert answer.code == "UNAVAILABLE"
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("tracejury")]
    assert lines == [
        f"a gRPC client came to the OTLP/HTTP port {http_port}: gRPC is on port 4317 (or it may use http/protobuf)"
    ]
    assert intake.inflight.requests == 0


async def test_an_http_client_on_the_grpc_port_is_refused(grpc_port: int, sink: RecordingSink) -> None:
    """Grpcio's core ends the connection without a word to us; the server lives on."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{grpc_port}") as http:
        with pytest.raises(httpx.TransportError):
            await http.post("/v1/traces", content=b"", headers={"content-type": MEDIA["http"]})
    assert (await Client("grpc", grpc_port).send(traces(span()))).ok
    assert len(sink.spans) == 1
