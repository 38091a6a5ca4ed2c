"""What a convention is: a way of writing agents' spans that one module reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Protocol

from ...schemas.normalized import ExceptionInfo, NormalizedSpan
from ...schemas.spans import LogRecord, Span

_TYPE: Final = "exception.type"
_MESSAGE: Final = "exception.message"


class Convention(Protocol):
    """A reader of one convention; `name` is what users see."""

    @property
    def name(self) -> str:
        """The convention's short name."""

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """Whether the span (or a log record joined to it) carries this convention's marks."""

    def normalize(self, span: Span, logs: Sequence[LogRecord]) -> NormalizedSpan:
        """The span in the one vocabulary; never raises, whatever the attributes hold."""


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
    return tuple(log.body for log in _in_time(log for i, log in enumerate(logs) if log.body and i not in read))
