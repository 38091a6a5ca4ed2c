"""What `kill -9` may not take away or double downstream: the real command as a process, killed while it passes on."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
import yaml
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_backend import Act, Backend, http_backend
from processes import Serving, serving
from sizes import sized
from weather_agent import agent, trace_id

from tracejury.collector.otlp.client import replay
from tracejury.schemas.errors import TracejuryError

TRACES, KILLS = sized(20, 60), sized(2, 3)

pytest.importorskip("chdb", reason="the embedded engine is not installed")


def configuration(folder: Path, url: str) -> Path:
    """Small requests, so that there is a middle to be killed in."""
    backend = {"name": "there", "endpoint": url, "max_request_bytes": 8192, "timeout_seconds": 30}
    file = folder / "config.yaml"
    file.write_text(
        yaml.safe_dump(
            {
                "judging": {"quiet_seconds": 0.2},
                "export": {"otlp": [backend], "retry_first_seconds": 0.05, "retry_longest_seconds": 0.2},
            }
        )
    )
    return file


async def feed(collector: Serving) -> None:
    """Failing traces, each acknowledged unless the collector is gone by then."""
    for number in range(1, TRACES + 1):
        try:
            await replay([agent(number, fault=True)], f"127.0.0.1:{collector.ports['grpc']}", "grpc")
        except TracejuryError:
            return


def complete(backend: Backend) -> bool:
    """Whether every span of every trace has arrived, and an annotation of each."""
    spans = {(s.trace_id, s.span_id) for s in backend.spans}
    wanted = {(trace_id(n), i) for n in range(1, TRACES + 1) for i in (b"agent001", b"llm00001", b"tool0001")}
    return wanted <= spans and {r.trace_id for r in backend.records} == {trace_id(n) for n in range(1, TRACES + 1)}


def identifier(span: Span) -> str:
    """Of the evaluation that a carrier carries, "" for other spans."""
    key = "evaluations.0.evaluation.identifier"
    return next((pair.value.string_value for pair in span.attributes if pair.key == key), "")


async def asked_more(backend: Backend, times: int) -> None:
    """Wait until the backend was asked so many times more."""
    least = len(backend.asked) + times
    await backend.until(lambda: len(backend.asked) >= least)


async def test_every_trace_arrives_and_no_annotation_under_two_ids(tmp_path: Path) -> None:
    """Killed a few times in the middle, by a backend that breaks off now and then: all is there, nothing is double."""
    async with http_backend() as backend:
        file = configuration(tmp_path, backend.url)
        for life in range(KILLS + 1):
            manager = serving(tmp_path, "--config", str(file))
            collector = await asyncio.to_thread(manager.__enter__)
            try:
                if life == 0:
                    await feed(collector)
                if life == KILLS:
                    await backend.until(lambda: complete(backend))
                    break
                backend.script.extend([Act(), Act(), Act(drops=True), Act(status=503)])
                await asked_more(backend, 4)
                collector.process.send_signal(signal.SIGKILL)
                await asyncio.to_thread(collector.process.wait, 60)
            finally:
                await asyncio.to_thread(manager.__exit__, None, None, None)
    carried: dict[str, set[bytes]] = {}
    for span in backend.spans:
        if identifier(span):
            carried.setdefault(identifier(span), set()).add(span.span_id)
    assert len(carried) == TRACES, "one finding a trace"
    assert all(len(ids) == 1 for ids in carried.values())
