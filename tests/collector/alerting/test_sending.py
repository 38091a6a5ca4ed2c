"""Alerts on their way: retried, given up, held back, told after a restart; a channel that is down stops no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from alert_bench import MINUTE, Bench, traces
from listed_traces import Listed, Mark
from served_api import NOW

from tracejury.collector.outbound.channels.channel import PartlySentError
from tracejury.schemas.alert_records import LONGEST_TRIED
from tracejury.schemas.alerts import AlertState
from tracejury.schemas.errors import PermanentError, RetryableError
from tracejury.schemas.taxonomy import Severity

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
    bench.now += LONGEST_TRIED + 1
    await bench.send()
    assert ops.alerts == []
    assert await outcomes(bench) == [{"ops": "given up"}]
    assert list(bench.metric("tracejury_alerts_given_up_total").values()) == [1.0]


async def test_what_a_channel_refuses_is_given_up_at_once(bench: Bench) -> None:
    await fired(bench)
    bench.channels["ops"].fails = [PermanentError("HTTP 404: make a new one")]
    assert not await bench.look()
    assert await outcomes(bench) == [{"ops": "given up"}]
    assert bench.answer().history[0].outcomes[0].why == "HTTP 404: make a new one"
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


async def test_what_fires_and_was_refused_is_told_after_a_start(bench: Bench) -> None:
    """Somebody has mended the channel by then; what is over by then is not told, what was taken not again."""
    await fired(bench, RATE, {"rate": {"above": 0.1, "over": "30d"}})
    ops = bench.channels["ops"]
    ops.fails = [PermanentError("HTTP 404: make a new one")] * 2
    assert not await bench.look()
    assert not await bench.look(65, send=False)
    ops.fails = [PermanentError("HTTP 404: make a new one")]
    assert not await bench.look(65)
    assert not await bench.look(3 * 24 * 60)
    await bench.restart()
    (told,) = await bench.look()
    assert (told.rule, told.state) == ("rule-1", AlertState.FIRING)
    await bench.restart()
    assert not await bench.look()
    assert (await outcomes(bench))[-1] == {"ops": "sent"}


async def test_what_a_start_tells_waits_for_the_digest_too(bench: Bench) -> None:
    """Of a rule that tells nothing at once."""
    bench.now = NOW - NOW % (24 * 60 * MINUTE) + 12 * 60 * MINUTE
    rule = {"rate": {"above": 0.02, "over": "30d"}, "only_digest": True}
    await fired(bench, rule, digest="12:30")
    bench.channels["ops"].fails = [PermanentError("HTTP 404")]
    for minutes in (1, 31):
        assert not await bench.look(minutes)
    assert await outcomes(bench) == [{"ops": "given up"}]
    await bench.restart()
    assert not await bench.look(60)
    assert len(await bench.look(23 * 60)) == 1


async def test_what_fires_is_told_after_a_stop_of_days(bench: Bench) -> None:
    """Although the message is too old to be tried."""
    await fired(bench, {"rate": {"above": 0.1, "over": "30d"}, "channels": ["ops", "other"]})
    await bench.look(send=False)
    assert bench.alerting is not None
    await asyncio.to_thread(bench.alerting.senders()[0].worker.step)
    bench.now += 3 * LONGEST_TRIED
    await bench.restart()
    await bench.look()
    assert len(bench.channels["ops"].alerts) == len(bench.channels["other"].alerts) == 1


async def test_what_is_over_when_a_process_starts_is_not_told_as_if_it_fired(bench: Bench) -> None:
    """The rule looks first."""
    await fired(bench)
    bench.channels["ops"].fails = [PermanentError("HTTP 404")]
    assert not await bench.look()
    bench.now += 150 * MINUTE
    bench.keep(traces(200, 900, 0, bench.now))
    await bench.restart()
    assert [alert.state for alert in await bench.look()] == [AlertState.RESOLVED]
    assert not await bench.look(20)


async def test_what_one_of_several_receivers_refused_is_not_told_the_others_again(bench: Bench) -> None:
    await fired(bench)
    bench.channels["ops"].fails = [PartlySentError("sent, but not to ann@example.com")]
    await bench.look()
    assert await outcomes(bench) == [{"ops": "sent"}]
    await bench.restart()
    assert not await bench.look()


async def test_a_channel_that_is_added_is_told_of_no_errors_of_the_past(bench: Bench) -> None:
    """A rule on errors tells each once, and none of them fires."""
    rule = {"errors": {"severity": "HIGH"}}
    await bench.start(rule)
    await bench.look()
    for number in range(3):
        bench.now += MINUTE
        bench.keep([Listed(number, service="support", received=bench.now, marks=(Mark(severity=Severity.HIGH),))])
        assert len(await bench.look(12)) == 1
    await bench.start({**rule, "channels": ["ops", "other"]})
    await bench.look()
    assert bench.channels["other"].messages == []


async def test_a_channel_that_is_added_is_told_in_one_message(bench: Bench) -> None:
    """Whenever each began to fire."""
    rule = {"rate": {"above": 0.02, "by_service": True, "over": "30d"}}
    await fired(bench, rule)
    await bench.look()
    bench.keep(traces(100, 60, 40, bench.now, "shop"))
    await bench.look(11)
    assert [len(message) for message in bench.channels["ops"].messages] == [1, 1]
    await bench.start({**rule, "channels": ["ops", "other"]})
    await bench.look()
    assert [{alert.key for alert in message} for message in bench.channels["other"].messages] == [{"support", "shop"}]


async def test_what_was_due_before_quiet_hours_waits_for_their_end(bench: Bench) -> None:
    """A channel that was down in the evening wakes nobody in the night, with what was decided then or since."""
    bench.now = NOW - NOW % (24 * 60 * MINUTE) + (21 * 60 + 50) * MINUTE
    await fired(bench, RATE, {"rate": {"above": 0.1, "over": "30d"}}, quiet_hours="22:00-07:00")
    bench.channels["ops"].fails = [DOWN] * 2
    for minutes in (1, 2):
        with pytest.raises(RetryableError):
            await bench.look(minutes)
    for minutes in (30, 60, 60, 6 * 60):
        assert not await bench.look(minutes)
    await bench.look(40)
    (message,) = bench.channels["ops"].messages
    assert [(alert.rule, alert.state) for alert in message] == [
        ("rule-0", AlertState.RESOLVED), ("rule-1", AlertState.FIRING),
    ]  # fmt: skip


async def test_the_interval_of_a_rule_counts_from_its_digest(bench: Bench) -> None:
    """What changes right after quiet hours is told ten minutes later."""
    bench.now = NOW - NOW % (24 * 60 * MINUTE) + 6 * 60 * MINUTE
    rule = {"rate": {"above": 0.02, "by_service": True, "over": "30d"}}
    await fired(bench, rule, quiet_hours="22:00-07:00")
    assert not await bench.look(30)
    assert len(await bench.look(30)) == 1
    bench.keep(traces(100, 60, 40, bench.now, "shop"))
    assert not await bench.look(9)
    assert [alert.key for alert in await bench.look(1)] == ["shop"]


async def test_what_a_later_message_replaced_does_not_wait(bench: Bench) -> None:
    await fired(bench)
    await bench.look(send=False)
    assert [told.waits for told in bench.answer().history] == [True]
    await bench.look(65, send=False)
    await bench.look(65, send=False)
    assert [told.waits for told in bench.answer().history] == [True, False]
    await bench.send()
    assert [(told.state, told.waits, len(told.outcomes)) for told in bench.answer().history] == [
        ("resolved", False, 1), ("firing", False, 0),
    ]  # fmt: skip


async def test_a_rule_that_was_taken_out_is_not_shown_as_if_it_still_looked(bench: Bench) -> None:
    """It fires on nothing any more, and nobody will tell that it is over."""
    stays = {"rate": {"above": 0.1, "over": "30d"}, "name": "stays"}
    await fired(bench, RATE, stays)
    await bench.look()
    await bench.start(stays)
    await bench.look(3 * 60)
    gone, kept = bench.answer().rules
    assert gone.problem.startswith("it looks no longer")
    assert (kept.rule, kept.problem) == ("stays", "")
