"""What a convention is: a way of writing agents' spans that one module reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ...schemas.normalized import ExceptionInfo, NormalizedSpan
from ...schemas.spans import LogRecord, Span


class Convention(Protocol):
    """A reader of one convention; `name` is what users see."""

    @property
    def name(self) -> str:
        """The convention's short name."""

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """Whether the span (or a log record joined to it) carries this convention's marks."""

    def normalize(self, span: Span, logs: Sequence[LogRecord]) -> NormalizedSpan:
        """The span in the one vocabulary; never raises, whatever the attributes hold."""


def exceptions(span: Span) -> tuple[ExceptionInfo, ...]:
    """The span's `exception` events, without the copies that some instrumentations add."""
    if not span.events:
        return ()
    found = dict.fromkeys(
        ExceptionInfo(e.attributes.get("exception.type", ""), e.attributes.get("exception.message", ""))
        for e in span.events
        if e.name == "exception"
    )
    return tuple(found)


def unread_log_text(logs: Sequence[LogRecord], read: Collection[int] = ()) -> tuple[str, ...]:
    """Bodies of the joined log records in order of time, without those at positions `read` (they hold messages)."""
    left = [log for i, log in enumerate(logs) if log.body and i not in read]
    left.sort(key=lambda log: (log.time or log.observed_time, log.observed_time, log.body))
    return tuple(log.body for log in left)
