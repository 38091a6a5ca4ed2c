"""A collector in a process of its own for benchmarks and soaks: start it, ask it, kill it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
READY_SECONDS = 60.0


@dataclass(slots=True)
class Served:
    """A running `tracejury serve`. `ready_after`: seconds from the start of the process to its ready line."""

    process: subprocess.Popen[str]
    grpc: str
    http: str
    api: str
    ready_after: float

    def metrics(self) -> dict[str, float]:
        """The collector's metrics, summed over labels."""
        found: dict[str, float] = {}
        for line in httpx.get(f"{self.api}/metrics", timeout=30).text.splitlines():
            if match := re.match(r"([a-z_]+)(?:\{[^}]*\})? ([0-9.e+-]+)$", line):
                found[match[1]] = found.get(match[1], 0.0) + float(match[2])
        return found

    def wait_until_judged(self, seconds: float) -> float:
        """Wait until nothing waits for judging and every trace is closed; returns the seconds that took."""
        started = time.monotonic()
        while time.monotonic() - started < seconds:
            m = self.metrics()
            if not m["tracejury_judge_open_traces"] and not m["tracejury_judge_inbox_bytes"]:
                return time.monotonic() - started
            time.sleep(0.1)
        raise TimeoutError("judging did not catch up")

    def memory(self) -> int:
        """Resident bytes of the process."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024  # type: ignore[index]  # Linux has it

    def kill(self) -> None:
        """End the process as `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    """`tracejury serve` with its store in `folder`, on free ports."""
    command = [str(Path(sys.executable).with_name("tracejury")), "serve", "--store", f"chdb:///{folder}"]
    free = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--api", "127.0.0.1:0"]
    started = time.monotonic()
    process = subprocess.Popen(
        [*command, *free, *options], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    try:
        yield _ready(process, started)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(READY_SECONDS)


def _ready(process: subprocess.Popen[str], started: float) -> Served:
    assert process.stdout is not None
    found: dict[str, str] = {}
    for line in process.stdout:
        if match := re.match(r"\s+(OTLP/gRPC|OTLP/HTTP|API|store)\s+(\S+)", line):
            found[match[1]] = match[2]
        if match and match[1] == "store":
            return Served(process, found["OTLP/gRPC"], found["OTLP/HTTP"], found["API"], time.monotonic() - started)
    raise RuntimeError("the collector did not start")
