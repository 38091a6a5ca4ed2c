"""What a process left untold that judged a trace: another one sends it later, unless it is marked by then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clickhouse_http import clickhouse_server
from hook_server import Received, answer, hook_server, until
from store_parts import TRACE_ID, a_finding, a_judged_trace

from tracejury.collector.outbound.webhooks import webhook as webhook_module
from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.queries.webhook_events import SENT, Delivered, Event

NOW = 2_000
OTHER = "e" * 32


def clock() -> int:
    """Nanos that go on from about the findings' time."""
    return NOW + time.monotonic_ns() - BEGAN


BEGAN = time.monotonic_ns()


@pytest.fixture
def store(store: SharedStore, store_folder: Path) -> Iterator[SharedStore]:
    """A server's, which others use, too."""
    with clickhouse_server(store_folder) as server:
        remote = SharedStore.open(f"{server.dsn}/{store.database}")
        yield remote
        remote.close()


async def test_taken_up_once_it_is_due(at_work: Any, store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others have told of by then is told no more; of what a dead one left everything is."""
    monkeypatch.setattr(webhook_module, "TAKE_UP", RetryPolicy(first=1.0, longest=1.0))
    told, left = a_finding(), a_finding(trace_id=OTHER)
    with hook_server() as server:
        async with at_work(server.url, clock=clock) as bench:
            for finding in (told, left):
                judged = a_judged_trace(finding, trace_id=finding.trace_id, judged_at=clock(), received=NOW)
                StoredJudging(store).save([judged])
            began = time.monotonic()
            bench.webhook.take_up([TRACE_ID, OTHER])
            StoredDeliveries(store).mark(
                [Delivered("ops", TRACE_ID, told.fingerprint, Event.FOUND, SENT, clock(), NOW)]
            )
            (marked,) = await bench.deliveries.wait(1)
            assert time.monotonic() - began >= 0.5
        assert marked.trace_id == OTHER
        assert [r.said["data"]["trace"]["trace_id"] for r in server.received] == [OTHER]


async def test_not_tried_again_once_another_has_sent_it(at_work: Any, store: SharedStore) -> None:
    """After a receiver's outage each process has it in its queue: the first that gets through is the only one."""
    first, second = a_finding(), a_finding(trace_id=OTHER)

    def fail_while_another_sends(handler: Any, received: Received) -> None:
        if received.said["data"]["trace"]["trace_id"] == OTHER:
            return answer(204)(handler, received)
        mark = Delivered("ops", TRACE_ID, first.fingerprint, Event.FOUND, SENT, clock(), NOW)
        StoredDeliveries(store).mark([mark])
        return answer(500)(handler, received)

    with hook_server(fail_while_another_sends) as server:
        async with at_work(server.url, clock=clock) as bench:
            bench.judge(first, judged_at=clock())
            await until(lambda: bool(server.received))
            bench.judge(second, judged_at=clock())
            await bench.deliveries.wait(1)
        assert [r.said["data"]["trace"]["trace_id"] for r in server.received] == [TRACE_ID, OTHER]
