"""A second tracejury as the backend: it judges what arrives as the first one did, and its rates are the first one's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collecting import ask, send, settled
from forwarding import configured, counted
from otlp_backend import http_backend
from weather_agent import agent

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.files import read

TRACES = Path(__file__).parents[5] / "shared" / "data" / "trail" / "gaia-dev" / "traces"
SOME = 8
MANY, FAILING, HEALTHY = 80, 2, 0.03


async def findings(collector: Collector) -> set[tuple[str, ...]]:
    """What was found, and where."""
    page = await ask(collector, "/api/findings", profile="0", limit="1000")
    assert page["next"] is None
    return {(f["trace_id"], f["span_id"], f["judge"], f["evidence"]) for f in page["items"]}


def through(dsn: str, second: Collector, protocol: str, **export: Any) -> CollectorConfig:
    """The first collector, in front of the second."""
    port = second.grpc_port if protocol == "grpc" else second.http_port
    return configured(dsn, {"endpoint": f"http://127.0.0.1:{port}", "protocol": protocol}, **export)


@pytest.mark.trail
@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_real_traces_are_judged_the_same_downstream(served_dsn: str, second_dsn: str, protocol: str) -> None:
    """Carriers, events and attributes beside the spans change nothing of what is found."""
    if not TRACES.exists():
        pytest.skip(f"the shared TRAIL traces are absent ({TRACES})")
    requests = [source.request for source in read(sorted(TRACES.iterdir())[:SOME])]
    async with Collector(configured(second_dsn)) as second:
        async with Collector(through(served_dsn, second, protocol)) as first:
            await replay(requests, f"127.0.0.1:{first.grpc_port}", "grpc")
            await counted(first, "sent_traces_total:backend-0", SOME)
            await settled(first)
            upstream = await findings(first)
        await settled(second)
        assert await findings(second) == upstream
        assert upstream


async def test_of_a_twentieth_the_second_tells_the_rate_of_the_first(served_dsn: str, second_dsn: str) -> None:
    """Failing traces and 3 % of the healthy ones arrive; the rate downstream is the first one's within its interval."""
    requests = [agent(n, fault=n % (MANY // FAILING) == 1) for n in range(1, MANY + 1)]
    async with Collector(configured(second_dsn)) as second:
        config = through(served_dsn, second, "http", sampling={"healthy": HEALTHY})
        async with Collector(config) as first:
            await send(first, *requests)
            await settled(first)
            true = (await ask(first, "/api/rates", unit="trace"))["total"]
            await counted(first, "sampled_out_traces_total:backend-0", MANY * 0.9)
        await settled(second)
        found = (await ask(second, "/api/rates", unit="trace"))["total"]
    assert true["judged"] == MANY
    assert true["share"]["value"] == pytest.approx(FAILING / MANY)
    assert FAILING <= found["judged"] < MANY * 0.1
    assert found["hits"] == FAILING
    assert found["sampled"]
    assert found["share"]["low"] <= true["share"]["value"] <= found["share"]["high"]


async def test_what_comes_back_changes_no_rate(served_dsn: str) -> None:
    """A backend sends back the tenth of the healthy traces that it got: here they stand for themselves, as before."""
    many, failing = 60, 6
    async with http_backend() as backend:
        config = configured(served_dsn, {"endpoint": backend.url}, sampling={"healthy": 0.3})
        async with Collector(config) as collector:
            await send(collector, *(agent(n, fault=n <= failing) for n in range(1, many + 1)))
            await settled(collector)
            await counted(collector, "sampled_out_traces_total:backend-0", many * 0.5)
            before = await ask(collector, "/api/rates", unit="trace")
            sent = len(backend.taken)
            assert any(s.trace_state for s in backend.spans)
            for taken in backend.taken[:sent]:
                await send(collector, taken.request, signal=taken.signal)
            await settled(collector)
            after = await ask(collector, "/api/rates", unit="trace")
    assert before["total"]["share"]["value"] == pytest.approx(failing / many)
    assert after["total"] == before["total"]
