"""Events for PagerDuty (developer.pagerduty.com/docs/send-alert-event, Events API v2): an incident, or its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.text.moments import iso_time

from .http_channel import ChannelRequest, PagerForm
from .texts import MOST_FACTS, fitted, fitted_line, headline, incident_of, web_link

SUMMARY, SOURCE, TEXT, NAME, VALUE = 1_024, 255, 10_000, 100, 1_000
"""Characters. PagerDuty limits the summary, and an event to 512 KB."""
_SEVERITIES: Final = {Severity.HIGH: "critical", Severity.MEDIUM: "error", Severity.LOW: "warning"}


@dataclass(frozen=True, slots=True)
class PagerDutyForm(PagerForm):
    """See `ChannelForm`. `key`: the routing key of an integration."""

    url: str
    key: str = field(repr=False)

    def message(self, alert: Alert) -> ChannelRequest:
        """See `ChannelForm`."""
        link = web_link(alert)
        event = {
            "routing_key": self.key,
            "event_action": "trigger" if alert.state is AlertState.FIRING else "resolve",
            "dedup_key": incident_of(alert),
            "client": "tracejury",
            **({"client_url": link, "links": [{"href": link, "text": "Open in tracejury"}]} if link else {}),
            "payload": {
                "summary": fitted_line(headline(alert), SUMMARY),
                "source": fitted_line(alert.key, SOURCE) or "tracejury",
                "severity": _SEVERITIES[alert.severity],
                "timestamp": iso_time(alert.at),
                "class": fitted_line(alert.rule, NAME),
                "custom_details": {"text": fitted(alert.text, TEXT), "facts": self._facts(alert)},
            },
        }
        return ChannelRequest(self.url, bytes_of(event))

    def _facts(self, alert: Alert) -> dict[str, str]:
        return {fitted_line(name, NAME): fitted(value, VALUE) for name, value in alert.facts[:MOST_FACTS]}
