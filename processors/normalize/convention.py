"""The protocol of a convention: one way of writing agents' spans, read by one module."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Protocol

from tracejury.schemas.normalized import ExceptionInfo
from tracejury.schemas.spans import LogRecord, Span

_TYPE: Final = "exception.type"
_MESSAGE: Final = "exception.message"

Fields = dict[str, Any]
"""Fields of a `NormalizedSpan` that one convention fills: "kind" always, "raw" and "convention" never."""


class Convention(Protocol):
    """A reader of one convention; `name` is what users see."""

    @property
    def name(self) -> str:
        """The convention's short name."""

    @property
    def marks(self) -> frozenset[str]:
        """Attribute keys any of which shows the convention."""

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """Whether the span (or a log record joined to it) carries this convention's marks."""

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """Fields read from the span in this convention; never raises, whatever the attributes hold."""


class MarkedConvention:
    """A convention that is recognised by its keys alone."""

    marks: frozenset[str] = frozenset()

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        return not span.attributes.keys().isdisjoint(self.marks)


def exceptions(span: Span, logs: Sequence[LogRecord]) -> tuple[ExceptionInfo, ...]:
    """Exceptions recorded as events of the span or as log records, without the copies that some write."""
    if not span.events and not logs:
        return ()
    recorded = [e.attributes for e in span.events if e.name == "exception"]
    recorded += [log.attributes for log in _in_time(logs) if _TYPE in log.attributes or _MESSAGE in log.attributes]
    return tuple(dict.fromkeys(ExceptionInfo(a.get(_TYPE, ""), a.get(_MESSAGE, "")) for a in recorded))


def _in_time(logs: Iterable[LogRecord]) -> list[LogRecord]:
    return sorted(logs, key=lambda log: (log.time or log.observed_time, log.observed_time, log.body))


def unread_log_text(logs: Sequence[LogRecord], read: Collection[int] = ()) -> tuple[str, ...]:
    """Bodies of the joined log records in order of time, without those at positions `read` (they hold messages)."""
    if not logs:
        return ()
    return tuple(log.body for log in _in_time(log for i, log in enumerate(logs) if log.body and i not in read))


_ANNOUNCED_PARENT: Final = "logfire.pending_parent_id"


def is_announcement(span: Span) -> bool:
    """Whether the span only says that another one, its parent, has begun: Logfire sends such, with all attributes."""
    return span.pending and _ANNOUNCED_PARENT in span.attributes
