"""Messages and spans without the ids of tool calls, as providers without ids send them.

Truth: everything but the ids; results follow from name, arguments and order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tracejury.schemas.batch import Batch

from .recording import Recording

_LEAST: Final = 6  # characters; a shorter id may stand in any text by chance


def without_call_ids(of: Recording) -> Batch | None:
    """Each id of a call is cut out of every text; attributes that held nothing else go."""
    ids: set[str] = set()
    for span in of.spans:
        ids.add(span.tool_call_id)
        for message in (*span.input_messages, *span.output_messages):
            ids |= {message.tool_call_id, *(request.call_id for request in message.tool_requests)}
    ids.discard("")
    if not ids or min(map(len, ids)) < _LEAST:
        return None
    longest_first = sorted(ids, key=lambda i: (-len(i), i))

    def cut(text: str) -> str:
        for call_id in longest_first:
            text = text.replace(call_id, "")
        return text

    def left(attributes: Mapping[str, str]) -> dict[str, str]:
        return {key: cut(value) for key, value in attributes.items() if not value or cut(value)}

    spans = []
    for raw in of.raw:
        events = tuple(replace(event, attributes=left(event.attributes)) for event in raw.events)
        spans.append(replace(raw, attributes=left(raw.attributes), events=events))
    return Batch(spans, [replace(log, body=cut(log.body), attributes=left(log.attributes)) for log in of.logs])
