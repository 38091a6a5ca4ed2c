"""Chat and pager services over loopback: each checks what it is sent by what its vendor publishes, and answers alike.

The schemas are written from the vendors' pages, not from our code: docs.slack.dev/reference/block-kit,
adaptivecards.io/explorer (schema 1.4) with learn.microsoft.com/connectors/teams,
docs.discord.com/developers/resources/webhook and /message, developer.pagerduty.com/docs/send-alert-event,
docs.opsgenie.com/docs/alert-api.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any

import jsonschema_rs
from hook_server import HookServer, Received, answer, hook_server

KEY = "0123456789abcdef0123456789abcdef"
"""The routing key, or API key, that pagers know."""


def sized(most: int, least: int = 1) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": most}


def fields(required: str, **properties: Any) -> dict[str, Any]:
    """An object of these properties alone."""
    needed = required.split()
    return {"type": "object", "required": needed, "properties": properties, "additionalProperties": False}


def listed(item: Any, most: int, least: int = 1) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def const(value: Any) -> dict[str, Any]:
    return {"const": value}


LINK = {"type": "string", "pattern": '^https?://[^\\s<>"|\\\\]+$', "maxLength": 2048}
TIME = {"type": "string", "format": "date-time"}


def _slack_plain(most: int) -> dict[str, Any]:
    return fields("type text", type=const("plain_text"), text=sized(most), emoji=const(value=False))


SLACK_LINK = fields(
    "type text",
    type=const("mrkdwn"),
    text={"type": "string", "maxLength": 3000, "pattern": "^<https?://[^\\s<>|]+\\|Open in tracejury>$"},
    verbatim=const(value=True),
)
SLACK = fields(
    "text blocks",
    text={"type": "string", "maxLength": 40_000, "not": {"pattern": "[<>]|&(?!amp;|lt;|gt;)"}},
    unfurl_links={"type": "boolean"},
    unfurl_media={"type": "boolean"},
    blocks=listed(
        {
            "oneOf": [
                fields("type text", type=const("header"), text=_slack_plain(150)),
                fields("type text", type=const("section"), text={"oneOf": [_slack_plain(3000), SLACK_LINK]}),
                fields("type fields", type=const("section"), fields=listed(_slack_plain(2000), 10)),
            ]
        },
        50,
    ),
)
OPEN = fields("type url", type=const("Action.OpenUrl"), title={"type": "string"}, url=LINK)
RUN = fields(
    "type text",
    type=const("TextRun"),
    # A run shows no Markdown, but dates between double braces; it has no line breaks.
    text={"type": "string", "minLength": 1, "not": {"pattern": "\\{\\{|\\n"}},
    weight={"enum": ["Default", "Lighter", "Bolder"]},
    size={"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
)
RICH = fields("type inlines", type=const("RichTextBlock"), inlines=listed(RUN, 10))
CARD = fields(
    "type version body",
    **{"$schema": const("http://adaptivecards.io/schemas/adaptive-card.json")},
    type=const("AdaptiveCard"),
    version=const("1.4"),
    body=listed(
        {"oneOf": [RICH, fields("type items", type=const("Container"), items=listed(RICH, 5), selectAction=OPEN)]}, 100
    ),
    actions=listed(OPEN, 6, 0),
)
TEAMS = fields(
    "type attachments",
    type=const("message"),
    attachments=listed(
        fields(
            "contentType content",
            contentType=const("application/vnd.microsoft.card.adaptive"),
            contentUrl={"type": "null"},
            content=CARD,
        ),
        1,
    ),
)
DISCORD = fields(
    "embeds allowed_mentions",
    content=sized(2000),
    username={"type": "string", "maxLength": 80, "not": {"pattern": "discord|clyde"}},
    allowed_mentions=fields("parse", parse=listed({"enum": ["roles", "users", "everyone"]}, 0, 0)),
    embeds=listed(
        fields(
            "title",
            title=sized(256),
            description=sized(4096, 0),
            url=LINK,
            timestamp=TIME,
            color={"type": "integer", "minimum": 0, "maximum": 0xFFFFFF},
            fields=listed(fields("name value", name=sized(256), value=sized(1024), inline={"type": "boolean"}), 25, 0),
        ),
        10,
    ),
)
PAGERDUTY = fields(
    "routing_key event_action dedup_key payload",
    routing_key=sized(32, 32),
    event_action={"enum": ["trigger", "acknowledge", "resolve"]},
    dedup_key=sized(255),
    client={"type": "string"},
    client_url=LINK,
    links=listed(fields("href", href=LINK, text={"type": "string"}), 10),
    payload=fields(
        "summary source severity",
        summary=sized(1024),
        source=sized(1024),
        severity={"enum": ["critical", "error", "warning", "info"]},
        timestamp=TIME,
        **{"class": {"type": "string"}},
        component={"type": "string"},
        group={"type": "string"},
        custom_details={"type": "object"},
    ),
)
OPSGENIE_CREATE = fields(
    "message",
    message=sized(130),
    alias=sized(512),
    description=sized(15_000),
    entity=sized(512, 0),
    source=sized(100),
    priority={"enum": ["P1", "P2", "P3", "P4", "P5"]},
    tags=listed(sized(50), 20),
    details={"type": "object", "additionalProperties": {"type": "string"}},
)
OPSGENIE_CLOSE = fields("", user=sized(100), source=sized(100), note=sized(25_000))

MOST_BYTES = {"slack": 1 << 20, "teams": 28_000, "discord": 8 << 20, "pagerduty": 512_000, "opsgenie": 1 << 20}
ACCEPTED = {"slack": (200, b"ok"), "teams": (202, b""), "discord": (204, b""), "pagerduty": (202, b"{}")}
SCHEMAS = {
    "slack": SLACK, "teams": TEAMS, "discord": DISCORD, "pagerduty": PAGERDUTY,
    "opsgenie": OPSGENIE_CREATE, "opsgenie-close": OPSGENIE_CLOSE,
}  # fmt: skip


@dataclass(slots=True)
class ChatEndpoint:
    """A service of one kind. `incidents`: those of a pager that are open, by key; `problems`: why it refused."""

    kind: str
    server: HookServer = field(init=False)
    incidents: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return self.server.url.removesuffix("/hook") if self.kind == "opsgenie" else self.server.url

    @property
    def said(self) -> list[Any]:
        return [each.said for each in self.server.received]

    def __call__(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        """Answer as the service does."""
        assert received.headers["content-type"] == "application/json"
        with self.lock:
            status, body = self._taken(received)
        answer(status, body=body)(handler, received)

    def _taken(self, received: Received) -> tuple[int, bytes]:
        if self.kind == "opsgenie":
            return self._opsgenie(received)
        problem = refusal(self.kind, received.body)
        if problem or (self.kind == "pagerduty" and received.said["routing_key"] != KEY):
            self.problems.append(problem or "unknown routing key")
            return 400, b'{"status": "invalid event"}'
        if self.kind == "pagerduty":
            self._incident(received.said["event_action"] == "trigger", received.said["dedup_key"], received.said)
        return ACCEPTED[self.kind]

    def _opsgenie(self, received: Received) -> tuple[int, bytes]:
        if received.headers.get("authorization") != f"GenieKey {KEY}":
            return 401, b'{"message": "Could not authenticate"}'
        path, _, query = received.path.partition("?")
        parts = path.strip("/").split("/")
        is_close = len(parts) == 4 and parts[3] == "close" and query == "identifierType=alias"
        if parts[:2] != ["v2", "alerts"] or not (is_close or len(parts) == 2):
            return 404, b""
        if problem := refusal(self.kind, received.body, "opsgenie-close" if is_close else ""):
            self.problems.append(problem)
            return 422, b'{"message": "Request body is not processable"}'
        self._incident(not is_close, parts[2] if is_close else received.said["alias"], received.said)
        return 202, b'{"result": "Request will be processed"}'

    def _incident(self, is_open: bool, key: str, said: Any) -> None:  # noqa: FBT001  as the service decides
        if is_open:
            self.incidents[key] = said
        else:
            self.incidents.pop(key, None)


def refusal(kind: str, body: bytes, schema: str = "") -> str:
    """Why a service would refuse a body, "" if it would not."""
    if len(body) > MOST_BYTES[kind]:
        return f"{len(body)} bytes are too many"
    said = json.loads(body)
    if errors := list(validator(schema or kind).iter_errors(said)):
        return "; ".join(f"{error.instance_path}: {error.message[:300]}" for error in errors)
    total = sum(map(len, _embedded(said))) if kind == "discord" else 0
    return f"embeds hold {total} characters" if total > 6_000 else ""


@cache
def validator(schema: str) -> Any:
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[schema]}
    return jsonschema_rs.validator_for(found, validate_formats=True)


def _embedded(said: Any) -> Iterator[str]:
    """The texts that Discord counts together."""
    for embed in said["embeds"]:
        yield from (embed["title"], embed.get("description", ""))
        for each in embed.get("fields", ()):
            yield from (each["name"], each["value"])


@contextmanager
def chat_endpoint(kind: str) -> Iterator[ChatEndpoint]:
    """A service that listens."""
    endpoint = ChatEndpoint(kind)
    with hook_server(endpoint) as server:
        endpoint.server = server
        yield endpoint
