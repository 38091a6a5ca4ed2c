"""The turns of one growing run: sections of it in which nothing changed keep theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracejury.schemas.normalized import NormalizedSpan

from .logged_arguments import add_logged_arguments
from .message_history import complete_histories
from .sections import LEAST_SPANS, RunSection, SectionFinder
from .span_tree import SpanTree
from .turn_spans import StartedRun, TurnSpans
from .turns import group_turns


@dataclass(frozen=True, slots=True)
class _Grouped:
    """The turns of a section; `before`: the agent's last call before it."""

    section: RunSection
    before: NormalizedSpan | None
    turns: list[TurnSpans]


class RunTurns:
    """Groups the spans of one run, pass by pass."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._finder: SectionFinder | None = None
        self._grown = False
        self._around: object = None
        self._known: dict[str, _Grouped] = {}

    def group(
        self,
        spans: list[NormalizedSpan],
        started: Sequence[StartedRun],
        around: Sequence[Sequence[NormalizedSpan]],
        tree: SpanTree,
    ) -> list[TurnSpans]:
        """The run's turns; `around`: spans outside the run that are above its own, `tree`: the whole one.

        A run is cut when it has grown, and where no log lines around it tell of all its tools.
        """
        if self._around != around:
            self._around, self._known = around, {}
        grown, self._grown = self._grown, True
        if not grown or len(spans) < 2 * LEAST_SPANS or any(span.log_text for way in around for span in way):
            return self._turns(RunSection(spans, [], list(started)), None, tree)
        if self._finder is None:
            self._finder = SectionFinder(self._run)
        sections = self._finder.cut(spans, started, tree)
        known, self._known = self._known, {}
        turns: list[TurnSpans] = []
        before: NormalizedSpan | None = None
        for section in sections:
            first = section.spans[0].raw.span_id
            grouped = known.get(first)
            if grouped is None or grouped.before is not before or grouped.section != section:
                grouped = _Grouped(section, before, self._turns(section, before, tree))
            if len(sections) > 1:  # else it may depend on more
                self._known[first] = grouped
            turns += grouped.turns
            before = next((t.llm for t in reversed(grouped.turns) if t.llm and not t.inner), before)
        return turns

    def _turns(self, section: RunSection, before: NormalizedSpan | None, tree: SpanTree) -> list[TurnSpans]:
        turns = group_turns(self._run, section.spans, section.started, tree)
        complete_histories(turns, before)
        add_logged_arguments(turns, tree)
        return turns
