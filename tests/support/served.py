"""What benchmarks ask of a collector in a process of its own."""

from __future__ import annotations

import collections
import os
import re
import time
from pathlib import Path

import httpx
from processes import Serving

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
CORPUS = BENCH.parent / "data" / "trail" / "gaia-dev"


def metrics(collector: Serving) -> dict[str, float]:
    """The collector's metrics, summed over labels."""
    found: dict[str, float] = {}
    for line in httpx.get(f"{collector.url}/metrics", timeout=30).text.splitlines():
        if match := re.match(r"([a-z_]+)(?:\{[^}]*\})? ([0-9.e+-]+)$", line):
            found[match[1]] = found.get(match[1], 0.0) + float(match[2])
    return found


def wait_until_judged(collector: Serving, seconds: float) -> float:
    """Wait until nothing waits for judging and every trace is closed; returns the seconds that took."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        now = metrics(collector)
        if not now["tracejury_judge_open_traces"] and not now["tracejury_judge_inbox_bytes"]:
            return time.monotonic() - started
        time.sleep(0.5)  # an answer takes milliseconds of the event loop
    raise TimeoutError("judging did not catch up")


def resident(collector: Serving) -> int:
    """Resident bytes of the process."""
    text = Path(f"/proc/{collector.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) * 1024 if found else 0


def cpu_seconds(collector: Serving) -> float:
    """CPU time that the collector has taken, over all its threads."""
    return process_cpu(collector.process.pid)


def by_thread(collector: Serving) -> collections.Counter[str]:
    """Milliseconds of CPU time by the names of the threads; all threads of Python share one."""
    found: collections.Counter[str] = collections.Counter()
    tick = round(1000 / os.sysconf("SC_CLK_TCK"))
    for folder in Path(f"/proc/{collector.process.pid}/task").iterdir():
        head, _, rest = (folder / "stat").read_text().rpartition(")")
        name = re.sub(r"[-_ ]?\d+$", "", head.partition("(")[2])
        found[name] += tick * sum(map(int, rest.split()[11:13]))
    return found


def process_cpu(pid: int) -> float:
    """CPU time that a process has taken, over all its threads (seconds)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
