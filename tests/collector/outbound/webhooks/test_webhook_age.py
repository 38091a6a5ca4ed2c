"""How long webhooks try: over the real store, to a real receiver, by an injected clock."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hook_server import answer, hook_server, until
from store_parts import a_finding

from tracejury.collector.outbound.webhooks import webhook as webhook_module
from tracejury.collector.outbound.webhooks.sender import RETRY
from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.queries.webhook_events import GIVEN_UP, SENT

NOW = 2_000
HOUR = RetryPolicy(first=7200.0, longest=7200.0)


async def test_an_event_is_given_up_at_its_maximal_age(at_work: Any) -> None:
    """It is counted, marked, and not tried by the next process either."""
    now = [NOW]
    with hook_server(answer(500)) as server:
        async with at_work(server.url, clock=lambda: now[0], max_age_seconds=60) as bench:
            bench.judge(a_finding())
            await asyncio.to_thread(server.wait, 2)
            now[0] += 61 * 10**9
            (marked,) = await bench.deliveries.wait(1)
            assert marked.state == GIVEN_UP
            assert bench.metric("tracejury_webhook_given_up_total") == 1
        server.behave = answer(204)
        async with at_work(server.url) as bench:
            bench.judge(a_finding(category="Timeout Issues"))
            (marked,) = await bench.deliveries.wait(1)
        assert server.received[-1].said["data"]["finding"]["category"] == "Timeout Issues"


async def test_what_a_receiver_holds_back_is_given_up_once_it_is_too_old(at_work: Any) -> None:
    """It asks for a week; its events, also those that were never tried, do not wait for the next attempt."""
    now = [NOW]
    with hook_server(answer(503, {"retry-after": "604800"})) as server:
        async with at_work(server.url, clock=lambda: now[0], retry=RETRY, max_age_seconds=60) as bench:
            bench.judge(a_finding())
            await until(lambda: bench.metric("tracejury_webhook_attempts_total") == 1)
            bench.judge(a_finding(category="Timeout Issues"))
            await until(lambda: bench.webhook.waiting == 2)
            now[0] += 61 * 10**9
            bench.webhook.hint([])
            marked = await bench.deliveries.wait(2)
            assert [m.state for m in marked] == [GIVEN_UP] * 2
            assert bench.metric("tracejury_webhook_given_up_total") == 2
        assert len(server.received) == 1


DAY = 86_400 * 10**9


async def test_what_got_too_old_while_no_collector_ran_is_given_up(
    at_work: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """However long that was: counted, marked, told in one line; what is news is sent."""
    with hook_server(answer(503)) as server:
        async with at_work(server.url, retry=HOUR) as bench:
            bench.judge(a_finding(), a_finding(category="Timeout Issues"))
            await until(lambda: bench.metric("tracejury_webhook_attempts_total") >= 1)
        server.behave = answer(204)
        now = NOW + 30 * DAY
        async with at_work(server.url, clock=lambda: now) as bench:
            await bench.deliveries.wait(2)
            bench.judge(a_finding(category="Goal Deviation", first_seen=now), judged_at=now)
            marked = await bench.deliveries.wait(3)
            assert [m.state for m in marked] == [GIVEN_UP, GIVEN_UP, SENT]
            assert bench.metric("tracejury_webhook_given_up_total") == 2
        assert [each.said["data"]["finding"]["category"] for each in server.received].count("Goal Deviation") == 1
    (line,) = [r.getMessage() for r in caplog.records if "gives up" in r.getMessage()]
    assert line.startswith("webhook ops gives up 2 events, too old by now (they waited in the store), from msg_")


async def test_what_got_too_old_in_the_store_is_given_up(at_work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those for which there was no room in memory while the receiver was away count like the others."""
    monkeypatch.setattr(webhook_module, "MAX_MESSAGES", 2)
    now = [NOW]
    with hook_server(answer(503)) as server:
        async with at_work(server.url, clock=lambda: now[0], retry=HOUR) as bench:
            bench.judge(*(a_finding(span_id=f"{number:016x}", turn=number) for number in range(7)))
            await until(lambda: bench.webhook.waiting == 2)
            now[0] += 2 * DAY
            bench.webhook.hint([])
            marked = await bench.deliveries.wait(7)
            assert {m.state for m in marked} == {GIVEN_UP}
            assert bench.metric("tracejury_webhook_given_up_total") == 7


async def test_a_start_looks_no_further_back_than_something_may_wait(
    at_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That nothing did is kept every hour, and not while the receiver is away."""
    now = [NOW]
    with hook_server() as server:
        async with at_work(server.url, clock=lambda: now[0]) as bench:
            now[0] += 9 * DAY
            bench.judge(a_finding(first_seen=now[0]), judged_at=now[0])
            await bench.deliveries.wait(1)
            await until(lambda: bench.deliveries.quiet("ops") == now[0])
            server.behave = answer(503)
            now[0] += DAY
            bench.judge(a_finding(first_seen=now[0], category="Goal Deviation"), judged_at=now[0])
            await asyncio.to_thread(server.wait, 2)
        now[0] += 5 * DAY
        swept: list[int] = []
        recent = StoredDeliveries.recent

        def noted(deliveries: StoredDeliveries, changed: int, *of: Any) -> Any:
            swept.append(changed)
            return recent(deliveries, changed, *of)

        monkeypatch.setattr(StoredDeliveries, "recent", noted)
        async with at_work(server.url, clock=lambda: now[0]) as bench:
            await bench.deliveries.wait(1)
        assert set(swept) == {NOW + 9 * DAY - DAY}


async def test_an_event_gets_too_old_without_any_other_coming(at_work: Any) -> None:
    """Time alone gives it up while it is held."""
    with hook_server(answer(503, {"retry-after": "604800"})) as server:
        async with at_work(server.url, clock=time.time_ns, retry=RETRY, max_age_seconds=2) as bench:
            bench.judge(a_finding(), judged_at=time.time_ns())
            (marked,) = await bench.deliveries.wait(1)
            assert marked.state == GIVEN_UP
