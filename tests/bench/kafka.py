"""Judging through Kafka: spans a second and CPU a span with several workers, and how soon findings show.

`python tests/bench/kafka.py [--workers 1 2 3] [--passes 5] [--rates 100 500] [--seconds 30]`. Workers are started and
stopped (SIGSTOP); the corpus is written to Kafka by a receiver; then they go on, and the time until all of it is read
and every trace is judged counts. Beside it: one process with the embedded store over the same spans. The broker,
ClickHouse's HTTP interface (`tests/support/clickhouse_http.py`, in the benchmark's own process) and workers share the
machine: with more workers than cores only CPU a span says something. The delays are from the acknowledgement of the
brokers to the finding in the API of a web process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
from clickhouse_http import ClickHouseServer, clickhouse_server
from kafka_broker import Cluster, cluster, missing
from played import measure, play_corpus
from processes import Serving, serving
from served import BENCH, cpu_seconds, metrics, resident, wait_until_judged

from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore

PARTITIONS = 12
PATIENCE = 900.0


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
        receiver, workers = found.start("receive"), [found.start("work") for _ in range(count)]
        wait_until(lambda: sum(len(lags(one)) for one in workers) == PARTITIONS)
        signal_all(workers, signal.SIGSTOP)
        before = cpu_seconds(receiver)
        spans = load(receiver.ports["grpc"], passes)
        received = cpu_seconds(receiver) - before
        spent, own, started = sum(map(cpu_seconds, workers)), time.process_time(), time.monotonic()
        signal_all(workers, signal.SIGCONT)
        sent = metrics(receiver)["tracejury_kafka_sent_messages_total"]
        wait_until(lambda: sum(metrics(one)["tracejury_kafka_messages_total"] for one in workers) >= sent)
        for one in workers:
            wait_until_judged(one, PATIENCE)
        seconds = time.monotonic() - started
        report(
            f"{count} workers",
            spans,
            seconds,
            sum(map(cpu_seconds, workers)) - spent,
            time.process_time() - own,
            f"; receiver {1e3 * received / spans:.3f} ms, {resident(receiver) / 1e6:.0f} MB",
        )


def signal_all(workers: Sequence[Serving], number: signal.Signals) -> None:
    """Send a signal to each."""
    for one in workers:
        one.process.send_signal(number)


def lags(worker: Serving) -> dict[str, int]:
    """Messages that wait, by the partitions that the worker has."""
    found: dict[str, int] = httpx.get(f"{worker.url}/readyz", timeout=30).json().get("kafka_lag", {})
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


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
        wait_until(lambda: len(lags(worker)) == PARTITIONS)
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
    patient = {"group_consumer_session_timeout_ms": 60_000}  # workers that are stopped stay in the group
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder), **patient) as broker:
        for count in options.workers:
            through(broker, count, options.passes)
        for rate in options.rates:
            delays(broker, rate, options.seconds)


if __name__ == "__main__":
    main()
