"""Sends alerts through one channel, each until it takes it, refuses it or a day has passed; holds up no other."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tracejury.collector.outbound.channels.channel import Channel, PartlySentError
from tracejury.collector.worker.keyed_queue import Item, KeyedQueue
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.collector.worker.worker import QueueWork, Worker
from tracejury.schemas.alert_records import LONGEST_TRIED, AlertDelivery, AlertOutcome
from tracejury.schemas.alerts import Alert
from tracejury.schemas.errors import PermanentError

from .schedule import AlertSchedule

log = logging.getLogger(__name__)

MOST: Final = 1000
"""Alerts that wait for a channel."""
RETRY: Final = RetryPolicy(first=1.0, longest=300.0, longest_asked=3600.0)
MAX_TRIES: Final = 5
"""Of what fails for a reason of ours."""
DIGEST: Final = "digest"
"""The group of what is told in one message at its time."""

Key = tuple[str, str, str]
"""Project, rule and key: a later change takes the place of one that waits."""


@dataclass(frozen=True, slots=True)
class OutgoingAlert:
    """An alert, the `number`-th of its key, to be told at `due` (unix nanos).

    `group`: those of one are told in one message; "" is alone. `wakes`: also in quiet hours. `again`: although it was
    given up.
    """

    alert: Alert
    key: str
    number: int
    due: int
    group: str = ""
    wakes: bool = False
    again: bool = False

    @property
    def place(self) -> Key:
        """Its key in the queue."""
        return self.alert.project, self.alert.rule, self.alert.key


ALWAYS: Final = AlertSchedule()
"""Without quiet hours."""
Settle = Callable[[str, AlertDelivery], None]
"""Stores what became of an alert of a project. Raises RetryableError, StoreError."""


class ChannelSender(QueueWork[Key, OutgoingAlert, Sequence[tuple[str, AlertDelivery]]]):
    """Made in the running event loop, where the channel sends. `is_pager`: the channel takes no digests.

    `settled`: whether another process has told it, or an earlier one; `schedule`: when people are told; `clock`: unix
    nanos.
    """

    def __init__(
        self,
        name: str,
        channel: Channel,
        settle: Settle,
        settled: Callable[[OutgoingAlert, str], bool],
        *,
        schedule: AlertSchedule = ALWAYS,
        is_pager: bool = False,
        clock: Callable[[], int] = time.time_ns,
        retry: RetryPolicy = RETRY,
    ) -> None:
        wake = WakeEvent()
        super().__init__(KeyedQueue(MOST, wake=wake), 1)
        self.name = name
        self._channel, self._settle, self._settled, self._schedule = channel, settle, settled, schedule
        self._is_pager, self._clock, self._loop = is_pager, clock, LoopRunner()
        self._unsaved: dict[str, AlertDelivery] = {}
        outage = OutageLog(f"channel {name}", "takes no alerts", "takes alerts again", clock)
        self.worker = Worker(f"channel {name}", self, outage, wake=wake, retry=retry, tries=MAX_TRIES, clock=clock)

    def stop(self, deadline: float) -> bool:
        """Give up what is being sent: the next process finds it unsettled. Idempotent, safe without start."""
        self.worker.stopping.set()
        self._loop.cancel()
        return self.worker.stop(deadline)

    def add(self, outgoing: OutgoingAlert) -> None:
        """Queue an alert; without room it is given up."""
        if not self.queue.put(outgoing.place, outgoing, outgoing.due):
            log.warning(
                "channel %s: too many alerts wait, so one of rule %s is given up", self.name, outgoing.alert.rule
            )
            self._settle(
                outgoing.alert.project, self._delivery(outgoing, AlertOutcome.GIVEN_UP, "too many alerts wait for it")
            )

    def due(self, now: int) -> Sequence[Item[Key, OutgoingAlert]]:
        """See `Work`: one alert, or all that are due of a group."""
        first = self.queue.take(now, 1)
        if not first or not (group := first[0].value.group) or self._is_pager:
            return first
        return [*first, *self.queue.take(now, only=lambda item: item.value.group == group)]

    def process(self, batch: Sequence[Item[Key, OutgoingAlert]]) -> Sequence[tuple[str, AlertDelivery]]:
        """Send what is neither settled nor too old, and may be told now."""
        batch = self._ready([item for item in batch if not self._is_settled(item.value)])
        fresh = [item.value for item in batch if item.value.alert.id not in self._unsaved]
        old = [one for one in fresh if self._clock() - one.due > LONGEST_TRIED]
        self._note(old, AlertOutcome.GIVEN_UP, "it was tried for a day")
        if wanted := [one for one in fresh if one not in old]:
            self._send(wanted)
        return [(item.value.alert.project, self._unsaved[item.value.alert.id]) for item in batch]

    def save(self, result: Sequence[tuple[str, AlertDelivery]]) -> None:
        """Store what became of them."""
        for project, delivery in result:
            self._settle(project, delivery)
        self._unsaved.clear()

    def set_aside(self, item: Item[Key, OutgoingAlert], error: Exception) -> None:
        """See `Work`."""
        log.error("channel %s: an alert of rule %s cannot be sent", self.name, item.value.alert.rule, exc_info=error)
        given_up = self._delivery(item.value, AlertOutcome.GIVEN_UP, "it cannot be sent; the log has the reason")
        self._settle(item.value.alert.project, given_up)

    def _ready(self, batch: Sequence[Item[Key, OutgoingAlert]]) -> Sequence[Item[Key, OutgoingAlert]]:
        """Those of which it is time; the others wait for the digest.

        A retry may fall into quiet hours, and a change in them may replace what was due before.
        """
        now, ready = self._clock(), []
        for item in batch:
            until = max(item.value.due, self._schedule.due(now, waits=False, wakes=item.value.wakes))
            if until <= now or item.value.alert.id in self._unsaved:
                ready.append(item)
            else:
                item.value = replace(item.value, due=until, group=DIGEST)
                self.queue.put_back([item], until)
        return ready

    def _send(self, wanted: Sequence[OutgoingAlert]) -> None:
        alerts = [one.alert for one in wanted]
        call: Any = self._channel.send(alerts[0]) if len(alerts) == 1 else self._channel.send_digest(alerts)
        try:
            self._loop.run(call)
        except PartlySentError as error:
            self._note(wanted, AlertOutcome.SENT, str(error))
        except PermanentError as error:
            self._note(wanted, AlertOutcome.GIVEN_UP, str(error))
        else:
            self._note(wanted, AlertOutcome.SENT)

    def _is_settled(self, outgoing: OutgoingAlert) -> bool:
        return outgoing.alert.id not in self._unsaved and self._settled(outgoing, self.name)

    def _note(self, outgoing: Sequence[OutgoingAlert], outcome: AlertOutcome, why: str = "") -> None:
        self._unsaved |= {one.alert.id: self._delivery(one, outcome, why) for one in outgoing}
        if why:
            for one in outgoing:
                log.warning("channel %s: an alert of rule %s is %s: %s", self.name, one.alert.rule, outcome, why)

    def _delivery(self, outgoing: OutgoingAlert, outcome: AlertOutcome, why: str = "") -> AlertDelivery:
        return AlertDelivery(outgoing.alert.rule, outgoing.key, outgoing.number, self.name, outcome, self._clock(), why)
