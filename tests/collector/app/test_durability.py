"""What `kill -9` may not take away: the real command as a process, killed under load."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import httpx
import processes
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_parts import span, text, traces
from processes import Serving, serving
from sizes import sized

from tracejury.collector.otlp.client import connect, encoded
from tracejury.schemas.errors import TracejuryError

SENDERS = 4
ENOUGH = sized(40, 200)

pytest.importorskip("chdb", reason="the embedded engine is not installed")


def trace_of(sender: int) -> bytes:
    """The trace id that a sender sends all its spans under."""
    return bytes([sender + 1]) * 16


async def send_until_killed(collector: Serving) -> dict[int, int]:
    """Each sender sends span after span; returns how many of them each got acknowledged."""
    acknowledged = dict.fromkeys(range(SENDERS), 0)

    async def send(sender: int) -> None:
        client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
        while True:
            number = acknowledged[sender] + 1
            item = span(
                trace_id=trace_of(sender),
                span_id=number.to_bytes(8),
                parent_span_id=b"" if number == 1 else (1).to_bytes(8),
                attributes=[text("openinference.span.kind", "AGENT" if number == 1 else "CHAIN")],
            )
            try:
                await client.send(encoded(traces(item)))
            except TracejuryError:
                return
            acknowledged[sender] = number
            if sum(acknowledged.values()) == ENOUGH:
                collector.process.send_signal(signal.SIGKILL)

    await asyncio.gather(*(send(n) for n in range(SENDERS)))
    return acknowledged


def test_an_acknowledged_span_survives_kill_9_and_is_judged_by_itself(tmp_path: Path) -> None:
    """Started again on the same store, the collector has every acknowledged span and judges without being asked."""
    with serving(tmp_path) as collector:
        acknowledged = asyncio.run(send_until_killed(collector))
        assert collector.process.wait(60) == -signal.SIGKILL
    assert sum(acknowledged.values()) >= ENOUGH
    (tmp_path / "quick.yaml").write_text("judging: {quiet_seconds: 0.2}\n")
    with serving(tmp_path, "--config", "quick.yaml") as collector, httpx.Client(base_url=collector.url) as client:
        for sender, count in acknowledged.items():
            trace = client.get(f"/api/traces/{trace_of(sender).hex()}").raise_for_status().json()
            # One more may have been stored without its acknowledgement having arrived.
            assert count <= trace["spans"] <= count + 1
        settled = 0
        while settled < SENDERS:  # the test's time-out is the limit
            settled = sum(row["state"] == "settled" for row in client.get("/api/traces").json()["items"])


async def send_all(collector: Serving, request: ExportTraceServiceRequest) -> None:
    await connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc").send(encoded(request))


NO_JUDGING = """
from tracejury.collector.judging.detect.worker import DetectWorker
DetectWorker.start = lambda worker: None
from tracejury.collector.cli import main; main()
"""


def test_every_acknowledged_trace_is_listed_from_the_first_answer_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before they are judged, and started again while judging is held back: they show as not judged."""
    monkeypatch.setattr(processes, "COMMAND", [sys.executable, "-c", NO_JUDGING])
    sent = {number.to_bytes(16).hex() for number in range(1, ENOUGH + 1)}
    with serving(tmp_path) as collector:
        asyncio.run(send_all(collector, traces(*(span(trace_id=bytes.fromhex(trace_id)) for trace_id in sent))))
        collector.process.send_signal(signal.SIGKILL)
        assert collector.process.wait(60) == -signal.SIGKILL
    with serving(tmp_path) as collector, httpx.Client(base_url=collector.url) as http:
        rows = http.get("/api/traces?limit=1000").raise_for_status().json()["items"]
        assert {(row["trace_id"], row["judged"]) for row in rows} == {(trace_id, False) for trace_id in sent}
        assert http.get("/api/export").headers["X-Tracejury-Unjudged-Traces"] == str(ENOUGH)
