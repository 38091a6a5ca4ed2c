"""The metrics of alerts, each declared once; labelled by rule and channel, of which the configuration names all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.telemetry import Telemetry, of_project
from tracejury.schemas.alert_records import AlertOutcome

from .config import AlertRule


class AlertMetrics:
    """Counts of all rules."""

    def __init__(self, telemetry: Telemetry, rules: Sequence[AlertRule], firing: Callable[[AlertRule], int]) -> None:
        meter = telemetry.meter
        sent = meter.create_counter("tracejury_alerts_sent", description="Alerts that a channel took")
        lost = meter.create_counter("tracejury_alerts_given_up", description="Alerts that a channel did not take")
        self._counters = {AlertOutcome.SENT: sent, AlertOutcome.GIVEN_UP: lost}
        for rule in rules:  # a rate needs the zero before the first
            for channel in rule.channels:
                for counter in self._counters.values():
                    counter.add(0, _labels(rule.project, rule.name, channel))

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return [Observation(firing(rule), _labels(rule.project, rule.name)) for rule in rules]

        if rules:
            meter.create_observable_gauge(
                "tracejury_alerts_firing", callbacks=[observe], description="What fires of a rule, by its last look"
            )

    def settled(self, project: str, rule: str, channel: str, outcome: AlertOutcome) -> None:
        """A channel took an alert, or it was given up."""
        self._counters[outcome].add(1, _labels(project, rule, channel))


def _labels(project: str, rule: str, channel: str = "") -> dict[str, str]:
    return {"rule": rule, **({"channel": channel} if channel else {}), **of_project(project)}
