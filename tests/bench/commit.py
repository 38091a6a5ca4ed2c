"""Cost of a durable commit: `PYTHONPATH=tests/support python tests/bench/commit.py [--seconds S] [--senders N]`.

Senders submit requests of 32 spans with 8 KB of text each, one after the other, without and with `store.fsync`;
prints spans a second and milliseconds from submission to acknowledgement. The two take turns, and the median of
each is printed, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import string
import tempfile
import time

from store_parts import a_span

from tracejury.collector.store import opening
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.schemas.batch import Batch

SPANS = 32
TEXT = 8_000


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[bool, list[tuple[float, ...]]] = {False: [], True: []}
    for _ in range(options.rounds):
        for fsync, figures in found.items():
            with tempfile.TemporaryDirectory() as folder:
                dsn = f"chdb://{folder}/db"
                figures.append(
                    asyncio.run(run(dsn, StoreConfig(dsn=dsn, fsync=fsync), options.seconds, options.senders))
                )
    for fsync, figures in found.items():
        rate, p50, p99 = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"fsync {fsync}: {rate:.0f} spans/s, acknowledged after {p50:.0f} ms (p50), {p99:.0f} ms (p99)")


async def run(dsn: str, config: StoreConfig, seconds: float, senders: int) -> tuple[float, float, float]:
    """Submit for so long: spans a second, milliseconds of the median and of the 99th percentile."""
    store = SharedStore.open(dsn, config)
    migrate(store)
    opening.apply_settings(store)
    writer = GroupCommitWriter(store)
    await writer.start()
    # Words, so that compression has what it has with prompts.
    words = ["".join(random.choices(string.ascii_lowercase, k=7)) for _ in range(3000)]  # noqa: S311  no secret
    texts = [" ".join(random.choices(words, k=TEXT // 8)) for _ in range(64)]  # noqa: S311
    numbers = itertools.count(1)
    waits: list[float] = []
    until = time.perf_counter() + seconds

    async def sender() -> None:
        while time.perf_counter() < until:
            trace_id = f"{next(numbers):032x}"
            spans = [
                a_span(trace_id=trace_id, span_id=f"{n:016x}", attributes={"input.value": texts[n % 64]})
                for n in range(SPANS)
            ]
            started = time.perf_counter()
            await writer.submit(Batch(spans, (), SPANS * TEXT))
            waits.append((time.perf_counter() - started) * 1e3)

    await asyncio.gather(*(sender() for _ in range(senders)))
    await writer.stop(30)
    store.close()
    waits.sort()
    return len(waits) * SPANS / seconds, waits[len(waits) // 2], waits[int(len(waits) * 0.99)]


if __name__ == "__main__":
    main()
