"""From the commit of the span that closes a turn to its finding being readable, at a steady rate.

`python tests/bench/latency.py [--rate 500] [--seconds 30]`: sends the corpus's traces in 32-span requests, in the
order in which the spans ended, many traces at once. Which request makes a finding possible is computed beforehand
by judging every prefix of each trace; a reader polls the API for what shows.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
from played import Measured, Playing, play_corpus, send
from processes import Serving, serving


async def poll(collector: Serving, measured: Measured, stop: asyncio.Event) -> None:
    """Read what is new, again and again."""
    async with httpx.AsyncClient(base_url=collector.url, timeout=30) as client:
        cursor = ""
        while not stop.is_set():
            query = {"profile": "0", "limit": "1000"} | ({"after": cursor or "1h"})
            page = (await client.get("/api/errors", params=query)).raise_for_status().json()
            now = time.time()
            for item in page["items"]:
                measured.seen.setdefault((item["trace_id"], item["span_id"], item["category"]), now)
            cursor = page["next"] or cursor
            await asyncio.sleep(0.02)


async def measure(collector: Serving, playing: Sequence[Playing], rate: float) -> Measured:
    """Send and read at the same time."""
    measured, stop = Measured(), asyncio.Event()
    reading = asyncio.create_task(poll(collector, measured, stop))
    await send(collector, playing, rate, measured)
    await asyncio.sleep(8)
    stop.set()
    await reading
    return measured


def main() -> None:
    """Print the delays' percentiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    playing = play_corpus(options.rate * options.seconds)
    with tempfile.TemporaryDirectory() as store, serving(Path(store)) as collector:
        measured = asyncio.run(measure(collector, playing, options.rate))
    delays = sorted(max(measured.seen[k] - at, 0.0) for k, at in measured.acknowledged.items() if k in measured.seen)
    cuts = statistics.quantiles(delays, n=100)
    print(
        f"{len(delays)} findings of {len(measured.acknowledged)} expected while open: median {cuts[49]:.2f} s, "
        f"p90 {cuts[89]:.2f} s, p99 {cuts[98]:.2f} s, max {delays[-1]:.2f} s"
    )


if __name__ == "__main__":
    main()
