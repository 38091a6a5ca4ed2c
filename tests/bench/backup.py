"""Backups under load: `python tests/bench/backup.py [--seconds 20] [--senders 8] [--fill MIB]`.

Senders replay the corpus with fresh ids, first without backups and then with one after another. The last backup is
restored: every span that was acknowledged before it began must be there, and every trace that was whole by then must
be judged as in the original. Exits with 1 where anything is not so, or a request was refused.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from processes import COMMAND, Serving, serving
from served import CORPUS, wait_until_judged

from tracejury.collector.otlp.client import FreshIds, batches, connect, encoded
from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import read
from tracejury.collector.store.client import Store
from tracejury.collector.store.migrate import migrate
from tracejury.schemas.errors import TracejuryError

SPANS_A_REQUEST = 64
MIB = 2**20


@dataclass(slots=True)
class Load:
    """What was acknowledged, and how long that took."""

    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    """Span ids by trace id."""
    whole: set[str] = field(default_factory=set)
    """Traces of which everything is acknowledged."""
    latencies: list[float] = field(default_factory=list)
    spans: int = 0
    refused: int = 0

    def seen(self) -> tuple[dict[str, int], set[str]]:
        """Spans by trace, and whole traces, as of now."""
        return {trace: len(spans) for trace, spans in self.acknowledged.items()}, set(self.whole)


FILL = """
INSERT INTO answers (Key, At, Model, Text, TraceId, RunId, Purpose, ReceivedAt)
SELECT toString(rand64()), number, 'filler', randomPrintableASCII(65536), '', '', '', now64(9) FROM numbers(1024)
SETTINGS max_block_size = 256
"""


def fill(folder: Path, mebibytes: int) -> None:
    """Put so much text that cannot be compressed into the store of a collector that does not run."""
    dsn = f"chdb://{folder}/.tracejury/db"
    store = Store.open(dsn)
    migrate(store)
    for _ in range(mebibytes // 64):
        store.command(FILL)
    store.close()


async def send(collector: Serving, corpus: Sequence[Request], load: Load, until: asyncio.Event) -> None:
    """Send trace after trace, each to its end."""
    client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
    while not until.is_set():
        ids = set[str]()
        for part in batches(FreshIds().rewrite(random.choice(corpus)), SPANS_A_REQUEST):  # noqa: S311  any will do
            began = time.monotonic()
            try:
                await client.send(encoded(part))
            except TracejuryError as error:
                print(f"refused: {error}")
                load.refused += 1
                return
            load.latencies.append(time.monotonic() - began)
            for _, _, span in rows(part):
                ids.add(span.trace_id.hex())
                load.acknowledged.setdefault(span.trace_id.hex(), set()).add(span.span_id.hex())
                load.spans += 1
        load.whole |= ids


async def back_up(collector: Serving) -> dict[str, object]:
    """One backup by the command; fails where it does."""
    args = ("store", "backup", "--url", collector.url, "--format", "json")
    process = await asyncio.create_subprocess_exec(*COMMAND, *args, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        sys.exit("a backup failed")
    made: dict[str, object] = json.loads(out)
    return made


async def phase(
    collector: Serving, corpus: Sequence[Request], load: Load, seconds: float, senders: int, *, backups: bool
) -> tuple[dict[str, object], tuple[dict[str, int], set[str]]]:
    """Load for so long; returns the last backup and what was acknowledged before it began."""
    until, began, spans = asyncio.Event(), time.monotonic(), load.spans
    load.latencies.clear()
    sending = [asyncio.create_task(send(collector, corpus, load, until)) for _ in range(senders)]
    made: dict[str, object] = {}
    seen = load.seen()
    while (left := seconds - (time.monotonic() - began)) > 0:
        if not backups:
            await asyncio.sleep(left)
            break
        seen = load.seen()
        made = await back_up(collector)
        size, took, paused = (float(str(made[name])) for name in ("bytes", "seconds", "paused"))
        print(f"  backup of {size / MIB:.0f} MiB in {took:.2f} s, writing waited {paused:.2f} s")
    lasted = time.monotonic() - began
    until.set()
    await asyncio.gather(*sending)
    times = sorted(load.latencies)
    print(
        f"{'with' if backups else 'without'} backups: {(load.spans - spans) / lasted:.0f} spans/s, requests p50 "
        f"{median(times) * 1000:.0f} ms, p99 {times[int(len(times) * 0.99)] * 1000:.0f} ms, longest "
        f"{times[-1] * 1000:.0f} ms; refused {load.refused}"
    )
    return made, seen


def opinions(collector: Serving, trace_ids: set[str]) -> dict[str, tuple[int, list[str]]]:
    """Spans and the fingerprints of findings, by trace."""
    found = dict[str, tuple[int, list[str]]]()
    with httpx.Client(base_url=collector.url, timeout=60) as client:
        for trace_id in trace_ids:
            answer = client.get(f"/api/traces/{trace_id}", params={"profile": "recall"})
            trace: dict[str, Any] = {"spans": 0, "findings": []}
            if answer.status_code == httpx.codes.OK:
                trace = answer.json()
            found[trace_id] = (trace["spans"], sorted(one["fingerprint"] for one in trace["findings"]))
    return found


def main() -> None:
    """Print the figures; exit with 1 where something is not restored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--fill", type=int, default=0, help="MiB that are in the store before")
    options = parser.parse_args()
    if not CORPUS.exists():
        sys.exit(f"skipped: the corpus is not at {CORPUS}")
    corpus = [source.request for source in read([CORPUS / "traces"]) if schema_of(source.request) is SPANS]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"  # a trace cut in half has no root: do not wait ten minutes for it
        config.write_text("judging: {rootless_seconds: 5}\nstore: {keep_backups: 2}\n")
        load = Load()
        if options.fill:
            fill(Path(folder), options.fill)
        with serving(Path(folder), "--config", str(config)) as collector:
            for backups in (False, True):
                done = asyncio.run(phase(collector, corpus, load, options.seconds, options.senders, backups=backups))
            made, (before, whole) = done
            wait_until_judged(collector, 1800)
            original = opinions(collector, set(before))
            collector.stop()
        began = time.monotonic()
        restored = f"chdb:///{folder}/restored/db"
        command = [*COMMAND, "store", "restore", str(made["folder"]), "--store", restored]
        if asyncio.run(_run(command)):
            sys.exit("the restore failed")
        print(f"restored in {time.monotonic() - began:.1f} s")
        with serving(Path(folder), "--config", str(config), "--store", restored) as collector:
            wait_until_judged(collector, 1800)
            after = opinions(collector, set(before))
            ready = httpx.get(f"{collector.url}/readyz").json()["status"]
    lost = sum(max(spans - after[trace][0], 0) for trace, spans in before.items())
    others = sum(original[trace] != after[trace] for trace in whole)
    print(
        f"{sum(before.values())} spans of {len(before)} traces acknowledged before the backup: {lost} lost; "
        f"{others} of {len(whole)} whole traces judged otherwise; {ready}"
    )
    sys.exit(1 if lost or others or load.refused or ready != "ready" else 0)


async def _run(command: Sequence[str]) -> int:
    return await (await asyncio.create_subprocess_exec(*command)).wait()


if __name__ == "__main__":
    main()
