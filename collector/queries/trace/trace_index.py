"""The nodes of a trace's tree by key: `run:ID`, `turn:INDEX:RUN`, `call:N:INDEX:RUN`, `span:ID`.

Keys go into URLs; an unknown one matches no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tracejury.processors.trace_outline import RunOutline, SpanOutline, ToolCallOutline, TraceOutline, TurnOutline

TOP: Final = ""
REST: Final = "rest"
MAX_DEPTH: Final = 50
"""Of agent runs, or spans, under each other; what is deeper hangs on the top."""

Item = RunOutline | TurnOutline | ToolCallOutline | SpanOutline | None


@dataclass(frozen=True, slots=True)
class Extent:
    """From the first start to the last end, unix nanos."""

    start: int
    end: int


class TraceIndex:
    """The tree of an outline. `items`: nodes by key."""

    def __init__(self, outline: TraceOutline) -> None:
        self.outline = outline
        self.items: dict[str, Item] = {REST: None} if outline.remainder else {}
        self._above: dict[str, str] = {REST: TOP}
        self._below: dict[str, list[str]] = {}
        self._of_span: dict[str, str] = {}
        for run in outline.runs:
            self._add_run(run)
        starts = {run.id: _starts(run) for run in outline.runs}
        for run in outline.runs:
            self._hang_run(run, starts.get(run.parent_id, {}))
        self._add_rest(outline.remainder)

    def below(self, key: str) -> Sequence[str]:
        """The children of a node, in order."""
        return self._below.get(key, ())

    def above(self, key: str) -> str:
        """The parent of a node."""
        return self._above.get(key, TOP)

    def place(self, key: str) -> tuple[RunOutline | None, str]:
        """The agent run that a node, or a text of it, is of, None for none; and the span that its key names, or ""."""
        kind, _, rest = key.partition(":")
        span_id = rest if kind in ("span", "text") else ""
        own = self.key_of_span(span_id) or "" if span_id else key
        run = self.items.get(f"run:{own.rpartition(':')[2]}")
        return (run if isinstance(run, RunOutline) else None), span_id

    def path(self, key: str) -> list[str]:
        """The ancestors of a node, the topmost first, and the node itself."""
        found = [key]
        while (key := self.above(key)) and len(found) <= 4 * MAX_DEPTH:
            found.append(key)
        return found[::-1]

    def key_of_span(self, span_id: str) -> str | None:
        """The key of the node that shows a span; a run's id counts as that of its span."""
        if span_id in self._of_span:
            return self._of_span[span_id]
        return f"run:{span_id}" if f"run:{span_id}" in self.items else None

    @cached_property
    def extent(self) -> Extent:
        """The time of all nodes; those without a start do not count."""
        spread = [(i.start, i.end) for i in self.items.values() if i is not None and i.start]
        return Extent(min((s for s, _ in spread), default=0), max((e for _, e in spread), default=0))

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The number of each key in reading order."""
        found: dict[str, int] = {}
        stack = list(reversed(self.below(TOP)))
        while stack:
            key = stack.pop()
            if key not in found:
                found[key] = len(found)
                stack.extend(reversed(self.below(key)))
        return found

    def _add_run(self, run: RunOutline) -> None:
        key = f"run:{run.id}"
        self.items[key] = run
        self._spans(key, (run.id, run.span_id, *run.others))
        for turn in run.turns:
            turn_key = f"turn:{turn.index}:{run.id}"
            self._put(turn_key, turn, key)
            self._spans(turn_key, (turn.span_id, *turn.others))
            for number, call in enumerate(turn.calls):
                call_key = f"call:{number}:{turn.index}:{run.id}"
                self._put(call_key, call, turn_key)
                self._spans(call_key, (call.span_id,))

    def _hang_run(self, run: RunOutline, starts: Mapping[str, str]) -> None:
        """Below the call or the turn that started it, else below its parent, else on the top."""
        key, parent = f"run:{run.id}", f"run:{run.parent_id}"
        above = TOP
        if parent in self.items and not self._is_too_deep(parent, key):
            above = starts.get(run.id, parent)
        self._above[key] = above
        self._below.setdefault(above, []).append(key)

    def _is_too_deep(self, key: str, child: str) -> bool:
        depth = 0
        while key and depth <= MAX_DEPTH:
            if key == child:
                return True
            depth += key.startswith(("run:", "span:"))
            key = self.above(key)
        return depth > MAX_DEPTH

    def _add_rest(self, spans: Sequence[SpanOutline]) -> None:
        known = {span.span_id for span in spans}
        if spans:
            self._below.setdefault(TOP, []).append(REST)
        for span in spans:
            key = f"span:{span.span_id}"
            above = f"span:{span.parent_id}" if span.parent_id in known and span.parent_id != span.span_id else REST
            self._put(key, span, REST if self._is_too_deep(above, key) else above)
            self._spans(key, (span.span_id,))

    def _put(self, key: str, item: Item, above: str) -> None:
        self.items[key] = item
        self._above[key] = above
        self._below.setdefault(above, []).append(key)

    def _spans(self, key: str, span_ids: Iterable[str]) -> None:
        for span_id in span_ids:
            if span_id:
                self._of_span.setdefault(span_id, key)


def _starts(parent: RunOutline) -> dict[str, str]:
    """By id of the run that was started: the key of the call, else of the turn, that started it."""
    found: dict[str, str] = {}
    for turn in parent.turns:
        for number, call in enumerate(turn.calls):
            if call.sub_run_id:
                found.setdefault(call.sub_run_id, f"call:{number}:{turn.index}:{parent.id}")
        for run_id in turn.sub_run_ids:
            found.setdefault(run_id, f"turn:{turn.index}:{parent.id}")
    return found
