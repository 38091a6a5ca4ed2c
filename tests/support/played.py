"""The corpus played at a steady rate, with what each request makes visible: for benchmarks of delays."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx
from processes import Serving
from served import CORPUS

from tracejury.collector.otlp.client import FreshIds, connect, encoded
from tracejury.collector.otlp.client.client import OtlpClient
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.groups import Request, group, rows, schema_of
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.signals import SPANS, Encoding, Signal
from tracejury.collector.otlp.files import read
from tracejury.judges.registry import default_suite
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import TraceState

ITEMS: Final = 32
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
    client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
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
                tasks.append(asyncio.create_task(send_one(client, request, closes, measured, locks[n])))
    await asyncio.gather(*tasks)
    sys.stdout.write(f"sent {sent} spans at {sent / (time.monotonic() - started):.0f} spans/s\n")


async def send_one(
    client: OtlpClient, request: Request, closes: set[Key], measured: Measured, lock: asyncio.Lock
) -> None:
    """Send one request; a trace's requests go one after the other."""
    async with lock:
        await client.send(encoded(request))
        now = time.time()
        measured.acknowledged.update(dict.fromkeys(closes, now))


def play_corpus(spans: float) -> list[Playing]:
    """Passes of the corpus, at least so many spans; ends the program where the corpus is absent."""
    folder = CORPUS / "traces"
    if not folder.exists():
        sys.exit(f"skipped: the corpus is not at {folder}")
    corpus = [source.request for source in read([folder]) if schema_of(source.request) is SPANS]
    playing: list[Playing] = []
    while spans > 0:
        for request in corpus:
            playing.append(play(request))
            spans -= sum(1 for _ in rows(request))
    return playing


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
