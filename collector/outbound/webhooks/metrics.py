"""The metrics of webhooks, each declared once; labelled by the webhook's name and its project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.telemetry import NANOS, Telemetry, of_project
from tracejury.schemas.queries.webhook_events import Event


class WebhookMetrics:
    """Counts of all webhooks."""

    def __init__(self, telemetry: Telemetry, projects: Mapping[str, str] = MappingProxyType({})) -> None:
        """`projects`: of webhooks, by name; of one that is not named, the default one."""
        self._projects = projects
        self._meter = telemetry.meter
        counter = self._meter.create_counter
        self._attempts = counter("tracejury_webhook_attempts", description="POSTs, by outcome: a status or what failed")
        self._sent = counter("tracejury_webhook_sent", description="Events that a receiver took")
        self._given_up = counter("tracejury_webhook_given_up", description="Events given up at their maximal age")
        # What a runaway agent runs on for: from the commit of the newest span that was judged to the receiver's answer.
        self._delay = telemetry.durations(
            "tracejury_webhook_delay",
            "From the commit of the newest judged span to the receiver's answer, of first attempts",
        )

    def declare(self, webhook: str) -> None:
        """Show a webhook's counters from the beginning: a rate needs the zero before the first."""
        for event in Event:
            self._sent.add(0, {**self._labels(webhook), "event": event.value})
        self._given_up.add(0, self._labels(webhook))

    def attempted(self, webhook: str, outcome: str) -> None:
        """A POST ended with a status, or failed for that reason."""
        self._attempts.add(1, {**self._labels(webhook), "outcome": outcome})

    def sent(self, webhook: str, event: Event, delay: int | None) -> None:
        """A receiver took an event, `delay` nanoseconds after the commit; None: it was not news."""
        self._sent.add(1, {**self._labels(webhook), "event": event.value})
        if delay is not None:
            self._delay.record(max(delay, 0) / NANOS, self._labels(webhook))

    def given_up(self, webhook: str, events: int) -> None:
        """So many events are tried no longer."""
        self._given_up.add(events, self._labels(webhook))

    def watch(self, waiting: Callable[[], dict[str, int]], disabled: Callable[[], dict[str, bool]]) -> None:
        """Gauges by webhook, read when someone asks."""

        def observed(read: Callable[[], dict[str, int]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
            return lambda _options: [Observation(value, self._labels(name)) for name, value in read().items()]

        self._meter.create_observable_gauge(
            "tracejury_webhook_waiting", callbacks=[observed(waiting)], description="Events that wait for a receiver"
        )
        self._meter.create_observable_gauge(
            "tracejury_webhook_disabled",
            callbacks=[observed(lambda: {name: int(off) for name, off in disabled().items()})],
            description="1 where the receiver said that it is gone for good",
        )

    def _labels(self, webhook: str) -> dict[str, str]:
        return {"webhook": webhook, **of_project(self._projects.get(webhook, ""))}
