"""Processes of several roles over three brokers of Kafka and one store, that faults are put into, under load."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from hook_server import SECRET, HookServer
from kafka_broker import Cluster
from mixed_traces import mixed
from processes import COMMAND, Serving, serving_process
from served import CORPUS

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import read
from tracejury.schemas.errors import TracejuryError

SUPPORT: Final = Path(__file__).parent
HOOK_SECRET: Final = {"HOOK_SECRET": SECRET}
SKEWS: Final = (0, 300, -300)
SENDERS: Final = 4
JUDGING: Final = ("work", "all")
RECEIVING: Final = ("receive", "all")
STORE: Final = """
import sys, threading, time
from pathlib import Path
from clickhouse_http import clickhouse_server
with clickhouse_server(Path(sys.argv[1])) as server:
    print(server.dsn, flush=True)
    for line in sys.stdin:
        state = line.strip()
        server.away, server.is_read_only, slow = state == "away", state == "read-only", state == "slow"
        def hold(state=state):
            while said == state:
                server.open.clear(); time.sleep(1.0); server.open.set(); time.sleep(0.05)
        said = state
        if slow:
            threading.Thread(target=hold, daemon=True).start()
"""


@dataclass
class Sent:
    """What senders have sent, and which of it is acknowledged (spans by their ids)."""

    requests: list[Request] = field(default_factory=list)
    spans: set[tuple[str, str]] = field(default_factory=set)
    refused: int = 0


class Stage:
    """Processes by name, over one store, and one topic where there is a `broker`."""

    def __init__(self, folder: Path, broker: Cluster | None, hooks: HookServer, chance: random.Random) -> None:
        self.folder, self.hooks, self._broker, self._chance = folder, hooks, broker, chance
        self.running: dict[str, Serving] = {}
        self.owners = 0  # how often traces may have come to another worker
        (folder / "db").mkdir()
        with (folder / "store.log").open("w") as log:  # clients that are killed hang up
            self._server = subprocess.Popen(  # noqa: S603  ours
                [sys.executable, "-c", STORE, str(folder / "db")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=SUPPORT,
            )  # fmt: skip
        assert self._server.stdout is not None
        self.dsn = f"{self._server.stdout.readline().strip()}/tracejury"
        subprocess.run([*COMMAND, "migrate", "--store", self.dsn], check=True, stdout=subprocess.DEVNULL)  # noqa: S603  ours
        kafka = _kafka(broker) if broker else None
        for group in ("workers", "strangers"):
            own = {"kafka": {**kafka, "group": group}} if kafka else {}
            (folder / f"{group}.json").write_text(json.dumps(judging(hooks) | own))

    @property
    def broker(self) -> Cluster:
        """The brokers."""
        assert self._broker is not None
        return self._broker

    def start(self, name: str, group: str = "workers") -> None:
        """Start a process; the role is its name without a number."""
        role = name.split(maxsplit=1)[0]
        store = [] if role == "receive" else ["--store", self.dsn]
        skew = self._chance.choice(SKEWS) if role in JUDGING else 0
        arguments = ("--config", f"{group}.json", "--role", role, *store)
        self.owners += role in JUDGING
        self.running[name] = serving_process(self.folder, *arguments, env=HOOK_SECRET, clock=skew)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        one = self.running.pop(name)
        one.process.kill()
        one.process.wait()
        self.owners += name.startswith(JUDGING)

    def stop(self, name: str) -> None:
        """SIGTERM; fails where the process does not end well."""
        assert self.running.pop(name).stop() == 0, name
        self.owners += name.startswith(JUDGING)

    def store_is(self, state: str) -> None:
        """well, away, slow or read-only."""
        assert self._server.stdin is not None
        self._server.stdin.write(state + "\n")
        self._server.stdin.flush()

    def lag(self) -> int:
        """Messages that wait, as far as workers answer."""
        found = 0
        for name, one in self.running.items():
            if name.startswith("work"):
                try:
                    found += sum(httpx.get(f"{one.url}/readyz", timeout=10).json().get("kafka_lag", {}).values())
                except httpx.HTTPError:
                    continue
        return found

    def close(self) -> None:
        """Kill all."""
        for name in [*self.running]:
            self.kill(name)
        self._server.kill()
        self._server.wait()


def _kafka(broker: Cluster) -> Mapping[str, Any]:
    """The section, without the consumer group."""
    topics = [{"name": broker.topic(8, min_insync_replicas=2), "signal": "traces"}]
    dead = {"dead_letter_topic": broker.topic(), "delivery_seconds": 5}
    return {"brokers": broker.addresses.split(","), "topics": topics, **dead}


def judging(hooks: HookServer) -> dict[str, Any]:
    """What shapes the findings, and when they are told: of several processes as of one."""
    hook = {"name": "ops", "url": hooks.url, "secret": "${HOOK_SECRET}", "profile": "0"}
    times = {"quiet_seconds": 3, "rootless_seconds": 20, "takeover_seconds": 20}
    return {"judging": times, "webhooks": [hook], "api": {"public_url": "http://127.0.0.1:1"}}


@contextmanager
def sending(stage: Stage, sent: Sent, rate: float, seed: int) -> Iterator[None]:
    """Send at about `rate` spans a second meanwhile; at the end all that was begun is acknowledged."""
    stopping = threading.Event()

    async def send(number: int) -> None:
        chance = random.Random(f"{seed}/{number}")  # noqa: S311  traffic
        for requests in mixed(chance, corpus()):
            if stopping.is_set():
                return
            for request in requests:
                sent.requests.append(request)
                await acknowledged(stage, request, chance, sent)
                ids = {(span.trace_id.hex(), span.span_id.hex()) for _, _, span in rows(request)}
                sent.spans |= ids
                await asyncio.sleep(len(ids) * SENDERS / rate)

    async def all_of_them() -> None:
        await asyncio.gather(*(send(n) for n in range(SENDERS)))

    thread = threading.Thread(target=lambda: asyncio.run(all_of_them()))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


async def acknowledged(stage: Stage, request: Request, chance: random.Random, sent: Sent) -> None:
    """Send it to one receiver or another, until one acknowledges it."""
    while True:
        receivers = [one for name, one in [*stage.running.items()] if name.startswith(RECEIVING)]
        try:
            if receivers:
                client = connect(f"127.0.0.1:{chance.choice(receivers).ports['grpc']}", "grpc")
                async with asyncio.timeout(20):
                    await client.send(encoded(request))
                return
        except (TracejuryError, TimeoutError):
            sent.refused += 1
        await asyncio.sleep(0.3)


def corpus() -> Sequence[Request]:
    """Small traces of the recorded corpus, none where it is absent."""
    folder = CORPUS / "traces"
    found = [one.request for one in read([folder]) if schema_of(one.request) is SPANS] if folder.exists() else []
    return [one for one in found if sum(1 for _ in rows(one)) <= 40 and one.ByteSize() < 300_000]
