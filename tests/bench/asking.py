"""How fast MCP answers over a million spans: `PYTHONPATH=tests/support python tests/bench/asking.py [--folder F]`.

Makes a store of 100,000 traces (a million spans, 300,000 errors of 400 patterns, 30 days) by SQL, serves it, sends a
run that fails and asks about it: over HTTP and through `tracejury mcp`. Then one client floods `/mcp` while another
asks, and spans are sent. Prints medians and 95th percentiles in milliseconds, and what the collector took of one core,
which does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import lists  # type: ignore[import-not-found]  # beside this file
import rates  # type: ignore[import-not-found]
from mcp import Client
from mcp_clients import over_http, over_stdio, told
from mcp_requests import POSTED, request
from mcp_transcript import OLD, PROTOBUF
from processes import Serving, serving
from served import cpu_seconds
from shop_clerk import clerk

from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.derived.facts import HOUR

DAYS: Final = 30
ROUNDS: Final = 20
FLOOD: Final = 64
"""Requests that one client has in flight."""


def fill(folder: Path, traces: int) -> None:
    """Make the store."""
    lists.fill(str(folder), traces, DAYS)
    store = Store.open(f"chdb://{folder}", StoreConfig(retention_days=None))
    rates.fill(store, 3 * traces, DAYS, time.time_ns() // HOUR * HOUR)
    store.command(rates.ERRORS)
    # Whoever asks would else wait for, and pay for, a hundred thousand traces that are being judged.
    store.command(lists.LOOK_UP_JUDGEMENTS, {"count": traces, "at": time.time_ns()})
    store.close()


async def timed(ask: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> list[float]:
    """Milliseconds of each."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        await ask()
        took.append((time.perf_counter() - began) * 1e3)
    return took


def show(what: str, took: Sequence[float], cpu: float | None = None) -> None:
    """A line; `cpu`: seconds of each."""
    ranked = sorted(took)
    p95 = ranked[int(0.95 * (len(ranked) - 1))]
    figures = {"what": what, "median_ms": round(statistics.median(took)), "p95_ms": round(p95)}
    print(json.dumps(figures | ({} if cpu is None else {"cpu_ms": round(1000 * cpu)})), flush=True)


async def of_tools(ready: Serving, way: str, client: Client) -> None:
    """Each tool, of one run."""
    while not (await told(client, "list_errors", trace=OLD))["items"]:  # noqa: ASYNC110  it is another process
        await asyncio.sleep(0.2)
    (first, *_) = (await told(client, "list_errors", trace=OLD))["items"]
    asked: dict[str, dict[str, Any]] = {
        "why": {"id": first["id"]}, "list_errors": {}, "trace": {"trace": OLD}, "search": {}, "rates": {},
        "patterns": {},
    }  # fmt: skip
    for tool, arguments in asked.items():
        before = cpu_seconds(ready)
        took = await timed(partial(told, client, tool, **arguments))
        show(f"{tool} over {way}", took, (cpu_seconds(ready) - before) / ROUNDS)


def flood(url: str) -> None:
    """Ask again and again from a process of its own, until it is ended."""

    async def attack() -> None:
        limits = httpx.Limits(max_connections=FLOOD)
        body = request("tools/call", name="search", arguments={})
        async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as http:

            async def again() -> None:
                while True:
                    await http.post(f"{url}/mcp", json=body, headers=POSTED)

            await asyncio.gather(*(again() for _ in range(FLOOD)))

    asyncio.run(attack())


async def flooded(ready: Serving) -> None:
    """What others wait for while one client floods."""
    otlp = f"http://127.0.0.1:{ready.ports['http']}/v1/traces"
    spans = clerk().SerializeToString()
    attacker = multiprocessing.get_context("spawn").Process(target=flood, args=(ready.url,), daemon=True)
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        asks: dict[str, Callable[[], Awaitable[object]]] = {
            "OTLP acknowledged": lambda: http.post(otlp, content=spans, headers=PROTOBUF),
            "/api/errors": lambda: http.get(f"{ready.url}/api/errors", params={"limit": "10"}),
        }
        for what, ask in asks.items():
            show(f"{what}, alone", await timed(ask))
        attacker.start()
        await asyncio.sleep(5)
        for what, ask in asks.items():
            show(f"{what}, while one client floods /mcp", await timed(ask))
    attacker.terminate()


async def measure(folder: Path) -> None:
    """All of it against one collector."""
    (folder / "c.yaml").write_text(
        f"store: {{dsn: 'chdb://{folder}/db', retention_days: null}}\njudging: {{quiet_seconds: 1.0}}\n"
    )
    with serving(folder, "--config", "c.yaml", new_store=True) as ready:
        async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
            otlp = f"http://127.0.0.1:{ready.ports['http']}/v1/traces"
            (await http.post(otlp, content=clerk().SerializeToString(), headers=PROTOBUF)).raise_for_status()
        async with over_http(ready.url) as client:
            await of_tools(ready, "HTTP", client)
        async with over_stdio(ready.url) as client:
            await of_tools(ready, "stdio", client)
        await flooded(ready)


def main() -> None:
    """Fill and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--folder", help="where the store is kept; one that is filled is only asked")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or temporary)
        if not (folder / "db").exists():
            fill(folder / "db", args.traces)
        asyncio.run(measure(folder))


if __name__ == "__main__":
    main()
