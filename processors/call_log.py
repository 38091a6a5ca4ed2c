"""The LLM calls of a trace in order of time, and where ids and texts stand in them: kept while a trace grows."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Final

from tracejury.schemas.normalized import Kind, NormalizedSpan, ToolRequest

from .delegation import is_handoff
from .span_tree import TimeKey, time_key

LEAST_REPLY: Final = 16  # characters; shorter replies ("ok") identify nothing

Asked = tuple[TimeKey, int, NormalizedSpan, ToolRequest]
Said = tuple[TimeKey, int, NormalizedSpan, str]
Stood = tuple[TimeKey, int, NormalizedSpan]


class CallLog:
    """Entries are in order of their spans' times. `hinted`: by hint of a run, LLM and TOOL spans."""

    def __init__(self) -> None:
        self.calls: list[Stood] = []
        self.requests: list[Asked] = []
        self.replies: list[Said] = []
        self.asked: dict[str, list[Stood]] = {}
        self.handed: dict[str, list[Asked]] = {}
        self.said: dict[str, list[Stood]] = {}
        self.hinted: dict[str, list[Stood]] = {}

    def add(self, span: NormalizedSpan) -> None:
        """Enter an LLM or TOOL span."""
        for entries, entry in self._entries(span):
            insort(entries, entry)

    def remove(self, span: NormalizedSpan) -> None:
        """Take out a span that was entered."""
        for entries, entry in self._entries(span):
            del entries[bisect_left(entries, entry)]

    def _entries(self, span: NormalizedSpan) -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
        at = time_key(span)
        if span.run_hint:
            yield self.hinted.setdefault(span.run_hint, []), (at, 0, span)
        if span.kind is not Kind.LLM:
            return
        yield self.calls, (at, 0, span)
        for number, request in enumerate(span.tool_requests):
            yield self.requests, (at, number, span, request)
            if request.call_id:
                yield self.asked.setdefault(request.call_id, []), (at, number, span)
                if is_handoff(request.name, request.arguments):
                    yield self.handed.setdefault(request.call_id, []), (at, number, span, request)
        for number, message in enumerate(span.output_messages):
            if len(message.text) >= LEAST_REPLY:
                yield self.said.setdefault(message.text, []), (at, number, span)
                yield self.replies, (at, number, span, message.text.strip())
