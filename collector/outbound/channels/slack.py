"""Messages for incoming webhooks of Slack (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).

Texts of alerts are `plain_text`, in which Slack knows no mention, link or markup; the fallback for notifications is
escaped (docs.slack.dev/messaging/formatting-message-text).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.alerts import Alert
from tracejury.schemas.text.terminal import one_line

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

HEADER, SECTION, FIELD = 150, 3_000, 2_000
"""Characters of a header, of a section's text and of a field, by docs.slack.dev/reference/block-kit/blocks."""
_NAME: Final = 100
_ESCAPED: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def slack_message(alert: Alert) -> JsonObject:
    """One alert: a header, its text, its facts and a link."""
    blocks = [_header(headline(alert)), {"type": "section", "text": _plain(alert.text, SECTION)}]
    if alert.facts:
        fields = [_plain(f"{one_line(name, _NAME)}: {value}", FIELD) for name, value in alert.facts[:MOST_FACTS]]
        blocks.append({"type": "section", "fields": fields})
    return _message(headline(alert), [*blocks, *_link(alert)])


def slack_digest(alerts: Sequence[Alert]) -> JsonObject:
    """Several: a header, and each with its link."""
    blocks = [_header(digest_headline(alerts))]
    for alert in alerts[:MOST_LISTED]:
        blocks += [{"type": "section", "text": _plain(headline(alert), SECTION)}, *_link(alert)]
    if more := unlisted(alerts):
        blocks.append({"type": "section", "text": _plain(more, SECTION)})
    return _message(digest_headline(alerts), blocks)


def _message(title: str, blocks: Sequence[JsonObject]) -> JsonObject:
    return {
        "text": fitted_line(title, SECTION, _escape),
        "blocks": list(blocks),
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _header(title: str) -> JsonObject:
    return {"type": "header", "text": _plain(title, HEADER)}


def _plain(text: str, most: int) -> JsonObject:
    return {"type": "plain_text", "text": fitted(text, most, _escape) or "-", "emoji": False}


def _link(alert: Alert) -> list[JsonObject]:
    link = "".join(map(_escape, web_link(alert)))
    text = {"type": "mrkdwn", "text": f"<{link}|Open in tracejury>", "verbatim": True}
    return [{"type": "section", "text": text}] if link else []


def _escape(char: str) -> str:
    return _ESCAPED.get(char, char)
