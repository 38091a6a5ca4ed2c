"""Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.responses import StreamingResponse

from ...schemas.text.jsontext import text_of

HEARTBEAT: Final = 15.0
"""Seconds after which an idle stream says that it is there: what stands between drops silent connections."""

RETRY: Final = 2000
"""Milliseconds after which a browser asks again."""

BEAT: Final = ": beat\n\n"


def event(name: str, data: Any, mark: str = "") -> str:
    """One event; JSON never holds a line feed, so neither does its line. `mark`: what comes back as Last-Event-ID."""
    identity = f"id: {mark}\n" if mark else ""
    return f"{identity}event: {name}\ndata: {text_of(data)}\n\n"


def opening() -> str:
    """The first line of every stream."""
    return f"retry: {RETRY}\n\n"


def stream(events: AsyncIterator[str]) -> StreamingResponse:
    """A response of events."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
