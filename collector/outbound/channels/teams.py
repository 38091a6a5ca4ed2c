"""Messages for Microsoft Teams: an Adaptive Card for the trigger "When a Teams webhook request is received".

Texts of alerts are TextRuns, in which Teams knows no Markdown (learn.microsoft.com/adaptive-cards, Text features) but
dates between double braces, which are broken up. A mention needs an entity, which no card of ours has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracejury.schemas.alerts import Alert
from tracejury.schemas.text.jsontext import bytes_of

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

# Bytes of JSON: a message may have 28 KB in all, and people have met 21.
TITLE, TEXT, NAME, VALUE = 500, 6_000, 200, 500
MOST_LINES: Final = 30
_BRACES: Final = re.compile(r"\{(?=\{)")


def teams_message(alert: Alert) -> JsonObject:
    """One alert: its title, text, facts and a link."""
    body = [_title(headline(alert)), *map(_paragraph, _lines(alert.text))]
    body += [_fact(name, value) for name, value in alert.facts[:MOST_FACTS]]
    return _message(body, _open(alert))


def teams_digest(alerts: Sequence[Alert]) -> JsonObject:
    """Several: each leads to its page."""
    body = [_title(digest_headline(alerts))]
    for alert in alerts[:MOST_LISTED]:
        item: JsonObject = {"type": "Container", "items": [_paragraph(_shown(headline(alert), TITLE))]}
        if actions := _open(alert):
            item["selectAction"] = actions[0]
        body.append(item)
    if more := unlisted(alerts):
        body.append(_paragraph(more))
    return _message(body, [])


def _message(body: Sequence[JsonObject], actions: Sequence[JsonObject]) -> JsonObject:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": list(body),
        "actions": list(actions),
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _title(text: str) -> JsonObject:
    return _block({"type": "TextRun", "text": _shown(text, TITLE), "weight": "Bolder", "size": "Medium"})


def _paragraph(text: str) -> JsonObject:
    return _block({"type": "TextRun", "text": text})


def _fact(name: str, value: str) -> JsonObject:
    bold = {"type": "TextRun", "text": f"{_shown(name, NAME)}: ", "weight": "Bolder"}
    return _block(bold, {"type": "TextRun", "text": _shown(value, VALUE) or "-"})


def _block(*runs: JsonObject) -> JsonObject:
    return {"type": "RichTextBlock", "inlines": list(runs)}


def _lines(text: str) -> list[str]:
    """A text as paragraphs: a run has no line breaks."""
    lines = [line for line in fitted(_unbraced(text[: TEXT + 1]), TEXT, size=_bytes).split("\n") if line.strip()]
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "…"]


def _shown(text: str, most: int) -> str:
    return fitted_line(_unbraced(text[: most + 1]), most, size=_bytes)


def _unbraced(text: str) -> str:
    return _BRACES.sub("{ ", text)


def _open(alert: Alert) -> list[JsonObject]:
    link = web_link(alert)
    return [{"type": "Action.OpenUrl", "title": "Open in tracejury", "url": link}] if link else []


def _bytes(text: str) -> int:
    return len(bytes_of(text)) - 2
