"""CPU time that a small trace costs, however little is in it: `python tests/bench/small.py [--rate 20] [--seconds 30]`.

Sends traces of five spans (an agent, two model calls, two tool calls, one of which failed), each in a request of its
own, at a steady rate, and waits until all are judged and closed. Prints the milliseconds of CPU time of the collector
a trace, over those that an idle collector takes meanwhile, and the threads that took them.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import tempfile
import time
from pathlib import Path

from opentelemetry.proto.trace.v1.trace_pb2 import Status
from otlp_parts import span, text, traces
from processes import Serving, serving
from served import by_thread, cpu_seconds, wait_until_judged

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.otlp.codec.groups import Request

IDLE_SECONDS = 10.0
WARM_UP = 20
THREADS = 6


def small_trace(*, fails: bool) -> Request:
    """Five spans under a new id."""
    trace_id, ids, at = secrets.token_bytes(16), [secrets.token_bytes(8) for _ in range(5)], time.time_ns()
    kinds = ("AGENT", "LLM", "TOOL", "LLM", "TOOL")
    made = []
    for number, (kind, own) in enumerate(zip(kinds, ids, strict=True)):
        said = [
            text("openinference.span.kind", kind),
            text("input.value", f"question {number} of {trace_id.hex()}"),
            text("output.value", f"answer {number} of {trace_id.hex()}"),
        ]
        one = span(
            trace_id=trace_id,
            span_id=own,
            name=f"{kind.lower()} {number}",
            start_time_unix_nano=at + number * 1_000_000,
            end_time_unix_nano=at + 9_000_000 - number,
            attributes=said,
            parent_span_id=ids[0] if number else b"",
        )
        if fails and number == len(kinds) - 1:
            one.status.message = "TimeoutError: no answer"
            one.status.code = Status.STATUS_CODE_ERROR
        made.append(one)
    return traces(*made, service="small")


async def send(collector: Serving, count: int, rate: float) -> float:
    """Send so many at that rate; returns the median seconds until one is acknowledged."""
    client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
    took: list[float] = []

    async def one(number: int) -> None:
        await asyncio.sleep(number / rate)
        began = time.monotonic()
        await client.send(encoded(small_trace(fails=number % 10 == 0)))
        took.append(time.monotonic() - began)

    await asyncio.gather(*map(one, range(count)))
    return sorted(took)[len(took) // 2]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    count = round(options.rate * options.seconds)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as collector:
        asyncio.run(send(collector, WARM_UP, options.rate))
        wait_until_judged(collector, 60)
        began = cpu_seconds(collector)
        time.sleep(IDLE_SECONDS)
        idle = (cpu_seconds(collector) - began) / IDLE_SECONDS
        began, threads, started = cpu_seconds(collector), by_thread(collector), time.monotonic()
        median = asyncio.run(send(collector, count, options.rate))
        wait_until_judged(collector, 600)
        took = time.monotonic() - started
        used = cpu_seconds(collector) - began - idle * took
        most = (by_thread(collector) - threads).most_common(THREADS)
    named = ", ".join(f"{name} {spent / count:.1f}" for name, spent in most)
    print(
        f"{count} traces at {options.rate:g}/s: {1000 * used / count:.1f} ms of CPU time a trace ({named}), "
        f"acknowledged in {1000 * median:.0f} ms; idle {60_000 * idle:.0f} ms a minute"
    )


if __name__ == "__main__":
    main()
