"""The whole collector over real gRPC, HTTP and the embedded engine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from collecting import asking, configured, settled
from hook_server import SECRET, answer, hook_server
from otlp_parts import traces
from weather_agent import agent, trace_id

from tracejury.collector.app.service import Collector
from tracejury.collector.config import load_config
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.codec.groups import Request
from tracejury.schemas.errors import ConfigError

TRACE_ID = trace_id(1).hex()


def parts(*, fault: bool) -> tuple[Request, Request]:
    """A run of one agent that calls a tool, in two requests: first without its root."""
    spans = agent(fault=fault).resource_spans[0].scope_spans[0].spans
    return traces(*spans[:2], service="shop"), traces(spans[2], service="shop")


async def judged(collector: Collector, path: str = f"/api/traces/{TRACE_ID}") -> Any:
    """What the API says once everything is judged and closed."""
    async with asking(collector) as client:
        await settled(collector)
        return (await client.get(path, params={"profile": "0"})).raise_for_status().json()


@pytest.mark.parametrize("protocol", ["grpc", "http", "json"])
async def test_from_otlp_to_a_localised_error(served_dsn: str, protocol: str) -> None:
    """Spans go in over any protocol; the tree of runs and the error at its span come out of the API."""
    async with Collector(configured(served_dsn)) as collector:
        port = collector.grpc_port if protocol == "grpc" else collector.http_port
        await replay(parts(fault=True), f"127.0.0.1:{port}", protocol)
        trace = await judged(collector)
    assert (trace["service"], trace["state"], trace["spans"]) == ("shop", "settled", 3)
    (run,) = trace["agent_runs"]
    assert (run["name"], run["role"], run["goal"]) == ("assistant", "manager", "How warm is it in Oslo?")
    (call,) = run["turns"][0]["tool_calls"]
    assert (call["name"], call["arguments"], call["requested"], call["executed"]) == (
        "weather",
        {"town": "Oslo"},
        True,
        False,
    ), "a tool that refuses its arguments has not run"
    (finding,) = [f for f in trace["findings"] if f["category"] == "Formatting Errors"]
    assert finding["span_id"] == b"llm00001".hex()
    assert finding["state"] == "current"
    assert "town" in finding["evidence"]


async def test_a_healthy_run_has_no_findings(served_dsn: str) -> None:
    """Nothing is invented."""
    async with Collector(configured(served_dsn)) as collector:
        await replay(parts(fault=False), f"127.0.0.1:{collector.grpc_port}", "grpc")
        assert (await judged(collector))["findings"] == []


async def test_a_restart_in_the_middle_of_a_trace_changes_nothing(served_dsn: str, second_dsn: str) -> None:
    """Half before, half after a restart: the same trace and the same findings as in one go."""
    first, second = parts(fault=True)
    async with Collector(configured(served_dsn)) as collector:
        await replay([first], f"127.0.0.1:{collector.grpc_port}", "grpc")
    async with Collector(configured(served_dsn)) as collector:
        await replay([second], f"127.0.0.1:{collector.grpc_port}", "grpc")
        halves = await judged(collector)
    async with Collector(configured(second_dsn)) as collector:
        await replay([first, second], f"127.0.0.1:{collector.grpc_port}", "grpc")
        whole = await judged(collector)
    for trace in (halves, whole):
        for one in (*trace["findings"], *trace["errors"], *(f for e in trace["errors"] for f in e.get("findings", ()))):
            one.pop("first_seen", None)
    assert halves == whole


async def test_a_trace_that_is_deleted_waits_for_no_webhook(served_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its receiver is away and comes back: what was deleted meanwhile left memory at once, and is never sent."""
    with hook_server(answer(503, {"retry-after": "3600"})) as server:
        monkeypatch.setenv("HOOK_SECRET", SECRET)
        hook = {"name": "ops", "url": server.url, "secret": "${HOOK_SECRET}", "profile": "0"}
        async with Collector(configured(served_dsn, webhooks=[hook])) as collector:
            await replay(parts(fault=True), f"127.0.0.1:{collector.grpc_port}", "grpc")
            await judged(collector)
            await asyncio.to_thread(server.wait, 1)
            await waiting_for(collector, lambda waiting: waiting > 0)
            async with asking(collector) as client:
                json = {"content-type": "application/json"}
                (await client.delete(f"/api/traces/{TRACE_ID}", headers=json)).raise_for_status()
            await waiting_for(collector, lambda waiting: waiting == 0)


async def waiting_for(collector: Collector, enough: Callable[[float], bool]) -> None:
    """Wait until so many events wait for webhooks."""
    async with asyncio.timeout(30):
        while True:
            lines = collector.telemetry.prometheus().decode().splitlines()
            values = [line.rpartition(" ")[2] for line in lines if line.startswith("tracejury_webhook_waiting{")]
            if values and enough(float(values[0])):
                return
            await asyncio.sleep(0.1)


async def test_judging_again_through_the_api_changes_nothing(served_dsn: str) -> None:
    """`POST /api/judge` reads the trace back from the store and finds the same."""
    async with Collector(configured(served_dsn)) as collector:
        await replay(parts(fault=True), f"127.0.0.1:{collector.grpc_port}", "grpc")
        before = await judged(collector)
        async with asking(collector) as client:
            (await client.post("/api/judge", json={"trace_id": TRACE_ID})).raise_for_status()
        assert await judged(collector) == before


async def test_the_metrics_count_what_happened(served_dsn: str) -> None:
    """Accepted and committed spans, judgings, and nothing left waiting."""
    async with Collector(configured(served_dsn)) as collector:
        await replay(parts(fault=True), f"127.0.0.1:{collector.grpc_port}", "grpc")
        await judged(collector)
        lines = collector.telemetry.prometheus().decode().splitlines()
    values = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}
    assert values['otelcol_receiver_accepted_spans_total{receiver="otlp",transport="grpc"}'] == 3
    assert values["otelcol_exporter_sent_spans_total"] == 3
    # The sweep at the start may meet the trace between its commit and its first judging, and have it judged once more.
    assert values['tracejury_judge_judged_traces_total{state="settled"}'] in {1, 2}
    assert values["tracejury_judge_open_traces"] == 0


async def test_a_taken_port_is_one_clear_line_and_leaves_nothing_running(served_dsn: str) -> None:
    """The store and the ports that were free are given back."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = f"127.0.0.1:{holder.getsockname()[1]}"
        collector = Collector(configured(served_dsn, http={"endpoint": taken}))
        with pytest.raises(ConfigError, match=r"^127\.0\.0\.1:\d+ is taken by pid \d+"):
            await collector.start()
        with pytest.raises(OSError, match=r"refused|Connect"):
            await asyncio.open_connection("127.0.0.1", collector.grpc_port)
    async with Collector(configured(served_dsn)) as after:
        assert after.problems() == ()


@pytest.mark.parametrize(
    ("endpoint", "insecure", "allowed"),
    [
        ("127.0.0.1:0", False, True),
        ("localhost:0", False, True),
        ("[::1]:0", False, True),
        ("0.0.0.0:0", False, False),
        ("example.org:4317", False, False),
        ("0.0.0.0:0", True, True),
    ],
)
def test_only_loopback_without_insecure(endpoint: str, insecure: bool, allowed: bool) -> None:  # noqa: FBT001  columns
    """There are no keys yet: others on the network get in only if the user insists."""
    for part in ("grpc", "http", "api"):
        config = load_config(None, {part: {"endpoint": endpoint}, "insecure": insecure})
        if allowed:
            Collector(config)
        else:
            with pytest.raises(ConfigError, match=r"--insecure"):
                Collector(config)


async def test_stop_is_safe_without_start_and_twice(served_dsn: str) -> None:
    """Shutdown is idempotent."""
    collector = Collector(configured(served_dsn))
    await collector.stop()
    await collector.start()
    await collector.stop()
    await collector.stop()
    assert collector.problems()


async def test_a_part_that_fails_to_stop_keeps_no_other_running(served_dsn: str) -> None:
    """Above all the store is closed and the ports are free."""

    async def broken(_deadline: float) -> None:
        raise OSError("cannot")

    collector = Collector(configured(served_dsn))
    await collector.start()
    collector._stops.append(broken)
    await collector.stop()
    for port in (collector.grpc_port, collector.http_port, collector.api_port):
        with pytest.raises(OSError, match=r"refused|Connect"):
            await asyncio.open_connection("127.0.0.1", port)
