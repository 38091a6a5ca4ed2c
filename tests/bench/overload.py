"""An open-loop load far beyond capacity, and an honest client beside it: what is acknowledged is stored.

`python tests/bench/overload.py [--rate 250] [--seconds 8]` sends that many requests of 512 spans a second, answered or
not, over at most 2,000 connections. The honest client has another address (127.0.0.2). It sends
four requests a second, each again and again until it is acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from house import PROTOBUF, made_up_request
from processes import Serving, serving
from served import metrics, resident

CONNECTIONS = 2000
SPANS = 512
PAUSE = 0.05


@dataclass(slots=True)
class Load:
    """Counts of the load's answers, and seconds until requests of the honest client were acknowledged."""

    answers: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)


async def flood(url: str, body: bytes, rate: float, seconds: float, load: Load) -> None:
    """Send at that rate, whatever is answered."""
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client, asyncio.TaskGroup() as group:
        started = time.monotonic()
        for n in range(round(rate * seconds)):
            await asyncio.sleep(max(started + n / rate - time.monotonic(), 0))
            group.create_task(send(client, url, body, load.answers))


async def send(client: httpx.AsyncClient, url: str, body: bytes, answers: Counter[str]) -> bool:
    """Whether it was acknowledged."""
    try:
        status = str((await client.post(url, content=body, headers=PROTOBUF)).status_code)
    except httpx.HTTPError as error:
        status = type(error).__name__
    answers[status] += 1
    return status == "200"


async def be_honest(url: str, body: bytes, seconds: float, load: Load) -> None:
    """Four requests a second, each until it is acknowledged."""
    transport = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
    async with httpx.AsyncClient(transport=transport, timeout=60, trust_env=False) as client:
        ends = time.monotonic() + seconds
        while (started := time.monotonic()) < ends:
            while not await send(client, url, body, Counter()):  # noqa: ASYNC110  as a client tries again
                await asyncio.sleep(PAUSE)
            load.waits.append(time.monotonic() - started)
            await asyncio.sleep(max(started + 0.25 - time.monotonic(), 0))


async def attack(collector: Serving, rate: float, seconds: float) -> Load:
    """Both at once."""
    url, load = f"http://127.0.0.1:{collector.ports['http']}/v1/traces", Load()
    await asyncio.gather(
        flood(url, made_up_request(SPANS // 8, 8).SerializeToString(), rate, seconds, load),
        be_honest(url, made_up_request(4, 8).SerializeToString(), seconds, load),
    )
    return load


def main() -> None:
    """Print one line of figures; exits with 1 where less is stored than was acknowledged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=250, help="requests a second")
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as collector:
        load = asyncio.run(attack(collector, options.rate, options.seconds))
        committed = metrics(collector)["otelcol_exporter_sent_spans_total"]
        acknowledged = load.answers["200"] * SPANS + len(load.waits) * 32
        waits = sorted(load.waits)
        print(
            f"{options.rate:.0f} requests/s of {SPANS} spans for {options.seconds:.0f} s: {dict(load.answers)}; "
            f"{acknowledged} spans acknowledged, {committed:.0f} committed; the honest client waited "
            f"{waits[len(waits) // 2]:.2f} s in the median, {waits[int(len(waits) * 0.99)]:.2f} s at p99; resident "
            f"{resident(collector) / 2**20:.0f} MiB"
        )
        sys.exit(committed < acknowledged)


if __name__ == "__main__":
    main()
