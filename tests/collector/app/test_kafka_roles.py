"""Receivers and workers with Kafka between them: real `serve` processes, a real broker, one store."""

from __future__ import annotations

import asyncio
import json
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from clickhouse_http import ClickHouseServer, clickhouse_server
from kafka_broker import Cluster
from processes import PATIENCE, Serving, serving
from weather_agent import agent, trace_id

from tracejury.collector.otlp.client import replay
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore

TRACES = 30


class Processes:
    """Starts processes with a topic, a group and a store of their own."""

    def __init__(self, broker: Cluster, server: ClickHouseServer, folder: Path, stack: ExitStack) -> None:
        self.broker, self.server, self._folder, self._stack = broker, server, folder, stack
        self.topic, self.dead = broker.topic(4), broker.topic()
        self.group = uuid.uuid4().hex
        kafka = {
            "brokers": broker.addresses.split(","),
            "topics": [{"name": self.topic, "signal": "traces"}],
            "group": self.group,
            "dead_letter_topic": self.dead,
            "max_lag": 1,
        }
        (folder / "kafka.yaml").write_text(json.dumps({"kafka": kafka}))

    def start(self, role: str) -> Serving:
        """A process of a role."""
        store = ["--store", f"{self.server.dsn}/kafka"] if role == "work" else []
        arguments = ("--config", "kafka.yaml", "--role", role, *store)
        return self._stack.enter_context(serving(self._folder, *arguments, new_store=True))


@pytest.fixture
def processes(store_folder: Path, broker: Cluster, tmp_path: Path) -> Iterator[tuple[Processes, SharedStore]]:
    """Processes over an empty store, and the store."""
    store = SharedStore.open(f"chdb://{store_folder}?database=kafka")
    migrate(store)
    with clickhouse_server(store_folder) as server, ExitStack() as stack:
        yield Processes(broker, server, tmp_path, stack), store
    store.drop_database()
    store.close()


def until_true(ask: Callable[[], Any]) -> Any:
    """What it says once that is something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


def send(receiver: Serving, numbers: Sequence[int]) -> None:
    """Send a faulty trace for each number; returns once they are acknowledged."""
    asyncio.run(replay([agent(n, fault=True) for n in numbers], f"127.0.0.1:{receiver.ports['grpc']}", "grpc"))


def test_workers_that_die_and_come_lose_nothing(processes: tuple[Processes, SharedStore]) -> None:
    """Each acknowledged span is stored once and each trace judged, as one process judges it, though a worker is killed.

    While the store is away receivers acknowledge all the same, and the lag shows.
    """
    several, store = processes
    receiver = several.start("receive")
    first, second = several.start("work"), several.start("work")
    send(receiver, range(1, TRACES))
    until_true(lambda: store.rows("SELECT count() FROM spans FINAL")[0][0] > TRACES // 2)
    first.process.send_signal(signal.SIGKILL)
    send(receiver, range(TRACES, 2 * TRACES))
    third = several.start("work")

    def judged() -> Sequence[Sequence[Any]]:
        return store.rows(
            "SELECT TraceId, Title FROM errors FINAL WHERE TraceId IN "
            "(SELECT TraceId FROM traces FINAL WHERE JudgedAt > 0 AND State = 'settled')"
        )

    until_true(lambda: len(judged()) == 2 * TRACES - 1)
    sent = {trace_id(n).hex() for n in range(1, 2 * TRACES)}
    assert {row[0] for row in judged()} == sent
    rows = store.rows("SELECT count(), uniqExact(TraceId, SpanId) FROM spans FINAL")
    assert rows[0][0] == rows[0][1] == sum(len(_spans(agent(n, fault=True))) for n in range(1, 2 * TRACES))
    assert len({row[1] for row in judged()}) == 1, "each has the same error"

    several.server.away = True
    send(receiver, [200, 201, 202])

    def lag(worker: Serving) -> int:
        return sum(httpx.get(f"{worker.url}/readyz").json().get("kafka_lag", {}).values())

    until_true(lambda: lag(second) + lag(third) >= 3)
    assert "tracejury_kafka_lag{" in httpx.get(f"{third.url}/metrics").text
    several.server.away = False
    until_true(lambda: len(judged()) == 2 * TRACES + 2)
    until_true(lambda: lag(second) + lag(third) == 0)

    loaded = Path(f"/proc/{receiver.process.pid}/maps").read_text("utf-8")
    assert "chdb" not in loaded
    status = Path(f"/proc/{receiver.process.pid}/status").read_text("utf-8")
    assert int(status.partition("VmRSS:")[2].split()[0]) <= 150_000
    assert httpx.get(f"{receiver.url}/readyz").json() == {"status": "ready"}
    assert [one.stop() for one in (receiver, second, third)] == [0, 0, 0]
    assert several.broker.committed(several.group, several.topic) == 2 * TRACES + 2


def _spans(request: Any) -> list[Any]:
    return [span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans]
