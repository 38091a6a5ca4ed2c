"""The spans that have begun and not ended, and what was last announced of each. One thread owns it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from .identity import Identity

MOST_OPEN: Final = 10_000
"""Spans that are watched for changes; more are announced once and finish as usual."""

SpanKey = tuple[int, int]


@dataclass(slots=True)
class OpenSpan:
    """A live span; `mark` says what it looked like when it was last announced."""

    span: ReadableSpan
    identity: Identity
    mark: tuple[str, int, int] = ("", -1, -1)

    def changed(self) -> bool:
        """Whether there is more to say than was announced; then that is taken as said."""
        now = (self.span.name, len(self.span.attributes or ()), len(self.span.events))
        was, self.mark = self.mark, now
        return was != now


class OpenSpans:
    """Spans by trace and span id."""

    def __init__(self) -> None:
        self._open: dict[SpanKey, OpenSpan] = {}

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, span: ReadableSpan, identity: Identity) -> OpenSpan:
        """A span has begun."""
        begun = OpenSpan(span, identity)
        if len(self._open) < MOST_OPEN:
            self._open[_key(span)] = begun
        return begun

    def end(self, span: ReadableSpan) -> None:
        """A span has ended."""
        self._open.pop(_key(span), None)

    def changed(self) -> Iterator[OpenSpan]:
        """Those that have more to say than was announced. Whose end we never heard of are forgotten."""
        ended = [key for key, one in self._open.items() if one.span.end_time is not None]
        for key in ended:
            del self._open[key]
        return (one for one in self._open.values() if one.changed())


def still_open(spans: Iterable[OpenSpan]) -> list[OpenSpan]:
    """Those that have not ended meanwhile: the finished span says it all."""
    return [one for one in spans if one.span.end_time is None and one.changed()]


def _key(span: ReadableSpan) -> SpanKey:
    found = span.context
    return (found.trace_id, found.span_id) if found else (0, 0)
