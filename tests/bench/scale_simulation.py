"""Partitions, workers, lag and budget at a rate: `python tests/bench/scale_simulation.py [--spans-per-second R …]`.

Prints what the model of tests/support/scale_model.py gives for `--seconds`: how long spans wait (without the insert and
the judging itself), how long catching up takes after a worker was lost (`--lost-at`) or added (`--added-at`), how busy
workers are, and which share of runs LLM judges can be asked about under `--budget`. Without `--workers` and
`--partitions` it takes as many as the rate needs. `--plan` prints the table of docs/scale.md, `--sizes` bytes a span.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import subprocess
import sys
import tempfile
import zlib
from dataclasses import fields, replace
from pathlib import Path

from processes import serving
from scale_model import DAY, Cluster, sampling_rate, simulate, with_enough_workers
from served import BENCH, wait_until_judged

RECEIVING, JUDGING, INSERTING = 0.25, 0.6, 0.25
"""CPU milliseconds a span: a receiver's, a worker's, ClickHouse's with its merges (docs/scale.md: where from)."""
SENT, GZIPPED, STORED = 25_100, 4_300, 2_100
"""Bytes a span, by `--sizes`: as sent, as sent with gzip, in the store with what is judged."""
BUSY = 0.7
"""The share of a core that a process may take of it on average."""
BROKER_BYTES, SHARD_CORES, SHARD_BYTES, COPIES, DAYS = 200e6, 16, 40e12, 3, 30
"""Assumed: bytes a second that a broker writes, cores and disk of a ClickHouse server, copies in Kafka, retention."""
RATES = (100, 2_000, 20_000, 200_000, 1_000_000)


def main() -> None:
    """Print what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    for field in fields(Cluster):
        kind = int if isinstance(field.default, int) and field.default is not None else float
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind)
    parser.add_argument("--budget", type=float, default=100.0, help="USD a day for LLM judges")
    parser.add_argument("--usd-of-run", type=float, default=0.01, help="USD that judging one run costs")
    parser.add_argument("--failing", type=float, default=0.05, help="share of runs with an error")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args()
    if options.sizes:
        return sizes()
    if options.plan:
        return print("\n".join(plan(rate, options.budget, options.usd_of_run, options.failing) for rate in RATES))
    given = {field.name: getattr(options, field.name) for field in fields(Cluster)}
    given = {name: value for name, value in given.items() if value is not None}
    cluster = replace(with_enough_workers(Cluster(**given), BUSY), **given)
    report(cluster, options.budget, options.usd_of_run, options.failing)
    return None


def report(cluster: Cluster, budget: float, usd_of_run: float, failing: float) -> None:
    """One line a figure."""
    found = simulate(cluster)
    print(f"{cluster.spans_per_second:,.0f} spans/s, {cluster.partitions} partitions, {cluster.workers} workers")
    print(f"waiting: p50 {_seconds(found.lag_p50, cluster)}, p99 {_seconds(found.lag_p99, cluster)}")
    print(f"at most {found.most_waiting:,.0f} spans wait, {found.waiting:,.0f} at the end")
    print(f"workers are busy for {found.utilisation:.0%} of the time, the busiest for {found.busiest:.0%}")
    if cluster.lost_at is not None or cluster.added_at is not None:
        after = "not within the time" if found.caught_up is None else f"{found.caught_up:.1f} s"
        print(f"caught up after the last change of the group: {after}")
    runs = cluster.spans_per_second / cluster.spans_per_trace * DAY
    rate, share = sampling_rate(runs, failing, usd_of_run, budget)
    print(f"LLM judges: {share:.2%} of {runs:,.0f} runs a day for {budget:,.0f} USD; rate of the policy {rate:.4f}")


def _seconds(value: float, cluster: Cluster) -> str:
    return f"below {cluster.step} s" if value < cluster.step else f"{value:.1f} s"


def plan(rate: float, budget: float, usd_of_run: float, failing: float) -> str:
    """A row of the table: what to run at a rate."""
    needed = with_enough_workers(Cluster(spans_per_second=rate, cpu_of_span=JUDGING), BUSY)
    receivers = max(2, math.ceil(rate * RECEIVING / 1e3 / BUSY))
    brokers = max(3, math.ceil(rate * GZIPPED * COPIES / BROKER_BYTES))
    stored = rate * STORED * DAY
    shards = max(1, math.ceil(rate * INSERTING / 1e3 / (SHARD_CORES / 2)), math.ceil(stored * DAYS / SHARD_BYTES))
    runs = rate / needed.spans_per_trace * DAY
    llm = sampling_rate(runs, failing, usd_of_run, budget)[1]
    cells = (
        f"{rate:,}", f"{receivers}", f"{needed.workers}", f"{needed.partitions}", f"{brokers}", f"{shards}",
        _bytes(stored), _bytes(stored * DAYS), f"{rate * SENT / 1e6:,.1f}, {rate * GZIPPED / 1e6:,.1f}",
        f"{runs:,.0f}", f"{runs * usd_of_run:,.0f}", f"{llm:.4%}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _bytes(number: float) -> str:
    for unit in ("GB", "TB", "PB"):
        number /= 1e9 if unit == "GB" else 1e3
        if number < 1e3 or unit == "PB":
            return f"{number:,.1f} {unit}"
    raise AssertionError


def sizes() -> None:
    """Bytes a span of the corpus: as sent, compressed, and stored once it is judged and merged."""
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    sys.path.insert(0, str(BENCH))
    otlp_corpus = importlib.import_module("otlp_corpus")
    requests = otlp_corpus.passes(1, otlp_corpus.build()[0])
    spans = sum(count for _, count in requests)
    print(f"sent: {sum(len(body) for body, _ in requests) / spans:,.0f}")
    print(f"gzip: {sum(len(zlib.compress(body)) for body, _ in requests) / spans:,.0f}")
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder), "--store", "chdb:///./db") as collector:
            command = [sys.executable, str(BENCH / "load.py"), "--endpoint", f"127.0.0.1:{collector.ports['grpc']}"]
            done = subprocess.run([*command, "-n", "10"], check=True, capture_output=True, text=True)
            spans = json.loads(done.stdout)["spans"]
            wait_until_judged(collector, 600)
        from tracejury.collector.store.client import Store

        store = Store.open(f"chdb://{folder}/db")
        try:
            for (table,) in store.rows(
                "SELECT DISTINCT table FROM system.parts WHERE active AND database = 'tracejury'"
            ):
                store.command(f"OPTIMIZE TABLE {table} FINAL")
            query = "SELECT table, sum(bytes_on_disk) AS size FROM system.parts WHERE active AND database = 'tracejury'"
            found = store.rows(f"{query} GROUP BY table ORDER BY size DESC LIMIT 8")
        finally:
            store.close()
    print(f"stored: {sum(size for _, size in found) / spans:,.0f}")
    for table, size in found:
        print(f"  {table}: {size / spans:,.0f}")


if __name__ == "__main__":
    main()
