"""Alert rules over the real store with an injected clock; channels note what they are sent, and fail as told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from listed_traces import Listed, Mark
from served_api import NOW
from stored_readers import stored_reader

from tracejury.collector.alerting.alerting import Alerting
from tracejury.collector.alerting.config import AlertsConfig
from tracejury.collector.queries.present_alerts import present_alerts
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.alerts import Alert
from tracejury.schemas.operations import Operation
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import JudgedTrace, TraceSpend
from tracejury.schemas.wire.alerts import AlertsJson

MINUTE = 60 * 10**9
BASE = "https://jury.example"


@dataclass
class Noting:
    """A channel. `fails`: what it raises, in order, before it takes anything."""

    messages: list[Sequence[Alert]] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)

    async def send(self, alert: Alert) -> None:
        await self.send_digest([alert])

    async def send_digest(self, alerts: Sequence[Alert]) -> None:
        if self.fails:
            raise self.fails.pop(0)
        self.messages.append(list(alerts))

    @property
    def alerts(self) -> list[Alert]:
        return [alert for message in self.messages for alert in message]


class Bench:
    """Alerting of one process; `restart` makes the next one."""

    def __init__(self, store: SharedStore) -> None:
        self.store, self.now = store, NOW
        self.channels = {"ops": Noting(), "pager": Noting(), "other": Noting()}
        self.judges = JudgesStatus()
        self.telemetry = Telemetry("test")
        self.config = AlertsConfig()
        self.reader = stored_reader(store, AssemblerConfig(), lambda: self.now)
        self.alerting: Alerting | None = None

    async def start(self, *rules: Mapping[str, Any], **config: Any) -> None:
        """A process with these rules; each tells the channel ops unless it says otherwise."""
        told = [{"channels": ["ops"], "name": f"rule-{number}", **rule} for number, rule in enumerate(rules)]
        self.config = AlertsConfig.model_validate({"rules": told, **config})
        await self.restart()

    async def restart(self) -> None:
        """A new process with the same rules."""
        self.reader = stored_reader(self.store, AssemblerConfig(), lambda: self.now)
        channels = {name: (channel, name == "pager") for name, channel in self.channels.items()}
        self.telemetry = Telemetry("test")
        self.alerting = Alerting(
            self.config, channels, lambda _project: self.reader, lambda _project: self.judges, self.telemetry,
            lambda: self.now,
        )  # fmt: skip
        self.alerting.prepare(BASE)

    async def look(self, minutes: int = 1, *, send: bool = True) -> list[Alert]:
        """What ops is sent once so many minutes have passed and the rules have looked."""
        assert self.alerting is not None
        self.now += minutes * MINUTE
        before = len(self.channels["ops"].alerts)
        await asyncio.to_thread(self.alerting.step)
        if send:
            await self.send()
        return self.channels["ops"].alerts[before:]

    async def send(self) -> None:
        """Have each channel sent what is due, until it fails or nothing is."""
        assert self.alerting is not None
        for sender in self.alerting.senders():
            while await asyncio.to_thread(sender.worker.step):
                pass

    def keep(self, traces: Sequence[Listed]) -> None:
        """Store judged traces, whose errors are first seen now; their patterns differ by their explanations."""
        StoredJudging(self.store).save([self._seen_now(trace.judged) for trace in traces])

    def keep_runs(self, first: int, count: int, seconds: float, usd: float, service: str = "support") -> None:
        """Store judged traces that arrive now, of a run each that took so long and cost so much."""
        run = Operation("run", "planner", "gpt", "", "", round(seconds * 10**9), False, 0, 0, 0, usd, 0)  # noqa: FBT003
        made = [trace.judged for trace in traces(first, count, 0, self.now, service)]
        spent = TraceSpend(0, 0, usd, 0, operations=(run,))
        StoredJudging(self.store).save([replace(trace, spent=spent) for trace in made])

    def _seen_now(self, trace: JudgedTrace) -> JudgedTrace:
        found = tuple(replace(f, first_seen=self.now, template=f.explanation) for f in trace.judgement.findings)
        return replace(trace, changed=found, judgement=replace(trace.judgement, findings=found))

    def answer(self) -> AlertsJson:
        """As the API has it."""
        return present_alerts(self.reader.alerts.answer(100, self.now))

    def metric(self, name: str) -> dict[str, float]:
        """Values by labels."""
        lines = self.telemetry.prometheus().decode().splitlines()
        found = (line.rpartition(" ") for line in lines if line.startswith(name))
        return {labels: float(value) for labels, _, value in found}


def traces(first: int, count: int, failing: int, at: int, service: str = "support", **mark: Any) -> list[Listed]:
    """`count` traces of two runs each that arrived at `at`, `failing` of them with a HIGH error in one run."""
    marks = (Mark(**{"severity": Severity.HIGH, **mark}),)
    return [
        Listed(first + i, service=service, received=at, marks=marks if i < failing else (), start=at)
        for i in range(count)
    ]
