"""The body of a webhook: docs/webhooks.md describes it; keys are only ever added within one schema version."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from ..jsontext import bytes_of
from ..moments import iso_time
from ..present import present_error
from ..reader import Sighting
from .events import Event, Found, Message, message_id

SCHEMA: Final = 1


def message(webhook: str, event: Event, found: Found, base: str) -> Message:
    """What `webhook` is told; `base`: the address of API and pages."""
    finding = found.finding
    name = message_id(webhook, finding.fingerprint, event)
    body = {
        "type": f"finding.{event.value}",
        "timestamp": iso_time(found.judged_at if event is Event.RETRACTED else finding.first_seen),
        "schema": SCHEMA,
        "id": name,
        "webhook": webhook,
        "data": {
            "finding": present_error(Sighting(finding, found.service, found.agent)),
            "trace": {
                "trace_id": finding.trace_id,
                "session_id": found.session_id or None,
                "task_id": found.task_id or None,
                "state": found.trace_state,
            },
            "links": _links(base, finding.trace_id, finding.span_id),
        },
    }
    return Message(
        name, finding.trace_id, finding.fingerprint, event, bytes_of(body), found.judged_at, found.received
    )  # fmt: skip


def _links(base: str, trace_id: str, span_id: str) -> dict[str, str]:
    trace, span = quote(trace_id, safe=""), quote(span_id, safe="")
    return {
        "trace": f"{base}/traces/{trace}",
        "span": f"{base}/spans/{span}?trace={trace}",
        "api": f"{base}/api/traces/{trace}",
    }
