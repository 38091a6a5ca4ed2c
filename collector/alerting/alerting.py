"""All alert rules at work: a worker looks each minute, and each channel has a sender of its own."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final

from tracejury.collector.outbound.channels.build import build_channels
from tracejury.collector.outbound.channels.channel import Channel
from tracejury.collector.outbound.channels.config import ChannelConfig
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.outage_log import SECOND, OutageLog
from tracejury.collector.worker.worker import Task, Worker
from tracejury.schemas.alert_records import LONGEST_HELD, LONGEST_TRIED, AlertDelivery, AlertOutcome, AlertRecord
from tracejury.schemas.alerts import AlertState
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.taxonomy import Severity

from .config import AlertRule, AlertsConfig
from .figures.look import RuleLook
from .metrics import AlertMetrics
from .rule_evaluation import RuleEvaluation
from .schedule import AlertSchedule
from .sender import DIGEST, ChannelSender, OutgoingAlert

EVERY: Final = 60.0
"""Seconds between two looks of a rule."""
STEP: Final = 5.0
SHARE: Final = 20
"""A rule rests for so many times what its look took, if that is longer: all that its question costs is bounded."""


class Alerting:
    """Evaluates rules and has their messages sent. Made before it is started; `start` in the running event loop.

    `reader_of`, `judges`: of a project. `clock`: unix nanos.
    """

    def __init__(
        self,
        config: AlertsConfig,
        channels: Mapping[str, tuple[Channel, bool]],
        reader_of: Callable[[str], StoredReader],
        judges: Callable[[str], JudgesStatus],
        telemetry: Telemetry,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`channels`: by name, and whether each is a pager."""
        self._config, self._channels, self._clock = config, channels, clock
        self._reader_of, self._judges = cache(reader_of), judges
        self._evaluations: Sequence[RuleEvaluation] = ()
        self._senders: Mapping[str, ChannelSender] = {}
        self._due: dict[str, int] = {}
        self._has_recovered = False
        self._metrics = AlertMetrics(telemetry, config.rules, self._firing)
        outage = OutageLog("alert rules", "wait for the store", "are evaluated again", clock)
        self.worker = Worker("alerts", Task(self.step), outage, every=STEP, clock=clock)

    async def start(self, base: str) -> None:
        """Begin to look and to send; `base`: the address of pages, for links. First what an earlier process left."""
        self.prepare(base)
        if self._config.rules:
            for sender in self._senders.values():
                sender.worker.start()
            self.worker.start()

    def prepare(self, base: str) -> None:
        """Make what `start` runs; in the running event loop."""
        self._evaluations = [self._evaluation(rule, base.rstrip("/")) for rule in self._config.rules]
        used = {name for rule in self._config.rules for name in rule.channels}
        self._senders = {
            name: ChannelSender(
                name,
                channel,
                self._settle,
                self._is_settled,
                schedule=self._config.schedule,
                is_pager=is_pager,
                clock=self._clock,
            )
            for name, (channel, is_pager) in self._channels.items()
            if name in used
        }

    async def stop(self, deadline: float) -> None:
        """Give up what is being sent: the next process sends it. Idempotent."""
        senders = self._senders.values()
        stops = (self.worker.stop, *(sender.stop for sender in senders))
        await asyncio.gather(*(asyncio.to_thread(stop, deadline) for stop in stops))

    def step(self) -> None:
        """Have every rule that is due look; blocks.

        Raises:
            Exception: some of them failed, such as by the store; the others have looked.
        """
        failure: Exception | None = None
        for evaluation in self._evaluations:
            now, name = self._clock(), evaluation.rule.name
            if now < self._due.get(name, 0):
                continue
            try:
                self._hand_over(evaluation.rule, evaluation.look(now))
            except Exception as error:  # noqa: BLE001  one rule's failure holds up no other; the worker logs it
                failure = error
            took = self._clock() - now
            self._due[name] = now + max(round(EVERY * SECOND), SHARE * took)
        if not self._has_recovered:  # once it is known what still fires
            self._recover()
            self._has_recovered = True
        if failure is not None:
            raise failure

    def senders(self) -> Sequence[ChannelSender]:
        """Those of the channels that a rule names."""
        return list(self._senders.values())

    def _evaluation(self, rule: AlertRule, base: str) -> RuleEvaluation:
        reader = self._reader_of(rule.project)

        def looking(now: int) -> RuleLook:
            return RuleLook(reader, now, base, lambda: self._judges(rule.project), Severity(rule.urgency))

        return RuleEvaluation(rule, reader.alerts, looking, partial(_due, rule, self._config.schedule))

    def _hand_over(self, rule: AlertRule, records: Sequence[AlertRecord]) -> None:
        for outgoing in outgoings(rule, self._config.schedule, records):
            for channel in rule.channels:
                self._senders[channel].add(outgoing)

    def _recover(self) -> None:
        """Queue what an earlier process told some channel not; raises RetryableError, StoreError.

        What still fires is also told to channels that are new to the rule, or did not take it then.
        """
        for evaluation in self._evaluations:
            for channel, outgoing in self._untold(evaluation):
                self._senders[channel].add(outgoing)

    def _untold(self, evaluation: RuleEvaluation) -> Iterator[tuple[str, OutgoingAlert]]:
        rule, stored, schedule, now = evaluation.rule, evaluation.stored, self._config.schedule, self._clock()
        due = _due(rule, schedule, now)
        group = DIGEST if due > now else f"{rule.name} {now}"
        firing = [record for record in stored.records(rule.name) if record.state is AlertState.FIRING]
        told = [*stored.told(rule.name, now - LONGEST_HELD), *firing]
        latest = list({record.told.key: record for record in told if record.told is not None}.values())
        known, settled = stored.channels(rule.name), stored.settled([record.name for record in latest])
        for record, outgoing in zip(latest, outgoings(rule, schedule, latest), strict=True):
            fires = AlertState.FIRING is record.state is outgoing.alert.state
            is_old = now - outgoing.due > LONGEST_TRIED
            for channel in rule.channels:
                delivery = settled[record.name].get(channel)
                if delivery is None and channel in known and not (fires and is_old):
                    yield channel, outgoing
                elif fires and (delivery is None or delivery.outcome is AlertOutcome.GIVEN_UP):
                    yield channel, replace(outgoing, due=due, group=group, again=True)

    def _is_settled(self, outgoing: OutgoingAlert, channel: str) -> bool:
        alert = outgoing.alert
        name = (alert.rule, outgoing.key, outgoing.number)
        delivery = self._reader_of(alert.project).alerts.settled([name])[name].get(channel)
        return delivery is not None and (delivery.outcome is AlertOutcome.SENT or not outgoing.again)

    def _settle(self, project: str, delivery: AlertDelivery) -> None:
        self._reader_of(project).alerts.settle([delivery])
        self._metrics.settled(project, delivery.rule, delivery.channel, delivery.outcome)

    def _firing(self, rule: AlertRule) -> int:
        return next((one.firing for one in self._evaluations if one.rule is rule), 0)


def outgoings(rule: AlertRule, schedule: AlertSchedule, records: Sequence[AlertRecord]) -> Sequence[OutgoingAlert]:
    """The messages of records as channels get them: held back for the digest, and what changed at once in one."""
    together = Counter(record.told_at for record in records)
    found = []
    for record in records:
        if (alert := record.told) is not None:
            due = _due(rule, schedule, alert.at)
            group = DIGEST if due > alert.at else f"{rule.name} {alert.at}" if together[record.told_at] > 1 else ""
            found.append(OutgoingAlert(alert, record.key, record.number, due, group, wakes=rule.in_quiet_hours))
    return found


def _due(rule: AlertRule, schedule: AlertSchedule, at: int) -> int:
    return schedule.due(at, waits=rule.only_digest, wakes=rule.in_quiet_hours)


def build_alerting(
    config: AlertsConfig,
    channels: Sequence[ChannelConfig],
    reader_of: Callable[[str], StoredReader],
    judges: Callable[[str], JudgesStatus],
    telemetry: Telemetry,
    clock: Callable[[], int] = time.time_ns,
) -> Alerting:
    """Alerting as configured.

    Raises:
        ConfigError: a variable is missing that a channel names.
    """
    built = build_channels([channel for channel in channels if _is_named(config, channel)])
    named = {
        channel.name: (built[channel.name], channel.kind.is_pager) for channel in channels if channel.name in built
    }
    return Alerting(config, named, reader_of, judges, telemetry, clock)


def _is_named(config: AlertsConfig, channel: ChannelConfig) -> bool:
    return any(channel.name in rule.channels for rule in config.rules)
