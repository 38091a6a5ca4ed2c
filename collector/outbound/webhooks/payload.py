"""The body of a webhook: docs/webhooks.md describes it; keys are only ever added within one schema version."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import quote

from tracejury.collector.queries.present_errors import present_located_finding
from tracejury.schemas.agent_errors import ERROR_SPANS, ErrorSummary
from tracejury.schemas.decisive import why_and_instead
from tracejury.schemas.queries.reader import LocatedFinding
from tracejury.schemas.queries.webhook_events import NAME, Event, WebhookMessage, WebhookNews, message_id
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.text.moments import iso_time

SCHEMA: Final = 1
SPANS: Final = 100
"""Ids of a kind."""
WHY: Final = 4_000
"""Characters of an explanation: what waits is held in memory."""


def message(webhook: str, news: WebhookNews, base: str) -> WebhookMessage:
    """The message for `webhook`; `base`: the address of API and pages."""
    event, found = news.event, news.found
    finding = replace(found.finding, explanation=_cut(found.finding.explanation, WHY))
    name = message_id(webhook, finding.fingerprint, event)
    body = {
        "type": f"finding.{event.value}",
        "timestamp": iso_time(found.judged_at if event is Event.RETRACTED else finding.first_seen),
        "schema": SCHEMA,
        "id": name,
        "webhook": webhook,
        "data": {
            "finding": present_located_finding(LocatedFinding(finding, _cut(found.service), _cut(found.agent))),
            "error": _error(news.error),
            "trace": {
                "trace_id": finding.trace_id,
                "session_id": _cut(found.session_id) or None,
                "task_id": _cut(found.task_id) or None,
                "state": found.trace_state,
                "grades": found.grades or None,
            },
            "links": _links(base, finding.trace_id, finding.span_id),
        },
    }
    return WebhookMessage(
        name, finding.trace_id, finding.fingerprint, event, bytes_of(body), found.judged_at, found.received
    )  # fmt: skip


def _error(told: ErrorSummary) -> dict[str, object]:
    """The error that the finding is of."""
    why, instead = why_and_instead(told.decided)
    return {
        "id": told.id,
        "title": _cut(told.title),
        "cause": _cut(told.cause),
        "span_id": told.span_id,
        **{name: _spans(getattr(told, name)) for name in ERROR_SPANS},
        "finding_ids": told.findings[:SPANS],
        "decisive": told.decisive,
        "decided_why": _cut(why, WHY) or None,
        "instead": _cut(instead, WHY) or None,
    }


def _spans(named: str | tuple[str, ...]) -> str | tuple[str, ...] | None:
    return named[:SPANS] if isinstance(named, tuple) else named or None


def _cut(text: str, most: int = NAME) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _links(base: str, trace_id: str, span_id: str) -> dict[str, str]:
    trace, span = quote(trace_id, safe=""), quote(span_id, safe="")
    return {
        "trace": f"{base}/traces/{trace}",
        "span": f"{base}/spans/{span}?trace={trace}",
        "api": f"{base}/api/traces/{trace}",
    }
