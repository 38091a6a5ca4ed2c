"""From the commit of the span that closes a turn to its finding being readable, at a steady rate.

`python tests/bench/latency.py [--rate 500] [--seconds 30]`: sends the corpus's traces in 32-span requests, in the
order in which the spans ended, many traces at once. Which request makes a finding possible is computed beforehand
by judging every prefix of each trace; a reader polls the API for what shows.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from processes import Serving, serving
from served import CORPUS

from tracejury.collector.receiver.decode import Encoding, Signal, decode
from tracejury.collector.receiver.limits import Limits
from tracejury.collector.replay import FreshIds, connect
from tracejury.collector.sources import read
from tracejury.collector.sources.groups import SPANS, Request, group, rows, signal_of
from tracejury.judges.registry import default_suite
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import TraceState

ITEMS = 32
Key = tuple[str, str, str]  # trace id, span id, category


@dataclass(slots=True)
class Playing:
    """One trace as requests, and what each of them makes visible."""

    requests: list[Request]
    closes: list[set[Key]]


@dataclass(slots=True)
class Measured:
    """Unix seconds at which something was acknowledged, and was first seen."""

    acknowledged: dict[Key, float] = field(default_factory=dict)
    seen: dict[Key, float] = field(default_factory=dict)


def play(request: Request) -> Playing:
    """A trace with fresh ids, cut and judged by prefixes."""
    found = sorted(rows(FreshIds().rewrite(request)), key=lambda row: row[2].end_time_unix_nano)
    parts = [group(SPANS, found[at : at + ITEMS]) for at in range(0, len(found), ITEMS)]
    suite, known = default_suite(), set[Key]()
    spans: list[Span] = []
    closes: list[set[Key]] = []
    for part in parts:
        body = part.SerializeToString()
        spans += decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1, limits=Limits()).batch.spans
        trace = rebuild([normalize(s) for s in spans], state=TraceState.OPEN)
        now = {(f.trace_id, f.span_id, f.category) for f in suite.judge(trace).findings}
        closes.append(now - known)
        known |= now
    return Playing(parts, closes)


async def send(collector: Serving, playing: Sequence[Playing], rate: float, measured: Measured) -> None:
    """Interleave the traces' requests at `rate` spans a second."""
    sender = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
    tasks = []
    queues = [list(zip(p.requests, p.closes, strict=True)) for p in playing]
    started, sent = time.monotonic(), 0
    locks = [asyncio.Lock() for _ in queues]
    while any(queues):
        for n, queue in enumerate(queues[:]):
            if queue:
                request, closes = queue.pop(0)
                await asyncio.sleep(max(0.0, started + sent / rate - time.monotonic()))
                sent += sum(1 for _ in rows(request))
                tasks.append(asyncio.create_task(send_one(sender, request, closes, measured, locks[n])))
    await asyncio.gather(*tasks)
    print(f"sent {sent} spans at {sent / (time.monotonic() - started):.0f} spans/s")


async def send_one(sender: object, request: Request, closes: set[Key], measured: Measured, lock: asyncio.Lock) -> None:
    """Send one request; a trace's requests go one after the other."""
    async with lock:
        await sender.send(request)  # type: ignore[attr-defined]  # a Sender
        now = time.time()
        measured.acknowledged.update(dict.fromkeys(closes, now))


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
    folder = CORPUS / "traces"
    if not folder.exists():
        sys.exit(f"skipped: the corpus is not at {folder}")
    corpus = [source.request for source in read([folder]) if signal_of(source.request) is SPANS]
    playing: list[Playing] = []
    wanted = options.rate * options.seconds
    while wanted > 0:
        for request in corpus:
            playing.append(play(request))
            wanted -= sum(1 for _ in rows(request))
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
