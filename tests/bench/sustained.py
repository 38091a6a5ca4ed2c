"""Whether judging keeps up for minutes: `python tests/bench/sustained.py [--rate 2000] [--seconds 300] [--senders 16]`.

Sends whole passes of the corpus with fresh ids, at a steady rate of spans a second or (`--rate 0`) as fast as they
are acknowledged. Prints every 30 seconds the rate, the mean delay from a trace's latest arrival to its judgement, open
traces and resident memory; then spans a second until all are judged, and CPU time a span.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
from processes import Serving, serving
from served import BENCH, by_thread, cpu_seconds, metrics, resident, wait_until_judged

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
QUIET_SECONDS = 5
"""A trace settles so long after its last span; judged in that time it does not count as late."""
THREADS = 4
RETRIED = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}


def passes(until: float) -> Iterator[tuple[bytes, int]]:
    """Requests with their number of spans; none after the pass that is under way then (monotonic seconds)."""
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    sys.path.insert(0, str(BENCH))
    otlp_corpus = importlib.import_module("otlp_corpus")
    templates, _ = otlp_corpus.build()
    while time.monotonic() < until:
        yield from otlp_corpus.passes(1, templates)


async def send(collector: Serving, senders: int, rate: float, until: float, sent: list[int]) -> None:
    """Send until then (monotonic seconds); `sent` grows by the spans of each request that is acknowledged."""
    requests, began, begun = passes(until), time.monotonic(), 0

    async def sender() -> None:
        nonlocal begun
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{collector.ports['grpc']}", [("grpc.use_local_subchannel_pool", 1)]
        ) as channel:
            call = channel.unary_unary(METHOD, None, None)
            for body, spans in requests:
                begun += spans
                if rate:
                    await asyncio.sleep(max(began + begun / rate - time.monotonic(), 0))
                while True:
                    try:
                        await call(body)
                        break
                    except grpc.aio.AioRpcError as error:
                        if error.code() not in RETRIED:
                            raise
                        await asyncio.sleep(0.1)
                sent.append(spans)

    await asyncio.gather(*(sender() for _ in range(senders)))


async def watch(collector: Serving, every: float, sent: list[int]) -> None:
    """Print how it goes."""
    before, delays, judged = 0, 0.0, 0.0
    while True:
        await asyncio.sleep(every)
        now = await asyncio.to_thread(metrics, collector)
        total, count = now["tracejury_judge_delay_seconds_sum"], now["tracejury_judge_delay_seconds_count"]
        spans = sum(sent)
        print(
            f"{(spans - before) / every:6.0f} spans/s, judged after {(total - delays) / max(count - judged, 1):.2f} s, "
            f"{now['tracejury_judge_open_traces']:.0f} open, {resident(collector) / 2**20:.0f} MiB resident",
            flush=True,
        )
        before, delays, judged = spans, total, count


async def run(collector: Serving, options: argparse.Namespace) -> tuple[int, float, float]:
    """Send and watch until all are judged: acknowledged spans, seconds of sending, seconds that judging was late."""
    sent: list[int] = []
    began = time.monotonic()
    watching = asyncio.create_task(watch(collector, min(30.0, options.seconds / 4), sent))
    await send(collector, options.senders, options.rate, time.monotonic() + options.seconds, sent)
    took = time.monotonic() - began
    late = await asyncio.to_thread(wait_until_judged, collector, 3600)
    watching.cancel()
    return sum(sent), took, max(late - QUIET_SECONDS, 0.0)


def main() -> None:
    """Measure one collector with an empty store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--rest", type=float, default=0.0, help="then wait, and print what stays resident")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as store, serving(Path(store)) as collector:
        cpu, threads = cpu_seconds(collector), by_thread(collector)
        spans, took, late = asyncio.run(run(collector, options))
        cpu = cpu_seconds(collector) - cpu
        time.sleep(options.rest)
        stays = resident(collector) / 2**20
        most = (by_thread(collector) - threads).most_common(THREADS)
    named = ", ".join(f"{name} {spent / spans:.2f}" for name, spent in most)
    print(
        f"{spans} spans in {took:.0f} s: {spans / took:.0f} acknowledged/s, "
        f"{spans / (took + late):.0f} judged/s ({late:.0f} s late), {1000 * cpu / spans:.2f} ms CPU a span ({named}), "
        f"{stays:.0f} MiB resident after {options.rest:.0f} s"
    )


if __name__ == "__main__":
    main()
