"""How long one large trace keeps the findings of others waiting: `python tests/bench/fair.py [--spans 20000]`.

While a trace of N spans arrives, and until it is judged, a small trace with an error is sent every half second. Prints
how long after its acknowledgement each one's finding could be read, and the same without the large trace.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import tempfile
import time
from pathlib import Path

import httpx
from large_trace import large_trace
from processes import Serving, serving
from sent_spans import of_spans, send
from served import metrics

from tracejury.collector.otlp.client import connect, encoded

HUGE = "c" * 32
SMALL = 110
"""Spans of a small trace: the hundredth call of a tool fails."""
EVERY_SECONDS, AFTERWARDS, ALONE = 0.5, 20, 20


async def delay(collector: Serving, client: httpx.AsyncClient) -> float:
    """Send a small trace; seconds until its finding can be read."""
    trace_id = secrets.token_hex(16)
    sender = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
    for request in of_spans(large_trace(SMALL, trace_id)):
        await sender.send(encoded(request))
    started = time.monotonic()
    query = {"trace": trace_id, "profile": "0"}
    while not (await client.get("/api/errors", params=query)).json().get("items"):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return time.monotonic() - started


async def delays(collector: Serving, until: asyncio.Event, least: int) -> list[float]:
    """Of a small trace every half second, `until` it is over and then some more, sorted."""
    found: list[asyncio.Task[float]] = []
    async with httpx.AsyncClient(base_url=collector.url, timeout=120) as client:
        while not until.is_set() or least > 0:
            least -= until.is_set()
            found.append(asyncio.create_task(delay(collector, client)))
            await asyncio.sleep(EVERY_SECONDS)
        return sorted(await asyncio.gather(*found))


async def measure(collector: Serving, spans: int) -> tuple[list[float], list[float]]:
    """Delays without and with the large trace."""
    over = asyncio.Event()
    over.set()
    alone = await delays(collector, over, ALONE)
    over.clear()
    large = list(of_spans(large_trace(spans, HUGE)))  # made beforehand: the delays are timed by this thread, too
    beside = asyncio.create_task(delays(collector, over, AFTERWARDS))
    await send(collector, large)
    over.set()
    return alone, await beside


def main() -> None:
    """Print medians and worst cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as store, serving(Path(store)) as collector:
        both = asyncio.run(measure(collector, options.spans))
        judgings = metrics(collector)["tracejury_judge_judged_traces_total"]
    for name, taken in zip(("alone", f"beside {options.spans} spans"), both, strict=True):
        print(f"{name}: {len(taken)} findings, median {taken[len(taken) // 2]:.2f} s, worst {taken[-1]:.2f} s")
    print(f"{judgings:.0f} judgings")


if __name__ == "__main__":
    main()
