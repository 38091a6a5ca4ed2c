"""What an open trace of long calls costs: `python tests/bench/open_trace.py [--turns 1000] [--tokens 90000]`.

A collector in a process of its own takes one trace of so many turns, two spans each, over OTLP, `--rate` turns a second
(20); the agent's span never comes. Its calls are sent up to so many tokens: the history, which grows, or
a constant system prompt and a short one (`--only growing-json`, `growing-flat`, `constant-json`, `constant-flat`). Its
page and its JSON are read at a quarter, half and all of it, then again once its last loop is found. Prints the
milliseconds to the last byte, resident bytes and CPU seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from long_histories import LOOPS_EVERY, long_history
from otlp_parts import traces
from processes import Serving, serving
from served import cpu_seconds, resident

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.otlp.codec.encode import span_message
from tracejury.schemas.spans import Span

TRACE = "d" * 32
PATHS = ("/traces/{id}", "/traces/{id}/panel", "/api/traces/{id}")
PATIENCE = 300.0


async def send(collector: Serving, spans: Iterator[Span], rate: float) -> int:
    """Send them turn by turn; the most resident bytes meanwhile."""
    client, most, next_at = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc"), 0, time.monotonic()
    while turn := list(islice(spans, 2)):
        await client.send(encoded(traces(*(span_message(span, "") for span in turn), service="archive")))
        most = max(most, resident(collector))
        next_at = max(next_at + 1 / rate, time.monotonic() - 1)
        await asyncio.sleep(max(next_at - time.monotonic(), 0))
    return most


def read(collector: Serving) -> tuple[list[str], int]:
    """First and second answer of each path, in milliseconds; the most resident bytes meanwhile."""
    found, most = [], 0
    with httpx.Client(base_url=collector.url, timeout=600) as client:
        for path in PATHS:
            took = []
            for _ in range(2):
                started = time.perf_counter()
                client.get(path.format(id=TRACE)).raise_for_status()
                took.append(f"{(time.perf_counter() - started) * 1e3:.0f}")
                most = max(most, resident(collector))
            found.append(", ".join(took))
    return found, most


def wait_for_loops(collector: Serving, count: int) -> tuple[float, int]:
    """Wait until so many errors are listed; the seconds that took, and the most resident bytes meanwhile."""
    started, most, found = time.monotonic(), 0, 0
    with httpx.Client(base_url=collector.url, timeout=60) as client:
        while found < count and time.monotonic() - started < PATIENCE:
            items = client.get("/api/errors", params={"trace": TRACE, "profile": "0", "limit": 500}).json()["items"]
            found, most = len(items), max(most, resident(collector))
            time.sleep(0.2)
    if found < count:
        raise TimeoutError(f"{found} of {count} errors were found")
    return time.monotonic() - started, most


def measure(name: str, turns: int, tokens: int, rate: float) -> None:
    """Print the rows of one kind of trace."""
    shape, _, form = name.partition("-")
    spans = long_history(turns, tokens, growing=shape == "growing", flat=form == "flat")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as collector:
        sent, before = 0, 0.0
        for share in (turns // 4, turns // 4, turns - turns // 4 * 2):
            most = asyncio.run(send(collector, islice(spans, 2 * share), rate))
            sent += share
            times, read_most = read(collector)
            row(name, f"{sent} turns", times, max(most, read_most), cpu_seconds(collector) - before)
            before = cpu_seconds(collector)
        took, most = wait_for_loops(collector, turns // LOOPS_EVERY)
        times, read_most = read(collector)
        row(name, f"found, {took:.0f} s later", times, max(most, read_most), cpu_seconds(collector) - before)
        collector.stop()


def row(name: str, when: str, times: list[str], most: int, cpu: float) -> None:
    """Print a row of the table."""
    cells = [name, when, *times, f"{most / 1e9:.2f} GB", f"{cpu:.1f} s"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--tokens", type=int, default=90_000)
    parser.add_argument("--rate", type=float, default=20, help="turns a second")
    kinds = [f"{shape}-{form}" for shape in ("growing", "constant") for form in ("json", "flat")]
    parser.add_argument("--only", nargs="*", default=kinds, choices=kinds)
    options = parser.parse_args()
    print("| trace | when | page | panel | API | resident at most | CPU |\n|---|---|---|---|---|---|---|")
    for name in options.only:
        measure(name, options.turns, options.tokens, options.rate)


if __name__ == "__main__":
    main()
