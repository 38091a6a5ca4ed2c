"""Alerts as plain JSON, signed as webhooks are; docs/chat.md describes it; keys are only ever added to a schema."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.collector.outbound.webhooks.signing import headers
from tracejury.schemas.alerts import Alert
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.text.moments import iso_time

from .http_channel import ChannelRequest
from .texts import MOST_FACTS, JsonObject, digest_of, fitted, fitted_line, web_link

SCHEMA: Final = 1
NAME, TEXT, MOST_SENT = 500, 4_000, 50
"""Characters of a name, title or fact, and of a text; alerts of a digest."""


@dataclass(frozen=True, slots=True)
class SignedForm:
    """See `ChannelForm`. `channel`: its name; `clock`: unix seconds."""

    channel: str
    url: str = field(repr=False)
    key: bytes = field(repr=False)
    clock: Callable[[], float] = time.time

    def message(self, alert: Alert) -> ChannelRequest:
        """See `ChannelForm`."""
        return self._request(f"alert.{alert.state.value}", {"alert": alert_json(alert)}, [alert])

    def digest(self, alerts: Sequence[Alert]) -> ChannelRequest:
        """See `ChannelForm`."""
        listed = [alert_json(alert) for alert in alerts[:MOST_SENT]]
        return self._request("alert.digest", {"count": len(alerts), "alerts": listed}, alerts)

    def _request(self, kind: str, data: JsonObject, alerts: Sequence[Alert]) -> ChannelRequest:
        name = f"msg_{digest_of(self.channel, kind, *(alert.id for alert in alerts))}"
        body = bytes_of(
            {
                "type": kind,
                "timestamp": iso_time(max((alert.at for alert in alerts), default=0)),
                "schema": SCHEMA,
                "id": name,
                "channel": self.channel,
                "data": data,
            }
        )
        return ChannelRequest(self.url, body, headers([self.key], name, int(self.clock()), body))


def alert_json(alert: Alert) -> JsonObject:
    """An alert as JSON, its texts bounded."""
    return {
        "id": fitted_line(alert.id, NAME),
        "project": fitted_line(alert.project, NAME),
        "rule": fitted_line(alert.rule, NAME),
        "key": fitted_line(alert.key, NAME),
        "state": alert.state.value,
        "severity": alert.severity.value,
        "title": fitted_line(alert.title, NAME),
        "text": fitted(alert.text, TEXT),
        "facts": [{"name": fitted_line(n, NAME), "value": fitted(v, NAME)} for n, v in alert.facts[:MOST_FACTS]],
        "link": web_link(alert) or None,
        "at": iso_time(alert.at),
    }
