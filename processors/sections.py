"""A long run's spans in sections, each grouped to turns by itself, so that a run that grows is not grouped anew.

A section begins with a call of the agent's model, or with the steps (CHAIN) around it that hold nothing before it, once
all else had ended. No span of it is below one of another section, shares the id of a call with one, or began before its
own section did. So nothing outside a section can decide to which turn its spans belong.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.prefixes import shared_prefix

from .span_tree import SpanTree, time_key
from .turn_spans import StartedRun

LEAST_SPANS: Final = 64
"""Of each section but the last."""


@dataclass(frozen=True, slots=True)
class RunSection:
    """Spans in the run's order, the ids of those right above them, and the runs that were started among them."""

    spans: list[NormalizedSpan]
    above: list[str | None]
    started: list[StartedRun]


class _Cut(NamedTuple):
    """Where a section begins, and where the call is that it begins with."""

    at: int
    call: int


class SectionFinder:
    """Cuts the spans of one growing run into sections; the spans before the first that changed are not read again."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._spans: list[NormalizedSpan] = []
        self._ids: list[str] = []
        self._above: list[str | None] = []
        self._place: dict[str | tuple[str], int] = {}  # position of a span by id, first one of a call by (id,)
        self._known: list[tuple[int, int]] = []  # by position: the number of places before it, the end of all up to it
        self._cuts: list[_Cut] = [_FIRST]  # ascending

    def cut(self, spans: list[NormalizedSpan], started: Sequence[StartedRun], tree: SpanTree) -> list[RunSection]:
        """The sections of a run's spans (in the order of `tree`, the whole one) and of the runs right below it."""
        same = shared_prefix(self._spans, spans)
        self._ids[same:] = [span.raw.span_id for span in spans[same:]]
        above = list(map(tree.parent.get, self._ids))
        first = min(same, shared_prefix(self._above, above))
        self._forget(first)
        self._spans, self._above = spans, above
        for at in range(first, len(spans)):
            self._take(at)
        for run in started:
            self._tie(run, tree.parent.get(run.span.raw.span_id))
        below: list[list[StartedRun]] = [[] for _ in self._cuts]
        for run in started:
            below[self._section(run)].append(run)
        begins = [cut.at for cut in self._cuts]
        ends = [*begins[1:], len(spans)]
        return [RunSection(spans[i:j], above[i:j], runs) for i, j, runs in zip(begins, ends, below, strict=True)]

    def _forget(self, first: int) -> None:
        """All that is known of the spans from this position on."""
        if first < len(self._known):
            while len(self._place) > self._known[first][0]:
                self._place.popitem()
            del self._known[first:]
            self._cuts = [cut for cut in self._cuts if cut.call < first or cut is _FIRST]

    def _take(self, at: int) -> None:
        span, above = self._spans[at], self._above[at]
        began, ended = _began(span), self._known[-1][1] if at else 0
        self._known.append((len(self._place), max(ended, began + 1, span.raw.end)))
        outermost = self._is_outermost(above)
        begins = self._outermost_step(at) if span.kind is Kind.LLM else 0
        is_free = begins > 0 and min(began, _began(self._spans[begins])) >= self._known[begins - 1][1]
        if is_free and begins - self._cuts[-1].at >= LEAST_SPANS:
            self._cuts.append(_Cut(begins, at))
        while self._cuts[-1].at and began < _began(self._spans[self._cuts[-1].call]):
            self._cuts.pop()
        if not span.raw.start:  # its time tells nothing
            self._join(0)
        if not outermost:
            self._join(self._place.get(above or "", 0))
        ids = [r.call_id for r in span.tool_requests] if span.output_messages else []
        for call_id in (span.tool_call_id, *ids):
            if call_id:
                self._join(self._place.setdefault((call_id,), at))
        self._place[span.raw.span_id] = at
        if self._may_be_double(at):
            self._cuts.pop()

    def _outermost_step(self, at: int) -> int:
        """The position of the outermost step that holds a call and nothing before it; that of the call without a step.

        0 where the call is below something else.
        """
        above = self._above[at]
        while not self._is_outermost(above):
            at -= 1
            if at < 0 or self._ids[at] != above or self._spans[at].kind is not Kind.CHAIN:
                return 0
            above = self._above[at]
        return at

    def _is_outermost(self, above: str | None) -> bool:
        """Whether no span of the run, nor one around it, is above."""
        return above is None or (above == self._run and above not in self._place)

    def _may_be_double(self, at: int) -> bool:
        """Whether the span may be a better record of the call that the last section begins with, or hold one."""
        span, cut = self._spans[at], self._cuts[-1]
        if not 0 < cut.call < at or span.kind is Kind.TOOL:
            return False
        call = self._spans[cut.call]
        return self._above[at] == call.raw.span_id or (span.kind is Kind.LLM and _began(span) < call.raw.end)

    def _join(self, at: int) -> None:
        """Let no section begin after this position."""
        while self._cuts[-1].at > at:
            self._cuts.pop()

    def _section(self, run: StartedRun) -> int:
        """Which one began last before the run did."""
        return bisect_right(self._cuts, _began(run.span), 1, key=lambda cut: _began(self._spans[cut.call])) - 1

    def _tie(self, run: StartedRun, above: str | None) -> None:
        """Let all by which the turn of a started run is found be of one section."""
        if not self._is_outermost(above) and above not in self._place:
            self._cuts = [_FIRST]
        ties = (run.span.raw.span_id, run.asked_by, above or "", (run.span.tool_call_id,))
        places = [self._cuts[self._section(run)].at, *(self._place[i] for i in ties if i in self._place)]
        first, last = min(places), max(places)
        if first < last:
            self._cuts = [cut for cut in self._cuts if not first < cut.at <= last]


_FIRST: Final = _Cut(0, 0)


def _began(span: NormalizedSpan) -> int:
    return time_key(span)[0]
