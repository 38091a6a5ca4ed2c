"""What passing traces on costs those who wait for findings: without it, with it, and with a backend that is away.

`python tests/bench/forwarding.py [--rate 300] [--seconds 15] [--rounds 2]`: as tests/bench/latency.py, in turns. The
backend is a collector's stand-in in a thread of this process, which reads every request.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml
from latency import measure  # type: ignore[import-not-found]  # beside this file, which is run as a script
from otlp_backend import Backend, http_backend
from played import play_corpus
from processes import serving
from served import metrics

NOBODY = "http://127.0.0.1:9"


@contextmanager
def backend() -> Iterator[Backend]:
    """One in a loop of its own thread."""
    ready, done = threading.Event(), asyncio.Event()
    found: list[Backend] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with http_backend() as made:
            found.append(made)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    yield found[0]
    loop.call_soon_threadsafe(done.set)
    thread.join()


def percentiles(values: Sequence[float]) -> str:
    """Median, p90 and p99 in milliseconds."""
    cuts = statistics.quantiles(values, n=100)
    return " / ".join(f"{cuts[n] * 1000:.0f}" for n in (49, 89, 98))


def once(name: str, url: str, rate: float, seconds: float) -> None:
    """One run, and a line of figures."""
    playing = play_corpus(rate * seconds)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        backends = [{"name": "there", "endpoint": url}] if url else []
        file.write_text(yaml.safe_dump({"judging": {"quiet_seconds": 1.0}, "export": {"otlp": backends}}))
        with serving(Path(folder), "--config", str(file)) as collector:
            measured = asyncio.run(measure(collector, playing, rate))
            counts = metrics(collector)
    delays = [max(measured.seen[k] - at, 0.0) for k, at in measured.acknowledged.items() if k in measured.seen]
    judge = counts["tracejury_judge_delay_seconds_sum"] / counts["tracejury_judge_delay_seconds_count"]
    sent = counts.get("tracejury_export_sent_spans_total", 0.0)
    print(
        f"{name:<6} findings after (ms, median / p90 / p99): {percentiles(delays)}; commit to readable, mean: "
        f"{judge * 1000:.0f} ms; spans passed on: {sent:.0f}; acknowledged: {len(measured.acknowledged)}"
    )


def main() -> None:
    """Print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=300)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with backend() as there:
        for _ in range(options.rounds):
            for name, url in (("off", ""), ("on", there.url), ("away", NOBODY)):
                once(name, url, options.rate, options.seconds)


if __name__ == "__main__":
    main()
