"""Arize Phoenix as the backend, from PyPI: real traces arrive, and what was found stands on the right spans."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from forwarding import configured, counted, figures
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury.collector.app.service import Collector
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.files import read

ROOT = Path(__file__).parents[4]
PROGRAM = ROOT / ".venv-phoenix" / "bin" / "phoenix"
TRACES = ROOT / ".." / "shared" / "data" / "trail" / "gaia-dev" / "traces"
SOME = 6

pytestmark = [
    pytest.mark.trail,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not PROGRAM.exists(), reason="Phoenix is not installed: make phoenix"),
    pytest.mark.skipif(not TRACES.exists(), reason=f"the shared TRAIL traces are absent ({TRACES})"),
]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Its addresses by protocol, with a database of its own; it calls nobody."""
    folder = tmp_path_factory.mktemp("phoenix")
    http, grpc = free_ports(2)
    settings = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(http),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PHOENIX_", "OTEL_"))} | settings
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([PROGRAM, "serve"], env=environment, stdout=log, stderr=log) as process,  # noqa: S603  ours
    ):
        try:
            asyncio.run(answering(f"http://127.0.0.1:{http}/healthz", process))
            yield {"http": f"http://127.0.0.1:{http}", "grpc": f"http://127.0.0.1:{grpc}"}
        finally:
            process.terminate()


async def answering(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until it serves."""
    async with httpx.AsyncClient() as client, asyncio.timeout(120):
        while process.poll() is None:
            try:
                (await client.get(url)).raise_for_status()
            except httpx.HTTPError:
                await asyncio.sleep(0.2)
            else:
                return
    pytest.fail("Phoenix ended at once")


async def pages(phoenix: dict[str, str], path: str, **params: Any) -> list[dict[str, Any]]:
    """All elements of a list of its REST API."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    async with httpx.AsyncClient(base_url=phoenix["http"], timeout=60) as client:
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = (await client.get(path, params={"limit": 1000, **params, **more})).raise_for_status().json()
            found += page["data"]
            cursor = page["next_cursor"]
            if not cursor:
                return found


async def spans_of(phoenix: dict[str, str], ids: set[str]) -> dict[str, dict[str, Any]]:
    """Its spans of these traces by id."""
    found = await pages(phoenix, "/v1/projects/default/spans")
    return {s["context"]["span_id"]: s for s in found if s["context"]["trace_id"] in ids}


async def annotations_of(phoenix: dict[str, str], span_ids: list[str]) -> list[dict[str, Any]]:
    """Its annotations of these spans."""
    found: list[dict[str, Any]] = []
    for start in range(0, len(span_ids), 50):
        some = span_ids[start : start + 50]
        found += await pages(phoenix, "/v1/projects/default/span_annotations", span_ids=some)
    return found


async def findings(collector: Collector) -> list[dict[str, Any]]:
    """What we found."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{collector.api_port}", timeout=60) as client:
        page = (await client.get("/api/findings", params={"limit": "1000"})).raise_for_status().json()
    assert page["next"] is None
    return list(page["items"])


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_real_traces_and_what_was_found_in_them_arrive(
    served_dsn: str, phoenix: dict[str, str], protocol: str
) -> None:
    """Every span with our attributes; over HTTP each finding as an annotation of its span. OTLP alone brings none."""
    files = sorted(TRACES.iterdir())
    requests = [s.request for s in read(files[:SOME] if protocol == "http" else files[SOME : 2 * SOME])]
    sent = {
        span.span_id.hex(): span.trace_id.hex()
        for request in requests
        if isinstance(request, ExportTraceServiceRequest)
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    }
    ways = ["attributes", "events", "carriers", *(["phoenix"] if protocol == "http" else [])]
    config = configured(served_dsn, {"endpoint": phoenix[protocol], "protocol": protocol, "annotations": ways})
    async with Collector(config) as collector:
        await replay(requests, f"127.0.0.1:{collector.grpc_port}", "grpc")
        await counted(collector, "sent_traces_total:backend-0", SOME)
        found = await findings(collector)
        assert figures(collector)["failed_spans_total:backend-0"] == 0
    assert found
    carriers: list[dict[str, Any]] = []
    received: dict[str, dict[str, Any]] = {}
    async with asyncio.timeout(120):
        while len(received) < len(sent) + len(found):
            await asyncio.sleep(0.2)  # it answers before it stores
            received = await spans_of(phoenix, set(sent.values()))
    for span_id, trace_id in sent.items():
        assert received[span_id]["context"]["trace_id"] == trace_id
        here = [f for f in found if f["span_id"] == span_id]
        assert received[span_id]["attributes"].get("tracejury.findings.count", 0) == len(here)
    carriers = [s for s in received.values() if s["span_kind"] == "EVALUATOR"]
    assert sorted(c["parent_id"] for c in carriers) == sorted(f["span_id"] for f in found)
    wanted = {(f["span_id"], f["id"], f["category"]) for f in found} if protocol == "http" else set()
    noted: list[dict[str, Any]] = []
    async with asyncio.timeout(120):
        while len(noted) < len(wanted):
            await asyncio.sleep(0.2)  # it puts annotations off until it has stored their spans
            noted = await annotations_of(phoenix, list(sent))
    noted = await annotations_of(phoenix, list(sent))
    assert {(a["span_id"], a["identifier"], a["result"]["label"]) for a in noted} == wanted
    assert {a["annotator_kind"] for a in noted} <= {"CODE"}
    assert all(a["metadata"]["judge"] and "Evidence:" in a["result"]["explanation"] for a in noted)
