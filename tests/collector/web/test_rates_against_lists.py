"""Lists against the rates that lead to them, on real traces replayed over OTLP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from processes import Serving, serving

from tracejury.collector.otlp.client import replay_files

pytestmark = [pytest.mark.trail, pytest.mark.timeout(240)]

TRACES = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev" / "traces"
FEW = 6
SECONDS = 60.0


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector that has judged a few real traces."""
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    if not TRACES.is_dir():
        pytest.skip("the shared TRAIL traces are not there")
    with serving(tmp_path_factory.mktemp("newcomer")) as started:
        files = sorted(TRACES.glob("*.json.gz"))[:FEW]
        replay_files(files, f"http://127.0.0.1:{started.ports['grpc']}", "grpc")
        until = time.monotonic() + SECONDS
        while len(httpx.get(f"{started.url}/api/traces").json()["items"]) < FEW and time.monotonic() < until:
            time.sleep(0.1)
        while not httpx.get(f"{started.url}/api/errors?severity=HIGH").json()["items"] and time.monotonic() < until:
            time.sleep(0.1)
        yield started


def test_a_rate_links_to_as_many_failing_runs_traces(collector: Serving) -> None:
    """What a break-down counts, the list behind its link shows: every trace there has such a finding."""
    with httpx.Client(base_url=collector.url) as client:
        found = client.get("/api/errors?profile=balanced&limit=1000").json()["items"]
        category = found[0]["category"]
        traces = client.get("/traces", params={"category": category, "severity": "LOW"}).text
        linked = {item["trace_id"] for item in found if item["category"] == category}
        assert all(f"/traces/{trace_id}" in traces for trace_id in linked)
