"""One request against backends that refuse, hang, hang up and talk nonsense: tried again, split, counted, or kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from otlp_backend import Act, Backend, grpc_backend, http_backend
from otlp_parts import spans, traces

from tracejury.collector.otlp.client.backend_connection import BackendConnection
from tracejury.collector.otlp.client.connect import client_of
from tracejury.collector.otlp.client.export_request import ExportRequest, ExportSignal, phoenix_request
from tracejury.collector.otlp.client.grpc_client import GrpcClient
from tracejury.collector.outbound.otlp.counts import ExportCounts
from tracejury.collector.outbound.otlp.delivery import ASK_AGAIN, MAX_SPLITS, BackendUnavailableError, Delivery
from tracejury.collector.worker.retry import RetryPolicy

SECRET = "Bearer sesame-open-1234"
RETRY = RetryPolicy(first=1.0, longest=8.0, longest_asked=30.0)


class Desk:
    """A delivery to a backend; its pauses are noted, not waited for."""

    def __init__(self, backend: Backend, protocol: str, patience: float) -> None:
        self.pauses: list[float] = []
        self.now = 0.0
        self.counts = ExportCounts()
        connection = BackendConnection(backend.url, {"authorization": SECRET}, timeout=patience)
        self.sender = client_of(connection, grpc=protocol == "grpc")
        self.delivery = Delivery(
            "there", self.sender, self.counts, RETRY, connection.secrets, sleep=self._pause, clock=lambda: self.now
        )

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


@asynccontextmanager
async def desk(protocol: str, patience: float = 20.0) -> AsyncIterator[tuple[Desk, Backend]]:
    """A delivery and the backend that it leads to."""
    async with (grpc_backend if protocol == "grpc" else http_backend)() as backend:
        made = Desk(backend, protocol, patience)
        try:
            yield made, backend
        finally:
            await made.sender.close()


def request(*ids: int) -> ExportRequest:
    """Spans of these ids."""
    return ExportRequest(ExportSignal.TRACES, traces(*spans(*ids)).SerializeToString(), len(ids))


PASSING = [
    ("http", Act(status=503)),
    ("http", Act(status=429)),
    ("http", Act(status=502)),
    ("http", Act(drops=True)),
    ("http", Act(raw=b"SSH-2.0-nonsense\r\n\r\n")),
    ("http", Act(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf")),
    ("http", Act(status=503, headers={"retry-after": f"Fri, 31 Dec 2026 23:59:59 +{'9' * 14}"})),
    ("grpc", Act(code=grpc.StatusCode.UNAVAILABLE)),
    ("grpc", Act(code=grpc.StatusCode.UNAVAILABLE, body=b"no status at all")),
    ("grpc", Act(code=grpc.StatusCode.ABORTED)),
    ("grpc", Act(code=grpc.StatusCode.RESOURCE_EXHAUSTED, retry=2.0)),
]


@pytest.mark.parametrize(("protocol", "act"), PASSING)
async def test_what_may_pass_is_tried_again(protocol: str, act: Act) -> None:
    """Twice it fails, the third time it arrives: once."""
    async with desk(protocol) as (made, backend):
        backend.script.extend([act, act])
        await made.delivery.deliver(request(1, 2, 3))
        assert [s.span_id for s in backend.spans] == [n.to_bytes(8) for n in (1, 2, 3)]
    assert (made.counts.sent_spans, made.counts.retries, made.counts.failed_spans) == (3, 2, 0)
    assert len(made.pauses) == 2


@pytest.mark.parametrize(("protocol", "act"), PASSING)
async def test_a_backend_that_goes_on_failing_is_away_and_nothing_is_lost(protocol: str, act: Act) -> None:
    """After three tries the request is handed back; nothing counts as sent or failed."""
    async with desk(protocol) as (made, backend):
        backend.always = lambda _signal, _request: act
        with pytest.raises(BackendUnavailableError):
            await made.delivery.deliver(request(1))
    assert (made.counts.sent_spans, made.counts.failed_spans, made.counts.retries) == (0, 0, 3)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_backend_that_hangs_is_left_after_the_time_out(protocol: str) -> None:
    """As if it had refused."""
    async with desk(protocol, patience=0.05) as (made, backend):
        backend.always = lambda _signal, _request: Act(hangs=True)
        with pytest.raises(BackendUnavailableError, match=r"no answer within|DEADLINE_EXCEEDED"):
            await made.delivery.deliver(request(1), tries=1)


@pytest.mark.parametrize(
    ("protocol", "act"),
    [
        ("http", Act(status=503, headers={"retry-after": "7"})),
        ("grpc", Act(code=grpc.StatusCode.UNAVAILABLE, retry=7.0)),
    ],
)
async def test_a_pause_that_is_asked_for_is_kept(protocol: str, act: Act) -> None:
    """Retry-After and RetryInfo; but never longer than allowed."""
    async with desk(protocol) as (made, backend):
        backend.script.append(act)
        await made.delivery.deliver(request(1))
    assert made.pauses == [7.0]
    assert RETRY.delay(1, 1e9) == RETRY.longest_asked


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_partial_success_is_counted_and_not_sent_again(protocol: str) -> None:
    """The protocol forbids that."""
    async with desk(protocol) as (made, backend):
        backend.script.append(Act(rejected=2))
        await made.delivery.deliver(request(1, 2, 3))
        assert backend.asked == ["traces"]
    assert (made.counts.sent_spans, made.counts.failed_spans) == (1, 2)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_request_that_is_too_large_is_halved_until_it_fits(protocol: str) -> None:
    """Nothing is lost, and nothing arrives twice."""
    async with desk(protocol) as (made, backend):
        backend.always = lambda _signal, _request: Act(most_items=2)
        await made.delivery.deliver(request(*range(1, 8)))
        assert [s.span_id for s in backend.spans] == [n.to_bytes(8) for n in range(1, 8)]
    assert made.counts.sent_spans == 7
    assert made.counts.split >= 3


@pytest.mark.parametrize(("protocol", "act"), [("http", Act(status=400)), ("grpc", Act(code=grpc.StatusCode.INTERNAL))])
async def test_of_a_request_that_is_refused_only_the_culprit_is_lost(protocol: str, act: Act) -> None:
    """It is found by halving."""
    culprit = (5).to_bytes(8)

    def judge(_signal: str, request: Any) -> Act:
        found = {s.span_id for r in request.resource_spans for c in r.scope_spans for s in c.spans}
        return act if culprit in found else Act()

    async with desk(protocol) as (made, backend):
        backend.always = judge
        await made.delivery.deliver(request(*range(1, 9)))
        assert {s.span_id for s in backend.spans} == {n.to_bytes(8) for n in range(1, 9)} - {culprit}
    assert (made.counts.sent_spans, made.counts.failed_spans, made.counts.retries) == (7, 1, 0)


async def test_looking_for_culprits_is_bounded() -> None:
    """A backend that refuses everything costs so many requests, and all that is refused is counted."""
    async with desk("http") as (made, backend):
        backend.always = lambda _signal, _request: Act(status=400)
        await made.delivery.deliver(request(*range(1, 1001)))
        assert len(backend.asked) == 2 * MAX_SPLITS + 1
    assert made.counts.failed_spans == 1000


@pytest.mark.parametrize(
    ("protocol", "act"),
    [
        ("http", Act(status=401)),
        ("http", Act(status=404)),
        ("http", Act(status=415)),
        ("http", Act(status=501)),
        ("http", Act(status=302, headers={"location": "/login"})),
        ("http", Act(headers={"content-type": "text/html"}, body=b"<html>hello</html>")),
        ("grpc", Act(code=grpc.StatusCode.UNAUTHENTICATED)),
        ("grpc", Act(code=grpc.StatusCode.UNIMPLEMENTED)),
    ],
)
async def test_a_closed_door_loses_nothing(protocol: str, act: Act) -> None:
    """A wrong key or address is for people to mend; the spans wait for that."""
    async with desk(protocol) as (made, backend):
        backend.always = lambda _signal, _request: act
        with pytest.raises(BackendUnavailableError):
            await made.delivery.deliver(request(1))
        assert len(backend.asked) == 1, "it will not change within seconds"
    assert made.counts.failed_spans == 0


@pytest.mark.parametrize("status", [401, 403, 404, 415, 501])
async def test_a_backend_without_annotations_is_asked_now_and_then(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says so, and one that it takes them by now: a key may be mended without a restart."""
    caplog.set_level(logging.INFO, "tracejury")
    async with desk("http") as (made, backend):
        backend.always = lambda _signal, _request: Act(status=status)
        for _ in range(3):
            await made.delivery.deliver(phoenix_request([{"span_id": "1"}]))
        assert len(backend.asked) == 1
        for _ in range(2):
            made.now += ASK_AGAIN
            await made.delivery.deliver(phoenix_request([{"span_id": "1"}]))
            await made.delivery.deliver(phoenix_request([{"span_id": "1"}]))
        assert len(backend.asked) == 3
        assert made.delivery.closed() == 1
        backend.always = lambda _signal, _request: Act()
        made.now += ASK_AGAIN
        for _ in range(2):
            await made.delivery.deliver(phoenix_request([{"span_id": "1"}]))
        assert len(backend.asked) == 5
    assert made.delivery.closed() == 0
    assert (made.counts.failed_records, made.counts.sent_records) == (7, 2)
    assert [r.getMessage() for r in caplog.records] == [
        f"backend there takes no annotations, is sent none and asked again every 300 s: HTTP {status}: no",
        "backend there takes annotations by now",
    ]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_what_a_backend_repeats_of_a_key_is_not_shown(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its answers reach the log, and so may what they quote."""
    from google.rpc.status_pb2 import Status

    async with desk(protocol) as (made, backend):
        said = Status(message=f"no such key: {SECRET}").SerializeToString()
        backend.script.append(
            Act(code=grpc.StatusCode.INTERNAL)
            if protocol == "grpc"
            else Act(status=400, body=said, headers={"content-type": "application/x-protobuf"})
        )
        await made.delivery.deliver(request(1))
        backend.script.append(Act(status=401, body=said, code=grpc.StatusCode.UNAUTHENTICATED))
        with pytest.raises(BackendUnavailableError) as caught:
            await made.delivery.deliver(request(1))
    assert "sesame" not in caplog.text + str(caught.value)
    assert caplog.text


async def test_headers_reach_the_backend_and_the_body_is_compressed() -> None:
    """Over both protocols."""
    for protocol in ("http", "grpc"):
        async with desk(protocol) as (made, backend):
            await made.delivery.deliver(request(1))
            (taken,) = backend.taken
            assert taken.headers["authorization"] == SECRET
            if protocol == "http":
                assert taken.headers["content-encoding"] == "gzip"
                assert taken.headers[":path"] == "/v1/traces"


async def test_binary_metadata_reaches_a_grpc_backend_as_bytes() -> None:
    """Given as base64, with or without its padding."""
    async with grpc_backend() as backend:
        sender = GrpcClient(BackendConnection(backend.url, {"X-A-Bin": "AAH/", "x-b-bin": "/w"}))
        try:
            await sender.send(request(1))
        finally:
            await sender.close()
        (taken,) = backend.taken
    assert (taken.headers["x-a-bin"], taken.headers["x-b-bin"]) == (b"\x00\x01\xff", b"\xff")


@pytest.mark.parametrize("endpoint", ["http://[::1]", "http://[::1]:4317"])
async def test_an_ipv6_endpoint_needs_no_port(endpoint: str) -> None:
    """Of gRPC it is 4317, as with any other host."""
    sender = GrpcClient(BackendConnection(endpoint, timeout=1))
    try:
        assert sender.target == "[::1]:4317"
    finally:
        await sender.close()


async def test_giving_up_in_the_middle_is_possible_at_once() -> None:
    """A shutdown does not wait for a backend that hangs."""
    async with desk("http", patience=600) as (made, backend):
        backend.always = lambda _signal, _request: Act(hangs=True)
        task = asyncio.create_task(made.delivery.deliver(request(1)))
        await backend.until(lambda: bool(backend.asked))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
