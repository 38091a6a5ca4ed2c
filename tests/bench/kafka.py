"""Judging through Kafka: spans a second and CPU a span with several workers, and how soon findings show.

`python tests/bench/kafka.py [--workers 1 2 3] [--passes 5] [--rates 100 500] [--seconds 30]`. The corpus is first
written to Kafka by a receiver; then workers are started, and the time until nothing waits and every trace is judged
counts, without their start. Beside it: one process with the embedded store over the same spans. Broker, ClickHouse's
HTTP interface (`tests/support/clickhouse_http.py`, in the benchmark's own process) and workers share the machine, so with
more workers than cores only CPU a span says something. The delays are from the acknowledgement of the brokers to the
finding in the API of a web process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
from clickhouse_http import ClickHouseServer, clickhouse_server
from kafka_broker import Cluster, cluster, missing
from latency import measure
from played import play_corpus
from processes import Serving, serving
from served import BENCH, cpu_seconds, metrics, wait_until_judged

from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore

PARTITIONS = 12


class Stage:
    """Processes over one topic and one store."""

    def __init__(
        self, folder: Path, broker: Cluster, server: ClickHouseServer, database: str, stack: ExitStack
    ) -> None:
        self._folder, self._stack, self._dsn = folder, stack, f"{server.dsn}/{database}"
        topics = [{"name": broker.topic(PARTITIONS), "signal": "traces"}]
        kafka = {"brokers": broker.addresses.split(","), "topics": topics, "group": database}
        (folder / f"{database}.yaml").write_text(json.dumps({"kafka": kafka}))
        self._config = f"{database}.yaml"

    def start(self, role: str) -> Serving:
        """A process of a role."""
        arguments = ("--config", self._config, "--role", role, *([] if role == "receive" else ["--store", self._dsn]))
        return self._stack.enter_context(serving(self._folder, *arguments, new_store=True))


@contextmanager
def stage(broker: Cluster) -> Iterator[Stage]:
    """A topic, an empty store behind ClickHouse's HTTP interface, and nothing started yet."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        store = SharedStore.open(f"chdb://{folder}/db?database=bench")
        migrate(store)
        with clickhouse_server(folder / "db") as server:
            yield Stage(folder, broker, server, "bench", stack)
            stack.close()
        store.close()


def load(port: int, passes: int) -> int:
    """Send the corpus; the number of spans."""
    command = [sys.executable, str(BENCH / "load.py"), "--endpoint", f"127.0.0.1:{port}", "-n", str(passes), "-c", "16"]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert done["ok"] == done["requests"], done["errors"]
    return int(done["spans"])


def embedded(passes: int) -> None:
    """One process, with the store in it."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as one:
        before, started = cpu_seconds(one), time.monotonic()
        spans = load(one.ports["grpc"], passes)
        wait_until_judged(one, 900)
        report("embedded", spans, time.monotonic() - started, cpu_seconds(one) - before, 0.0)


def through(broker: Cluster, count: int, passes: int) -> None:
    """`count` workers over what stands in Kafka."""
    with stage(broker) as found:
        receiver = found.start("receive")
        before = cpu_seconds(receiver)
        spans = load(receiver.ports["grpc"], passes)
        received = cpu_seconds(receiver) - before
        workers = [found.start("work") for _ in range(count)]
        spent, own, started = sum(map(cpu_seconds, workers)), time.process_time(), time.monotonic()
        wait_until_caught_up(workers, 900)
        seconds = time.monotonic() - started
        report(
            f"{count} workers",
            spans,
            seconds,
            sum(map(cpu_seconds, workers)) - spent,
            time.process_time() - own,
            f"; receiver {1e3 * received / spans:.3f} ms",
        )


def wait_until_caught_up(workers: Sequence[Serving], seconds: float) -> None:
    """Wait until all partitions are assigned and read, and every trace is judged and closed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ready = [httpx.get(f"{one.url}/readyz", timeout=30).json().get("kafka_lag", {}) for one in workers]
        lags = {name: lag for each in ready for name, lag in each.items()}
        if len(lags) == PARTITIONS and not any(lags.values()):
            break
        time.sleep(0.5)
    for one in workers:
        wait_until_judged(one, max(deadline - time.monotonic(), 1))


def report(name: str, spans: int, seconds: float, cpu: float, server: float, more: str = "") -> None:
    """A line."""
    of_server = f" and {1e3 * server / spans:.3f} ms of the server" if server else ""
    print(
        f"{name}: {spans / seconds:.0f} spans/s judged, {1e3 * cpu / spans:.3f} ms of CPU a span{of_server}{more}",
        flush=True,
    )


def delays(broker: Cluster, rate: float, seconds: float) -> None:
    """From the acknowledgement of a receiver to the finding in the web process, at a steady rate."""
    playing = play_corpus(rate * seconds)
    with stage(broker) as found:
        receiver, worker, web = (found.start(role) for role in ("receive", "work", "web"))
        while not metrics(worker).get("tracejury_kafka_assignments"):
            time.sleep(0.2)
        both = Serving(web.process, web.ready_text, {**receiver.ports, "api": web.ports["api"]})
        measured = asyncio.run(measure(both, playing, rate))
    shown = sorted(max(measured.seen[k] - at, 0.0) for k, at in measured.acknowledged.items() if k in measured.seen)
    cuts = statistics.quantiles(shown, n=100)
    print(
        f"{rate:.0f} spans/s: {len(shown)} findings of {len(measured.acknowledged)} expected while open: "
        f"median {cuts[49]:.2f} s, p90 {cuts[89]:.2f} s, p99 {cuts[98]:.2f} s, max {shown[-1]:.2f} s",
        flush=True,
    )


def main() -> None:
    """Print a line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--rates", type=float, nargs="*", default=[100.0, 500.0])
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    if why := missing():
        sys.exit(f"skipped: {why}")
    if options.workers:
        embedded(options.passes)
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as broker:
        for count in options.workers:
            through(broker, count, options.passes)
        for rate in options.rates:
            delays(broker, rate, options.seconds)


if __name__ == "__main__":
    main()
