"""Messages for webhooks of Discord (docs.discord.com/developers/resources/webhook, execute webhook).

Every character of punctuation is escaped, so that texts of alerts hold no Markdown, link or mention; and Discord is
told to notify nobody.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Final

from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.moments import iso_time

from .texts import (
    MOST_FACTS,
    MOST_LISTED,
    JsonObject,
    digest_headline,
    fitted,
    fitted_line,
    headline,
    unlisted,
    web_link,
)

# Characters: an embed's title may have 256, and all texts of a message's embeds 6,000 together.
TITLE, TEXT, NAME, VALUE = 256, 2_500, 100, 220
_PUNCTUATION: Final = frozenset(string.punctuation)
_RESOLVED: Final = 0x107C10
_COLOURS: Final = {Severity.HIGH: 0xD13438, Severity.MEDIUM: 0xF7A500, Severity.LOW: 0x8A8886}


def discord_message(alert: Alert) -> JsonObject:
    """One alert, as an embed."""
    fields = [
        {"name": fitted_line(name, NAME, _escape) or "-", "value": fitted(value, VALUE, _escape) or "-", "inline": True}
        for name, value in alert.facts[:MOST_FACTS]
    ]
    return _message([{**_embed(alert), "description": fitted(alert.text, TEXT, _escape), "fields": fields}])


def discord_digest(alerts: Sequence[Alert]) -> JsonObject:
    """Several, each an embed without its text."""
    content = " ".join(filter(None, (digest_headline(alerts), unlisted(alerts))))
    return {"content": content, **_message([_embed(alert) for alert in alerts[:MOST_LISTED]])}


def _message(embeds: Sequence[JsonObject]) -> JsonObject:
    return {"username": "tracejury", "embeds": list(embeds), "allowed_mentions": {"parse": []}}


def _embed(alert: Alert) -> JsonObject:
    is_resolved = alert.state is AlertState.RESOLVED
    link = web_link(alert)
    return {
        "title": fitted_line(headline(alert), TITLE, _escape),
        "color": _RESOLVED if is_resolved else _COLOURS[alert.severity],
        "timestamp": iso_time(alert.at),
        **({"url": link} if link else {}),
    }


def _escape(char: str) -> str:
    return f"\\{char}" if char in _PUNCTUATION else char
