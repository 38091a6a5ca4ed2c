"""Requests to Opsgenie's alert API (docs.opsgenie.com/docs/alert-api), which Jira Service Management has, too.

Opsgenie shows HTML of messages and descriptions: angle brackets become others that look alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.jsontext import bytes_of

from .http_channel import ChannelRequest, PagerForm
from .texts import MOST_FACTS, JsonObject, fitted, fitted_line, headline, incident_of, web_link

MESSAGE, DESCRIPTION, ENTITY, NOTE, NAME, VALUE = 130, 15_000, 512, 2_000, 100, 500
"""Characters. Opsgenie limits the first three, a note to 25,000, and all details together to 8,000."""
_PRIORITIES: Final = {Severity.HIGH: "P1", Severity.MEDIUM: "P3", Severity.LOW: "P5"}
_LIKE: Final = {"<": "\u2039", ">": "\u203a"}


@dataclass(frozen=True, slots=True)
class OpsgenieForm(PagerForm):
    """See `ChannelForm`. `url`: of the region, without a path; `key`: of an API integration."""

    url: str
    key: str = field(repr=False)

    def message(self, alert: Alert) -> ChannelRequest:
        """See `ChannelForm`."""
        base, alias = f"{self.url.rstrip('/')}/v2/alerts", incident_of(alert)
        if alert.state is AlertState.RESOLVED:
            note = fitted(f"{headline(alert)}\n{alert.text[:NOTE]}", NOTE, _escape)
            return self._request(f"{base}/{alias}/close?identifierType=alias", {"source": "tracejury", "note": note})
        return self._request(base, self._created(alert, alias))

    def _created(self, alert: Alert, alias: str) -> JsonObject:
        link, message = web_link(alert), fitted_line(alert.title, MESSAGE, _escape) or "tracejury"
        room = DESCRIPTION - len(link) - 2
        facts = alert.facts[:MOST_FACTS]
        return {
            "message": message,
            "alias": alias,
            "description": "\n\n".join(filter(None, (fitted(alert.text, room, _escape), link))) or message,
            "entity": fitted_line(alert.key, ENTITY, _escape),
            "priority": _PRIORITIES[alert.severity],
            "source": "tracejury",
            "tags": ["tracejury", alert.severity.value],
            "details": {fitted_line(name, NAME, _escape): fitted(value, VALUE, _escape) for name, value in facts},
        }

    def _request(self, url: str, body: JsonObject) -> ChannelRequest:
        return ChannelRequest(url, bytes_of(body), {"authorization": f"GenieKey {self.key}"})


def _escape(char: str) -> str:
    return _LIKE.get(char, char)
