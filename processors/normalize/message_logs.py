"""Stand-ins for spans: log records with a model call's messages, whose span may come later or never.

GenAI instrumentations write a call's messages into log records of its span. A record that holds what the model wrote
makes a span with the record's ids, which is unfinished: the real span replaces it, whichever comes first. What the
stand-in says is read of its records, all of them, so that the order in which they came makes no difference.

Sources: OpenTelemetry's GenAI conventions, gen-ai-events (`gen_ai.client.inference.operation.details`; `gen_ai.choice`
until 1.36); for ADOT see `adot.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.spans import STATUS_ERROR, LogRecord, Span

from .adot import asks_model
from .genai_content import CHOICE, DETAILS

STAND_IN: Final = "tracejury.message_log"
"""The attribute of a span that was made of such records alone."""

SESSION: Final = ("gen_ai.conversation.id", "session.id")

_OPERATION: Final = "gen_ai.operation.name"
_OUTPUT: Final = "gen_ai.output.messages"
_REPLIES: Final = frozenset({DETAILS, CHOICE, "gen_ai.content.completion"})
_MESSAGE: Final = ".message"  # how the names of events of one message end
_CONTENTS: Final = (
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"),
    *("gen_ai.event.content", "gen_ai.prompt", "gen_ai.completion"),
)  # read as content of the records
_KEPT: Final = frozenset({"session.id", "error.type"})  # beside those of the conventions


def is_stand_in(span: Span) -> bool:
    """Whether the span stands for one that did not come."""
    return span.pending and STAND_IN in span.attributes


def tells_of_call(record: LogRecord) -> bool:
    """Whether the record holds what a model wrote; messages that were sent alone are no call yet."""
    attributes = record.attributes
    name = record.event_name or attributes.get("event.name", "")
    if name in _REPLIES:
        return True
    return not name.endswith(_MESSAGE) and (_OUTPUT in attributes or asks_model(record))


def stand_in(record: LogRecord, trace_id: str, span_id: str) -> Span:
    """The span that the record stands for, without its messages."""
    time = record.time or record.observed_time
    known = {key: value for key in (_OPERATION, *SESSION) if (value := record.attributes.get(key))}
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id="",
        name=known.get(_OPERATION, "chat"),
        start=time,
        end=time,
        attributes={**known, STAND_IN: "true"},
        service=record.service,
        resource_attributes=record.resource_attributes,
        scope_name=record.scope_name,
        scope_version=record.scope_version,
        received_at=record.received_at,
        pending=True,
        tenant=record.tenant,
    )


def with_told(span: Span, logs: Sequence[LogRecord]) -> Span:
    """A stand-in with all that its records say beside messages."""
    said = {_OPERATION: "chat"}
    for record in sorted(logs, key=_place):
        said |= {k: v for k, v in record.attributes.items() if _describes(k) and v}
    model, error = said.get("gen_ai.request.model", ""), said.get("error.type", "")
    return replace(
        span,
        name=f"{said[_OPERATION]} {model}".rstrip(),
        attributes={**span.attributes, **said},
        status_code=STATUS_ERROR if error else span.status_code,
        status_message=error or span.status_message,
    )


def _describes(key: str) -> bool:
    return key in _KEPT or (key.startswith("gen_ai.") and not key.startswith(_CONTENTS))


def _place(record: LogRecord) -> tuple[int, int, list[tuple[str, str]]]:
    return (record.time or record.observed_time, record.observed_time, sorted(record.attributes.items()))
