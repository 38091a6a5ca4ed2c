"""Processes of several roles under faults: `python tests/bench/rounds.py [--rounds 30] [--seed 1] [--rate 40]`.

Two receivers, two workers and a web process stand between three brokers of Kafka and ClickHouse's HTTP interface to an
embedded engine; clocks of workers are up to five minutes off. With `--without-kafka` three processes of the role `all`
do it together. Senders send each request until it is acknowledged. In each round something is killed with SIGKILL and
started again, or a worker more comes and goes, a second group of workers reads the same topic, the store is away, slow
or read-only, or all brokers are away. In the end each acknowledged span must be stored, once, each trace be judged and
listed, and all that follows from spans equal what one process with the embedded store makes of the same requests, byte
for byte; and a webhook must have been told of each error. Exits with 1 where one of these does not hold.
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
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import httpx
from hook_server import HookServer, hook_server
from kafka_broker import cluster, missing
from processes import serving_process
from round_stage import HOOK_SECRET, SENDERS, SUPPORT, Sent, Stage, judging, sending
from served import wait_until_judged
from several import contents

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.store.shared_store import SharedStore

CONTENTS: Final = """
import json, sys
from several import contents
from tracejury.collector.store.shared_store import SharedStore
json.dump(contents(SharedStore.open("chdb:///./.tracejury/db")), sys.stdout)
"""


Fault = Callable[[Stage, random.Random], str]
"""Does something to the processes and gives a name to it, once it is over."""


def kill_and_start(names: Sequence[str]) -> Fault:
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


def store_is(state: str, seconds: float) -> Fault:
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


ALL: Final = ("all 1", "all 2", "all 3")
ROLES: Final = ("receive 1", "receive 2", "web", "work 1", "work 2")
KILLS: Final = (kill_and_start(["work 1", "work 2"]), kill_and_start(["receive 1", "receive 2"]),
                kill_and_start(["web"]), broker_dies)  # fmt: skip


def rounds(count: int, outage: float, chance: random.Random, *, kafka: bool) -> list[Fault]:
    """The faults in their order: each of the others once, and kills."""
    kills = KILLS if kafka else (kill_and_start(ALL),)
    others = [store_is("away", outage), store_is("slow", 20), store_is("read-only", 20)]
    others += [worker_comes_and_goes, two_owners, rebalance_storm, no_kafka] if kafka else []
    found = [*(kills[n % len(kills)] for n in range(max(count - len(others), 1))), *others][:count]
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


def unlisted(stage: Stage, store: SharedStore) -> int:
    """Traces that the list of a process with pages lacks; those that are one have one entry."""
    alone = {row[0] for row in store.rows("SELECT TraceId FROM traces FINAL WHERE JoinedTo = ''")}
    found, cursor = set[str](), ""
    one = next(one for name, one in stage.running.items() if name.startswith(("web", "all")))
    with httpx.Client(base_url=one.url, timeout=60) as client:
        while True:
            page = client.get("/api/traces", params={"limit": 1000} | ({"cursor": cursor} if cursor else {})).json()
            found |= {row["trace_id"] for row in page["items"]}
            cursor = page["next"]
            if not cursor:
                return len(alone ^ found)


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

        async def send(number: int) -> None:
            client = connect(f"127.0.0.1:{one.ports['grpc']}", "grpc")
            for request in sent.requests[number::SENDERS]:
                await client.send(encoded(request))

        async def send_all() -> None:
            await asyncio.gather(*map(send, range(SENDERS)))

        asyncio.run(send_all())
        wait_until_judged(one, 600)
        time.sleep(5)
        wait_until_judged(one, 600)
    finally:
        one.stop()
    command = [sys.executable, "-c", CONTENTS]
    env = {**os.environ, "PYTHONPATH": f"{SUPPORT}:{SUPPORT.parents[1]}"}
    done = subprocess.run(command, check=True, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    return list(json.loads(done.stdout))


def told(hooks: HookServer, alone: HookServer, owners: int) -> tuple[Mapping[str, int], list[str]]:
    """(figures, what is wrong) of what the webhook was told, beside what the one process has told.

    Of an error's findings the first one is told, which need not be the same.
    """
    events = Counter(one.id for one in [*hooks.received])
    traces, wanted = (
        Counter(trace_id for _, trace_id in {(one.id, one.said["data"]["trace"]["trace_id"]) for one in [*of.received]})
        for of in (hooks, alone)
    )
    wrong = [f"{traces[one]} errors of trace {one} were told, not {n}" for one, n in wanted.items() if traces[one] < n]
    wrong += [f"event {one} was told {n} times" for one, n in events.items() if n > 1 + owners]
    figures = {
        "events": len(events),
        "repeats": sum(events.values()) - len(events),
        "most of one": max(events.values(), default=0),
    }
    return figures, wrong


def main() -> None:
    """Print a line a round, and what was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=40, help="spans a second")
    parser.add_argument("--outage", type=float, default=120, help="seconds for which the store is away")
    parser.add_argument("--without-kafka", action="store_true")
    parser.add_argument("--folder", type=Path, help="an empty folder that keeps logs and stores")
    options = parser.parse_args()
    kafka = not options.without_kafka
    if kafka and (why := missing()):
        sys.exit(f"skipped: {why}")
    chance, sent = random.Random(options.seed), Sent()  # noqa: S311  which fault comes when
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hooks, hooks_alone = stack.enter_context(hook_server()), stack.enter_context(hook_server())
        broker = stack.enter_context(cluster(folder / "kafka", 3)) if kafka else None
        stage = Stage(folder, broker, hooks, chance)
        stack.callback(stage.close)
        for name in ROLES if kafka else ALL:
            stage.start(name)
        store = SharedStore.open(stage.dsn)
        stack.callback(store.close)
        with sending(stage, sent, options.rate, options.seed):
            for number, fault in enumerate(rounds(options.rounds, options.outage, chance, kafka=kafka), 1):
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
        figures, wrong = told(hooks, hooks_alone, stage.owners)
        left, missed = unjudged(store), unlisted(stage, store)
        rows_of = Counter(row.partition(" ")[0] for row in several)
    for line in [*wrong, *differing][:40]:
        print(line[:3000])
    found = {
        "rounds": options.rounds,
        "spans acknowledged": len(sent.spans),
        "lost": len(lost),
        "doubled": doubled,
        "traces not judged": left,
        "traces not listed": missed,
        "rows that differ": f"{len(differing)} of {len(several)}",
        "caught up after": f"{took:.0f} s",
    }
    for row in (found.keys(), ["---"] * len(found), found.values()):
        print(f"| {' | '.join(map(str, row))} |")
    print(f"rows: {dict(rows_of)}; webhooks: {dict(figures)}; changes of owner: {stage.owners}; wrong: {len(wrong)}")
    sys.exit(1 if lost or doubled or left or missed or differing or wrong else 0)


if __name__ == "__main__":
    main()
