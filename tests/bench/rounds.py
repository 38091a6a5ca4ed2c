"""Processes of several roles under faults: `python tests/bench/rounds.py [--rounds 30] [--seed 1] [--rate 40]`.

Two receivers, two workers and a web process stand between three brokers of Kafka and ClickHouse's HTTP interface to an
embedded engine; clocks of workers are up to five minutes off. Senders send each request
until it is acknowledged. In each round something is killed with SIGKILL and started again, or a worker more comes and
goes, a second group of workers reads the same topic, the store is away, slow or read-only, or all brokers are away. In
the end every acknowledged span must be stored, once and as it was sent, every trace judged, and all that follows from
spans equal to what one process with the embedded store makes of the same requests, byte for byte; and a webhook must
have been told of each error. Exits with 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from hook_server import SECRET, HookServer, hook_server
from kafka_broker import Cluster, cluster, missing
from mixed_traces import mixed
from processes import COMMAND, Serving, serving_process
from served import CORPUS, wait_until_judged
from several import contents

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import read
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import TracejuryError

SUPPORT: Final = Path(__file__).parents[1] / "support"
HOOK_SECRET: Final = {"HOOK_SECRET": SECRET}
SKEWS: Final = (0, 300, -300)
SENDERS: Final = 4
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
CONTENTS: Final = """
import json, sys
from several import contents
from tracejury.collector.store.shared_store import SharedStore
json.dump(contents(SharedStore.open("chdb:///./.tracejury/db")), sys.stdout)
"""


@dataclass
class Sent:
    """What senders have sent, and which of it is acknowledged (spans by their ids)."""

    requests: list[Request] = field(default_factory=list)
    spans: set[tuple[str, str]] = field(default_factory=set)
    refused: int = 0


class Stage:
    """Processes by name, over one topic and one store."""

    def __init__(self, folder: Path, broker: Cluster, hooks: HookServer, chance: random.Random) -> None:
        self.folder, self.broker, self.hooks, self._chance = folder, broker, hooks, chance
        self.running: dict[str, Serving] = {}
        self.owners = 0  # how often traces may have come to another worker
        self._topic, self._dead = broker.topic(8, min_insync_replicas=2), broker.topic()
        (folder / "db").mkdir()
        with (folder / "store.log").open("w") as log:  # clients that are killed hang up
            self._server = subprocess.Popen(
                [sys.executable, "-c", STORE, str(folder / "db")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=SUPPORT,
            )  # fmt: skip
        assert self._server.stdout is not None
        self.dsn = f"{self._server.stdout.readline().strip()}/tracejury"
        subprocess.run([*COMMAND, "migrate", "--store", self.dsn], check=True, stdout=subprocess.DEVNULL)
        for group in ("workers", "strangers"):
            (folder / f"{group}.json").write_text(json.dumps(judging(hooks) | {"kafka": self._kafka(group)}))

    def _kafka(self, group: str) -> Mapping[str, Any]:
        topics = [{"name": self._topic, "signal": "traces"}]
        dead = {"dead_letter_topic": self._dead, "delivery_seconds": 5}
        return {"brokers": self.broker.addresses.split(","), "topics": topics, "group": group, **dead}

    def start(self, name: str, group: str = "workers") -> None:
        """Start a process; the role is its name without a number."""
        role = name.split(maxsplit=1)[0]
        store = [] if role == "receive" else ["--store", self.dsn]
        skew = self._chance.choice(SKEWS) if role == "work" else 0
        arguments = ("--config", f"{group}.json", "--role", role, *store)
        self.owners += role == "work"
        self.running[name] = serving_process(self.folder, *arguments, env=HOOK_SECRET, clock=skew)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        one = self.running.pop(name)
        one.process.kill()
        one.process.wait()
        self.owners += name.startswith("work")

    def stop(self, name: str) -> None:
        """SIGTERM; fails where the process does not end well."""
        assert self.running.pop(name).stop() == 0, name
        self.owners += name.startswith("work")

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
        receivers = [one for name, one in [*stage.running.items()] if name.startswith("receive")]
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


def kill_and_start(names: Sequence[str]) -> Callable[[Stage, random.Random], str]:
    """A fault: one of these is killed and started again."""

    def fault(stage: Stage, chance: random.Random) -> str:
        name = chance.choice(names)
        stage.kill(name)
        time.sleep(chance.uniform(0, 3))
        stage.start(name)
        return f"kill -9 of {name}"

    return fault


def broker_dies(stage: Stage, chance: random.Random) -> str:
    """A fault."""
    one = chance.choice(stage.broker.brokers)
    one.kill()
    time.sleep(chance.uniform(2, 8))
    one.start()
    stage.broker.until_ready()
    return f"kill -9 of broker {one.number}"


def worker_comes_and_goes(stage: Stage, chance: random.Random) -> str:
    """A fault."""
    stage.start("work 3")
    time.sleep(chance.uniform(3, 10))
    stage.stop("work 3")
    return "a third worker came and left"


def two_owners(stage: Stage, _: random.Random) -> str:
    """A fault."""
    stage.start("work 9", "strangers")
    time.sleep(30)
    stage.kill("work 9")
    return "a worker of another group, for 30 s"


def rebalance_storm(stage: Stage, chance: random.Random) -> str:
    """A fault."""
    for _ in range(3):
        stage.start("work 3")
        time.sleep(chance.uniform(0, 2))
        stage.kill("work 3")
    return "three workers came and were killed"


def store_is(state: str, seconds: float) -> Callable[[Stage, random.Random], str]:
    """A fault."""

    def fault(stage: Stage, _: random.Random) -> str:
        stage.store_is(state)
        time.sleep(seconds)
        lag = stage.lag()
        stage.store_is("well")
        return f"the store was {state} for {seconds:.0f} s, lag {lag}"

    return fault


def no_kafka(stage: Stage, chance: random.Random) -> str:
    """A fault."""
    for one in stage.broker.brokers:
        one.kill()
    time.sleep(chance.uniform(10, 20))
    for one in stage.broker.brokers:
        one.start()
    stage.broker.until_ready()
    return "all brokers were away"


KILLS: Final = (kill_and_start(["work 1", "work 2"]), kill_and_start(["receive 1", "receive 2"]),
                kill_and_start(["web"]), broker_dies)  # fmt: skip


def rounds(count: int, outage: float, chance: random.Random) -> list[Callable[[Stage, random.Random], str]]:
    """The faults in their order: each of the others once, and kills."""
    others = [worker_comes_and_goes, two_owners, rebalance_storm, no_kafka, store_is("away", outage),
              store_is("slow", 20), store_is("read-only", 20)]  # fmt: skip
    kills = [KILLS[n % len(KILLS)] for n in range(max(count - len(others), 0))]
    found = [*kills, *others][:count] if count >= len(others) else [*KILLS, *others][:count]
    return chance.sample(found, len(found))


def until_quiet(store: SharedStore, sent: Sent, patience: float) -> float:
    """Wait until all is stored and judged, and nothing changes for half a minute; returns the seconds until then."""
    began, before, since = time.monotonic(), list[str](), time.monotonic()
    while time.monotonic() - began < patience:
        time.sleep(5)
        stored = store.rows("SELECT count() FROM spans FINAL")[0][0]
        if stored < len(sent.spans) or unjudged(store):
            before = []
            continue
        now = contents(store)
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > 45:
            return since - began
    return patience


def unjudged(store: SharedStore) -> int:
    """Traces that have spans and are not judged to their end."""
    sql = (
        "SELECT uniqExact(tenant, TraceId) FROM spans WHERE (tenant, TraceId) NOT IN "
        "(SELECT tenant, TraceId FROM traces FINAL WHERE State != 'open' AND JudgedAt > 0)"
    )
    return int(store.rows(sql)[0][0])


def alone(folder: Path, sent: Sent, hooks: HookServer) -> list[str]:
    """What one process with the embedded store makes of the same requests."""
    (folder / "one.json").write_text(json.dumps(judging(hooks)))
    one = serving_process(folder, "--config", "one.json", env=HOOK_SECRET)
    try:

        async def send() -> None:
            client = connect(f"127.0.0.1:{one.ports['grpc']}", "grpc")
            for request in sent.requests:
                await client.send(encoded(request))

        asyncio.run(send())
        wait_until_judged(one, 600)
        time.sleep(5)
        wait_until_judged(one, 600)
    finally:
        one.stop()
    command = [sys.executable, "-c", CONTENTS]
    env = {**os.environ, "PYTHONPATH": f"{SUPPORT}:{SUPPORT.parents[1]}"}
    done = subprocess.run(command, check=True, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    return list(json.loads(done.stdout))


def told(store: SharedStore, hooks: HookServer, owners: int) -> tuple[Mapping[str, int], list[str]]:
    """(figures, what is wrong) of what the webhook was told."""
    events = Counter(one.id for one in [*hooks.received])
    errors = Counter(error for _, error in {(one.id, one.said["data"]["error"]["id"]) for one in [*hooks.received]})
    standing = {row[0] for row in store.rows("SELECT ErrorId FROM errors FINAL")}
    wrong = [f"error {one} was not told" for one in sorted(standing - errors.keys())]
    wrong += [f"event {one} was told {n} times" for one, n in events.items() if n > 1 + owners]
    figures = {
        "events": len(events),
        "repeats": sum(events.values()) - len(events),
        "most of one": max(events.values(), default=0),
        "errors told by two ids": sum(n > 1 for n in errors.values()),
    }
    return figures, wrong


def main() -> None:
    """Print a line a round, and what was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=40, help="spans a second")
    parser.add_argument("--outage", type=float, default=120, help="seconds for which the store is away")
    parser.add_argument("--folder", type=Path, help="an empty folder that keeps logs and stores")
    options = parser.parse_args()
    if why := missing():
        sys.exit(f"skipped: {why}")
    chance, sent = random.Random(options.seed), Sent()  # noqa: S311  which fault comes when
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hooks, hooks_alone = stack.enter_context(hook_server()), stack.enter_context(hook_server())
        broker = stack.enter_context(cluster(folder / "kafka", 3))
        stage = Stage(folder, broker, hooks, chance)
        stack.callback(stage.close)
        for name in ("receive 1", "receive 2", "web", "work 1", "work 2"):
            stage.start(name)
        store = SharedStore.open(stage.dsn)
        stack.callback(store.close)
        with sending(stage, sent, options.rate, options.seed):
            for number, fault in enumerate(rounds(options.rounds, options.outage, chance), 1):
                time.sleep(chance.uniform(1, 5))
                began = time.monotonic()
                what = fault(stage, chance)
                took = time.monotonic() - began
                print(f"round {number}: {what} ({took:.0f} s); {len(sent.spans)} spans acknowledged, "
                      f"{sent.refused} refusals, lag {stage.lag()}", flush=True)  # fmt: skip
        took = until_quiet(store, sent, 900)
        stored = {(row[0], row[1]): row[2] for row in store.rows(
            "SELECT TraceId, SpanId, count() FROM spans FINAL GROUP BY TraceId, SpanId")}  # fmt: skip
        lost, doubled = sent.spans - stored.keys(), sum(n > 1 for n in stored.values())
        (folder / "one").mkdir()
        several, one = contents(store), alone(folder / "one", sent, hooks_alone)
        differing = [f"- {row}" for row in sorted({*several} - {*one})]
        differing += [f"+ {row}" for row in sorted({*one} - {*several})]
        figures, wrong = told(store, hooks, stage.owners)
        left = unjudged(store)
        rows_of = Counter(row.partition(" ")[0] for row in several)
    for line in [*wrong, *differing][:40]:
        print(line[:3000])
    print(f"| rounds | spans acknowledged | lost | doubled | traces not judged | rows that differ | caught up after |\n"
          f"|---|---|---|---|---|---|---|\n| {options.rounds} | {len(sent.spans)} | {len(lost)} | {doubled} | {left} | "
          f"{len(differing)} of {len(several)} | {took:.0f} s |")  # fmt: skip
    print(f"rows: {dict(rows_of)}; webhooks: {dict(figures)}; changes of owner: {stage.owners}; wrong: {len(wrong)}")
    sys.exit(1 if lost or doubled or left or differing or wrong else 0)


if __name__ == "__main__":
    main()
