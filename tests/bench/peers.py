"""Acknowledged spans a second of ours, of the OpenTelemetry Collector, and of an engine that decodes OTLP itself.

`python tests/bench/peers.py [--rounds 10] [--passes 10] [--only NAME] [--until-judged]`. Rounds take them in turn over
gRPC with the load generator beside the corpus, each with an empty folder, so that what else the machine does meets all
of them. The OpenTelemetry Collector is built from the Go module proxy; its persistent queue is synced before it
answers. The spans that ours judges a second are counted from the first request until every trace is judged and closed,
which a trace is after up to 5 s without spans: `sustained.py` measures what it judges for minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import peer_collectors as peers
from served import BENCH, wait_until_judged

from tracejury.judges.bootstrap import intervals

OURS = "ours"
NAMES = (OURS, "fsync", "floor", "go")


class Run(NamedTuple):
    """Spans a second that are acknowledged and judged, with milliseconds of CPU time a span until then."""

    speed: float
    cpu: float
    cpu_judged: float
    judged: float


def main() -> None:
    """Print a line a run, then the medians and the ratio of ours to each other one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--until-judged", action="store_true", help="wait until all is judged, too")
    options = parser.parse_args()
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    starts = dict(map(_collector, options.only or NAMES))
    found: dict[str, list[Run]] = {name: [] for name in starts}
    for number in range(options.rounds):
        for name, start in starts.items():
            found[name].append(one_run(start, options.passes, options.senders, judged=options.until_judged))
            print(f"round {number + 1}, {name}: {shown(found[name][-1])}", flush=True)
    report(found)


def _collector(name: str) -> tuple[str, peers.Start]:
    """The full name of a collector, and how it is started."""
    if name == "fsync":
        return "ours, fsync", peers.tracejury("store: {fsync: true}")
    if name == "floor":
        return name, peers.floor
    if name == OURS:
        return name, peers.tracejury()
    try:
        return f"OpenTelemetry Collector {peers.version()}", peers.go_collector({"fsync": True})
    except FileNotFoundError:
        sys.exit("skipped: Go is not installed, so the OpenTelemetry Collector cannot be built")


def one_run(start: peers.Start, passes: int, senders: int, *, judged: bool) -> Run:
    """One load on an empty folder."""
    with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as peer:
        before = peer.cpu()
        sizes = ["-n", str(passes), "-c", str(senders)]
        command = [sys.executable, str(BENCH / "load.py"), "--endpoint", f"127.0.0.1:{peer.port}", *sizes]
        load = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        spent = peer.cpu() - before
        assert load["ok"] == load["requests"], load["errors"]
        spans = load["spans"]
        if not judged or peer.ours is None:
            return Run(load["spans_s"], 1e3 * spent / spans, math.nan, math.nan)
        caught_up = wait_until_judged(peer.ours, 600)
        until_judged = peer.cpu() - before
        return Run(load["spans_s"], 1e3 * spent / spans, 1e3 * until_judged / spans, spans / (load["secs"] + caught_up))


def shown(run: Run) -> str:
    """A line."""
    text = f"{run.speed:.0f} spans/s, {run.cpu:.3f} ms of CPU a span"
    if math.isnan(run.judged):
        return text
    return f"{text}; until judged {run.judged:.0f} spans/s, {run.cpu_judged:.3f} ms"


def report(found: Mapping[str, Sequence[Run]]) -> None:
    """The medians, and the geometric means of the rounds' ratios with their 95% intervals."""
    for name, runs in found.items():
        print(f"{name}: {shown(Run(*map(statistics.median, zip(*runs, strict=True))))}")
    for ours in (name for name in found if name.startswith(OURS)):
        for name in (name for name in found if not name.startswith(OURS)):
            ratios = [one.speed / other.speed for one, other in zip(found[ours], found[name], strict=True)]
            low, high = intervals(ratios, lambda drawn: {"ratio": statistics.geometric_mean(drawn)})["ratio"]
            mean = statistics.geometric_mean(ratios)
            print(f"{ours} / {name}: {mean:.2f} (95% interval {low:.2f} to {high:.2f}, {len(ratios)} rounds)")


if __name__ == "__main__":
    main()
