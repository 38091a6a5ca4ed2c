"""Thousands of runs before LLM judges over HTTP, kill -9 in the middle: `python tests/bench/panel.py [--runs N]`.

A scripted OpenAI-compatible server of its own process answers after a while. Every run must come out judged, once;
resident memory is printed as it goes. The collector's CPU time is told apart from the server's.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from panel_requests import request
from processes import Serving, serving
from served import metrics, resident

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig

SERVER = Path(__file__).resolve().parents[1] / "support" / "llm_server.py"
SENDERS = 8
CONFIG = """
judging: {{quiet_seconds: 0.5}}
judges:
  model: openai/scripted
  api_base: {base}
  api_key_env: SCRIPTED_KEY
  concurrency: {concurrency}
  streaming: {streaming}
  answer_cache_days: {cache}
  budget: {{usd_per_day: null, unpriced_tokens_per_day: null}}
"""


@contextmanager
def model(delay: float, failures: float) -> Iterator[str]:
    """The scripted server as a process; its api_base."""
    command = [sys.executable, str(SERVER), "--delay", str(delay), "--failures", str(failures), "--findings", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def send(collector: Serving, first: int, runs: int, turns: int, length: int) -> None:
    """Send these runs, a few at a time."""
    numbers = iter(range(first, first + runs))

    async def work() -> None:
        client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
        for number in numbers:
            await client.send(encoded(request(number, turns, length)))

    await asyncio.gather(*(work() for _ in range(SENDERS)))


@dataclass
class Seen:
    """What is printed as it goes."""

    began: float = field(default_factory=time.monotonic)
    peak: int = 0

    def line(self, collector: Serving) -> tuple[int, int]:
        """(runs judged in this process, runs that wait); prints them with the resident memory."""
        now = metrics(collector)
        judged = int(now.get("tracejury_panel_duration_seconds_count", 0))
        waiting = int(now["tracejury_panel_waiting_runs"] + now["tracejury_panel_runs_in_flight"])
        self.peak = max(self.peak, resident(collector))
        seconds = time.monotonic() - self.began
        print(f"{seconds:5.0f} s  {judged:6d} judged  {waiting:6d} wait  {resident(collector) / 2**20:5.0f} MiB")
        return judged, waiting


def finish(collector: Serving, seen: Seen, patience: float) -> None:
    """Wait until nothing waits, in memory or in the store."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        time.sleep(5)
        _, waiting = seen.line(collector)
        now = metrics(collector)
        if not waiting and not now["tracejury_judge_open_traces"] and not now["tracejury_judge_inbox_bytes"]:
            left = httpx.get(
                f"{collector.url}/api/ledger", params={"outcome": "pending", "limit": 1}, timeout=60
            ).json()
            if not left["items"]:
                return
    sys.exit("judging did not catch up")


def cpu(pid: int) -> float:
    """CPU seconds that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def outcome(folder: Path) -> tuple[int, int, int, int]:
    """(runs judged, runs of which something is missing, judgements stored twice, live findings without judgement)."""
    runs = "SELECT TraceId, SubjectId, Judge, count() AS n FROM judgements FINAL WHERE SubjectKind = 'agent-run' AND "
    settled = "Outcome IN ('done', 'cached', 'not-applicable') GROUP BY ALL"
    store = Store.open(f"chdb://{folder}/.tracejury/db", StoreConfig())
    try:
        ((judged,),) = store.rows(f"SELECT uniqExact(TraceId) FROM ({runs}{settled})")
        ((stored,),) = store.rows("SELECT uniqExact(TraceId) FROM traces")
        ((twice,),) = store.rows(f"SELECT countIf(n > 1) FROM ({runs}{settled})")
        ((stray,),) = store.rows(
            "SELECT count() FROM findings FINAL WHERE JudgedBy != 'detectors' AND State = 'current' AND TraceId NOT IN "
            "(SELECT TraceId FROM judgements FINAL WHERE Judge != 'detectors' AND Outcome IN ('done', 'cached'))"
        )
        return judged, stored - judged, twice, stray
    finally:
        store.close()


def main() -> None:
    """Print what came of it; exit with 1 where a run is missing or judged twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--length", type=int, default=300)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.3)
    parser.add_argument("--failures", type=float, default=0.01)
    parser.add_argument("--streaming", action="store_true")
    parser.add_argument("--no-kill", action="store_true")
    options = parser.parse_args()
    os.environ["SCRIPTED_KEY"] = "none"
    with tempfile.TemporaryDirectory() as name, model(options.delay, options.failures) as base:
        folder = Path(name)
        config = folder / "config.yaml"
        config.write_text(
            CONFIG.format(base=base, concurrency=options.concurrency, streaming=str(options.streaming).lower(), cache=0)
        )
        seen, half = Seen(), options.runs if options.no_kill else options.runs // 2
        with serving(folder, "--config", str(config)) as collector:
            asyncio.run(send(collector, 0, half, options.turns, options.length))
            while not options.no_kill and seen.line(collector)[0] < half // 2:
                time.sleep(2)
            if options.no_kill:
                finish(collector, seen, 3600)
            used = cpu(collector.process.pid)
            collector.process.kill()
            collector.process.wait()
        if not options.no_kill:
            print("killed")
            with serving(folder, "--config", str(config)) as collector:
                asyncio.run(send(collector, half, options.runs - half, options.turns, options.length))
                finish(collector, seen, 3600)
                used += cpu(collector.process.pid)
                collector.stop()
        judged, missing, twice, stray = outcome(folder)
    print(
        f"{judged} runs judged, {missing} missing, {twice} judgements twice, {stray} findings without judgement; "
        f"{used / max(judged, 1) * 1000:.1f} ms of the collector's CPU a run, "
        f"{judged / (time.monotonic() - seen.began):.0f} runs/s, at most {seen.peak / 2**20:.0f} MiB"
    )
    sys.exit(1 if missing or twice or stray else 0)


if __name__ == "__main__":
    main()
