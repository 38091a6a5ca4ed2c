"""A process dies between sending and marking, and another one goes on: once more, with the same ids."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hook_server import hook_server
from store_parts import a_finding

from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.schemas.errors import RetryableError

NOW = 2_000
MINUTES = 300_000_000_000


async def test_each_change_of_owner_costs_one_repeat_at_most(at_work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the clock of the process that goes on; what was marked is not sent again."""

    def dead(*_: Any) -> None:
        raise RetryableError("killed")

    findings = [a_finding(trace_id=f"{n:032x}") for n in range(1, 6)]
    with hook_server() as server:
        with monkeypatch.context() as patch:
            patch.setattr(StoredDeliveries, "mark", dead)
            async with at_work(server.url) as first:
                first.judge(*findings)
                await asyncio.to_thread(server.wait, len(findings))
        sent = Counter(one.id for one in server.received)
        assert sorted(sent.values()) == [1] * len(findings)
        async with at_work(server.url, clock=lambda: NOW + MINUTES) as second:
            await second.deliveries.wait(len(findings))
        async with at_work(server.url) as third:
            third.judge(a_finding(trace_id="f" * 32))
            await third.deliveries.wait(1)
        again = Counter(one.id for one in server.received)
    assert sorted(again.values()) == [1, *([2] * len(findings))]
    assert {name for name, count in again.items() if count == 2} == set(sent)
