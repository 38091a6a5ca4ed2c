"""Processes of each role on one ClickHouse server: `python tests/bench/roles.py [--seconds 20] [--senders 2]`.

One process of each role starts on one store, over ClickHouse's HTTP interface to an embedded engine. The worker starts
last: what was received by then it finds in the store. Senders replay the corpus with fresh ids for some seconds, and a
page of each kind is asked for from the web process meanwhile. Prints by role the seconds until it was ready, the
resident memory then and at the end, and CPU time a span received.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
from processes import COMMAND, Serving, serving
from served import CORPUS, cpu_seconds, metrics, resident

from tracejury.collector.otlp.client import FreshIds, batches, connect, encoded
from tracejury.collector.otlp.codec.groups import Request, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import read
from tracejury.schemas.errors import RetryableError

PAGES = ("/", "/traces", "/errors", "/sessions", "/judges", "/api/traces", "/api/errors", "/api/rates")
SERVER = """
import sys
from pathlib import Path
from clickhouse_http import clickhouse_server
with clickhouse_server(Path(sys.argv[1])) as server:
    print(server.dsn, flush=True)
    sys.stdin.read()
"""


async def send(receiver: Serving, corpus: Sequence[Request], seconds: float, senders: int) -> None:
    """Replay the corpus for so long."""
    ends = time.monotonic() + seconds

    async def one() -> None:
        client = connect(f"127.0.0.1:{receiver.ports['grpc']}", "grpc")
        while time.monotonic() < ends:
            for part in batches(FreshIds().rewrite(random.choice(corpus)), 512):  # noqa: S311  which does not matter
                try:
                    await client.send(encoded(part))
                except RetryableError:
                    await asyncio.sleep(0.5)

    await asyncio.gather(*(one() for _ in range(senders)))


async def browse(web: Serving, seconds: float) -> int:
    """Ask for every page again and again for so long; returns how many were answered."""
    ends, answered = time.monotonic() + seconds, 0
    async with httpx.AsyncClient(base_url=web.url, timeout=60) as client:
        while time.monotonic() < ends:
            for page in PAGES:
                answered += (await client.get(page)).status_code == httpx.codes.OK
    return answered


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--senders", type=int, default=2)
    options = parser.parse_args()
    if not CORPUS.exists():
        sys.exit(f"skipped: the corpus is not at {CORPUS}")
    corpus = [source.request for source in read([CORPUS]) if schema_of(source.request) is SPANS]
    with tempfile.TemporaryDirectory() as place, ExitStack() as processes:
        folder, support = Path(place), Path(__file__).parents[1] / "support"
        server = processes.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", SERVER, str(folder / "db")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=support,
            )
        )  # fmt: skip
        assert server.stdout is not None
        dsn = f"{server.stdout.readline().strip()}/tracejury"
        subprocess.run([*COMMAND, "migrate", "--store", dsn], check=True, stdout=subprocess.DEVNULL)
        started: dict[str, tuple[Serving, float, int]] = {}
        for role in ("receive", "web", "work"):
            began = time.monotonic()
            one = processes.enter_context(serving(folder, "--role", role, "--store", dsn, new_store=True))
            started[role] = one, time.monotonic() - began, resident(one)
            if role == "web":
                asyncio.run(send(started["receive"][0], corpus, options.seconds / 4, options.senders))

        async def load() -> int:
            sending = send(started["receive"][0], corpus, options.seconds, options.senders)
            _, pages = await asyncio.gather(sending, browse(started["web"][0], options.seconds))
            return pages

        pages = asyncio.run(load())
        spans = metrics(started["receive"][0])["otelcol_receiver_accepted_spans_total"]
        print(f"{spans:.0f} spans received, {pages} pages shown")
        for role, (one, ready, first) in started.items():
            cpu = 1e6 * cpu_seconds(one) / spans
            print(f"{role:<8} ready after {ready:.1f} s, resident {first / 1e6:.0f} MB, after the load "
                  f"{resident(one) / 1e6:.0f} MB, {cpu:.0f} µs of CPU a span")  # fmt: skip
        server.communicate()


if __name__ == "__main__":
    main()
