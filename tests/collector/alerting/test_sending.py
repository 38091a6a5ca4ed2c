"""Alerts on their way: retried, given up, held back, told after a restart; a channel that is down stops no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from alert_bench import MINUTE, Bench, traces
from served_api import NOW

from tracejury.collector.alerting.sender import MAX_AGE
from tracejury.schemas.alerts import AlertState
from tracejury.schemas.errors import PermanentError, RetryableError

RATE: dict[str, Any] = {"rate": {"above": 0.02, "over": "1h"}}
DOWN = RetryableError("HTTP 429", retry_after=30.0)


async def fired(bench: Bench, *rules: dict[str, Any], **config: Any) -> None:
    """Rules whose figure is far above what they allow."""
    bench.keep(traces(0, 60, 40, bench.now))
    await bench.start(*(rules or (RATE,)), **config)


async def outcomes(bench: Bench) -> list[dict[str, str]]:
    return [{one.channel: one.outcome for one in told.outcomes} for told in bench.answer().history]


async def test_a_channel_that_is_down_holds_up_only_itself(bench: Bench) -> None:
    """What it asks for is heeded; once it is back it gets the alert, once."""
    await fired(bench, {**RATE, "channels": ["ops", "other"]})
    bench.channels["ops"].fails = [DOWN] * 3
    await bench.look(send=False)
    assert bench.alerting is not None
    ops, other = bench.alerting.senders()
    for _ in range(3):
        with pytest.raises(RetryableError) as error:
            await asyncio.to_thread(ops.worker.step)
        assert ops.worker.pause(error.value) >= 30.0
    assert await asyncio.to_thread(other.worker.step)
    assert await outcomes(bench) == [{"other": "sent"}]
    await bench.send()
    assert len(bench.channels["ops"].alerts) == len(bench.channels["other"].alerts) == 1
    assert await outcomes(bench) == [{"ops": "sent", "other": "sent"}]


async def test_while_a_channel_is_down_changes_of_one_key_become_the_last(bench: Bench) -> None:
    """It fires, is resolved and fires again; then the channel is told that it fires."""
    await fired(bench)
    ops = bench.channels["ops"]
    ops.fails = [DOWN] * 100
    await bench.look(send=False)
    for minutes in (65, 65):
        await bench.look(minutes, send=False)
    bench.keep(traces(100, 60, 40, bench.now))
    await bench.look(11, send=False)
    assert [told.state for told in bench.answer().history] == ["firing", "resolved", "firing"]
    ops.fails = []
    await bench.send()
    assert [(alert.state, alert.at) for alert in ops.alerts] == [(AlertState.FIRING, bench.now)]


async def test_after_a_day_an_alert_is_given_up_and_counted(bench: Bench) -> None:
    await fired(bench)
    ops = bench.channels["ops"]
    ops.fails = [DOWN]
    await bench.look(send=False)
    with pytest.raises(RetryableError):
        await bench.send()
    bench.now += MAX_AGE + 1
    await bench.send()
    assert ops.alerts == []
    assert await outcomes(bench) == [{"ops": "given up"}]
    assert list(bench.metric("tracejury_alerts_given_up_total").values()) == [1.0]


async def test_what_a_channel_refuses_is_given_up_at_once(bench: Bench) -> None:
    await fired(bench)
    bench.channels["ops"].fails = [PermanentError("HTTP 404: make a new one")]
    assert not await bench.look()
    assert await outcomes(bench) == [{"ops": "given up"}]
    assert not await bench.look(20)


async def test_a_restart_neither_forgets_nor_repeats(bench: Bench) -> None:
    """What was told is not told again; what was not yet is, with the same id."""
    await fired(bench, {**RATE, "channels": ["ops", "other"]})
    bench.channels["other"].fails = [DOWN]
    with pytest.raises(RetryableError):
        await bench.look()
    (first,) = bench.channels["ops"].alerts
    await bench.restart()
    assert not await bench.look()
    assert [alert.id for alert in bench.channels["other"].alerts] == [first.id]
    await bench.restart()
    await bench.look()
    assert len(bench.channels["other"].alerts) == 1


async def test_a_channel_that_is_added_is_told_of_what_fires_alone(bench: Bench) -> None:
    """What is over by then concerns nobody there."""
    over = {**RATE, "name": "over"}
    await fired(bench, over)
    await bench.look()
    for _ in range(2):
        await bench.look(65)
    bench.keep(traces(100, 60, 40, bench.now))
    fires = {"rate": {"above": 0.1, "over": "30d"}, "name": "fires"}
    await bench.start({**over, "rate": {"above": 0.9}}, fires)
    await bench.look()
    await bench.start({**over, "rate": {"above": 0.9}, "channels": ["ops", "other"]}, {**fires, "channels": ["other"]})
    await bench.look()
    assert [(alert.rule, alert.state) for alert in bench.channels["other"].alerts] == [("fires", AlertState.FIRING)]


async def test_a_process_that_took_over_is_not_repeated(bench: Bench) -> None:
    """Two that look at once: whoever comes later finds the alert settled."""
    await fired(bench)
    await bench.look(send=False)
    first = bench.alerting
    await bench.restart()
    await bench.look(0)
    assert len(bench.channels["ops"].alerts) == 1
    bench.alerting = first
    await bench.send()
    assert len(bench.channels["ops"].alerts) == 1


async def test_what_was_sent_is_not_sent_again_while_the_store_fails(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fired(bench)
    await bench.look(send=False)
    alerts = bench.reader.alerts
    with monkeypatch.context() as patch:

        def fail(_deliveries: object) -> None:
            raise RetryableError("the store is away")

        patch.setattr(alerts, "settle", fail)
        with pytest.raises(RetryableError):
            await bench.send()
    await bench.send()
    assert len(bench.channels["ops"].alerts) == 1
    assert await outcomes(bench) == [{"ops": "sent"}]


async def test_quiet_hours_hold_and_the_digest_lists(bench: Bench) -> None:
    """But for what wakes somebody; what changed back by then is told as it is."""
    bench.now = NOW - NOW % (24 * 60 * MINUTE) + 23 * 60 * MINUTE  # 23:00 UTC
    wakes = {"rate": {"above": 0.1}, "in_quiet_hours": True, "channels": ["other"]}
    await fired(bench, RATE, {"rate": {"above": 0.1, "by_service": True}}, wakes, quiet_hours="22:00-07:00")
    assert not await bench.look()
    assert len(bench.channels["other"].alerts) == 1
    assert not await bench.look(65)
    await bench.restart()
    assert not await bench.look(65)
    assert not await bench.look(5 * 60)
    told = await bench.look(50)
    assert len(bench.channels["ops"].messages) == 1
    assert {(alert.rule, alert.key, alert.state) for alert in told} == {
        ("rule-0", "", AlertState.RESOLVED), ("rule-1", "support", AlertState.RESOLVED),
    }  # fmt: skip


async def test_a_rule_of_the_digest_alone_waits_for_it(bench: Bench) -> None:
    bench.now = NOW - NOW % (24 * 60 * MINUTE) + 12 * 60 * MINUTE
    await fired(bench, {**RATE, "only_digest": True}, digest="12:30")
    assert not await bench.look()
    assert len(await bench.look(30)) == 1


async def test_a_full_queue_gives_up_what_finds_no_room(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await fired(bench)
    assert bench.alerting is not None
    (sender,) = bench.alerting.senders()
    monkeypatch.setattr(sender.queue, "_max_entries", 0)
    await bench.look()
    assert await outcomes(bench) == [{"ops": "given up"}]
