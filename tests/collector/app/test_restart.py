"""Real traces, shuffled, with the collector stopped in the middle: the same findings as in one pure pass."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tracejury.collector.app.service import Collector
from tracejury.collector.config import load_config
from tracejury.collector.evaluation.predictions import predicted_from_json
from tracejury.collector.evaluation.run import judge_directly
from tracejury.collector.otlp.client import replay, shuffled
from tracejury.collector.otlp.codec.groups import Request
from tracejury.collector.otlp.files import read
from tracejury.judges.agreement import Predicted
from tracejury.judges.registry import default_suite
from tracejury.schemas.wire.errors import LocatedFindingJson

pytestmark = pytest.mark.trail

TRACES = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev" / "traces"
SOME = 8


def key(found: Predicted) -> tuple[str, str, str, str]:
    return (found.trace_id, found.span_id, found.judge, found.evidence)


async def take(dsn: str, requests: list[Request], *, settle: bool) -> list[Predicted]:
    """A collector's whole life: take requests, judge (or be stopped before that), answer."""
    free = {"endpoint": "127.0.0.1:0"}
    judging = {"quiet_seconds": 1.0, "rootless_seconds": 1.0}
    config = {"store": {"dsn": dsn}, "grpc": free, "http": free, "api": free, "judging": judging}
    async with Collector(load_config(None, config)) as collector:
        await replay(requests, f"127.0.0.1:{collector.grpc_port}", "grpc")
        if not settle:
            return []
        async with asyncio.timeout(60):
            while not collector.idle:  # noqa: ASYNC110  idleness is asked for, as any user of the collector does
                await asyncio.sleep(0.05)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{collector.api_port}") as client:
            page = (
                (await client.get("/api/findings", params={"profile": "0", "limit": "1000"})).raise_for_status().json()
            )
    assert page["next"] is None
    return [predicted_from_json(LocatedFindingJson.model_validate(item)) for item in page["items"]]


async def test_live_and_rebuilt_findings_are_identical(served_dsn: str) -> None:
    """Half before, half after a restart, in random order: whatever of it was judged live, the outcome is the same."""
    if not TRACES.exists():
        pytest.skip(f"the shared TRAIL traces are absent ({TRACES})")
    requests = [source.request for source in read(sorted(TRACES.iterdir())[:SOME])]
    mixed = shuffled(requests, seed=7)
    half = len(mixed) // 2
    await take(served_dsn, mixed[:half], settle=False)
    found = await take(served_dsn, mixed[half:], settle=True)
    expected = judge_directly(requests, default_suite()).findings
    assert sorted(map(key, found)) == sorted(map(key, expected))
    assert expected
