"""Real traces, shuffled, with the collector stopped in the middle: the same findings as in one pure pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from collecting import ask, configured, settled

from tracejury.collector.app.service import Collector
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
    judging = {"quiet_seconds": 1.0, "rootless_seconds": 1.0}
    async with Collector(configured(dsn, judging=judging)) as collector:
        await replay(requests, f"127.0.0.1:{collector.grpc_port}", "grpc")
        if not settle:
            return []
        await settled(collector)
        page = await ask(collector, "/api/findings", profile="0", limit="1000")
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
