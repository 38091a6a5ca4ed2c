"""Cost of a durable commit: `PYTHONPATH=tests/support python tests/bench/commit.py [--seconds S] [--senders N]`.

Senders submit requests of 32 spans with 8 KB of text each, one after the other, without and with `store.fsync`;
prints spans a second and milliseconds from submission to acknowledgement.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import string
import tempfile
import time

from store_parts import a_span

from tracejury.collector.store import upkeep
from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.schemas.batch import Batch

SPANS = 32
TEXT = 8_000


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--senders", type=int, default=16)
    options = parser.parse_args()
    for fsync in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            dsn = f"chdb://{folder}/db"
            asyncio.run(run(dsn, StoreConfig(dsn=dsn, fsync=fsync), options.seconds, options.senders))


async def run(dsn: str, config: StoreConfig, seconds: float, senders: int) -> None:
    """Submit for so long, then print."""
    store = Store.open(dsn, config)
    migrate(store)
    upkeep.apply(store)
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
    waits.sort()
    print(
        f"fsync {config.fsync}: {len(waits) * SPANS / seconds:.0f} spans/s in {writer.counters.groups} inserts; "
        f"acknowledged after {waits[len(waits) // 2]:.0f} ms (p50), {waits[int(len(waits) * 0.99)]:.0f} ms (p99)"
    )
    await writer.stop(30)
    store.close()


if __name__ == "__main__":
    main()
