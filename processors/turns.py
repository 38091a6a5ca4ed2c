"""A run's spans to turns: one LLM call and what it caused."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..schemas.normalized import Kind, NormalizedSpan
from .span_tree import SpanTree, time_key

_REACH: Final = 4  # levels of wrappers between an LLM call and the actions that it caused


@dataclass(slots=True)
class TurnSpans:
    """One turn in the making. `calls`: TOOL spans; `agents`: AGENT spans started here; `wrappers`: all others."""

    llm: NormalizedSpan | None
    inner: bool = False
    calls: list[NormalizedSpan] = field(default_factory=list)
    agents: list[NormalizedSpan] = field(default_factory=list)
    wrappers: list[NormalizedSpan] = field(default_factory=list)

    @property
    def start(self) -> tuple[int, int, str]:
        """Order in time: by the LLM call, else by the first action."""
        return time_key(self.llm) if self.llm else min(time_key(s) for s in self.calls or self.agents)


def group_turns(
    run_id: str, own: Sequence[NormalizedSpan], started: Sequence[NormalizedSpan], tree: SpanTree
) -> list[TurnSpans]:
    """The turns of run `run_id` in order of time.

    `own`: the run's spans in tree order without its AGENT span; `started`: AGENT spans of runs right below it.
    """
    grouper = _Grouper(run_id, tree)
    for span in own:
        if span.kind is Kind.LLM or span.kind is Kind.PLAN:
            grouper.add_llm(span)
    grouper.index()
    for span in own:
        if span.kind is Kind.TOOL:
            grouper.turn_of(span).calls.append(span)
    for span in started:
        grouper.turn_of(span).agents.append(span)
    grouper.add_wrappers(own)
    return sorted(grouper.turns, key=lambda t: t.start)


class _Grouper:
    def __init__(self, run_id: str, tree: SpanTree) -> None:
        self._run = run_id
        self._tree = tree
        self._by_llm: dict[str, TurnSpans] = {}
        self._by_scope: dict[str, list[TurnSpans]] = {}
        self._by_call_id: dict[str, TurnSpans] = {}
        self._acting: list[TurnSpans] = []
        self._loose: TurnSpans | None = None
        self._by_action: dict[str, TurnSpans] = {}
        self.turns: list[TurnSpans] = []

    def _above(self, span_id: str) -> list[str]:
        """Up to `_REACH` ancestors inside the run, nearest first."""
        found: list[str] = []
        for ancestor in self._tree.ancestors(span_id):
            if ancestor == self._run or len(found) == _REACH:
                break
            found.append(ancestor)
        return found

    def add_llm(self, span: NormalizedSpan) -> None:
        above = self._above(span.raw.span_id)
        for ancestor in above:
            if ancestor in self._by_llm:  # the same call, recorded by two instrumentations
                turn = self._by_llm[ancestor]
                turn.wrappers.append(span)
                self._by_llm[span.raw.span_id] = turn
                return
        inner = any(self._tree.spans[a].kind is Kind.TOOL for a in above)
        turn = TurnSpans(span, inner)
        self.turns.append(turn)
        self._by_llm[span.raw.span_id] = turn
        if inner:
            return
        self._acting.append(turn)
        for ancestor in above:
            self._by_scope.setdefault(ancestor, []).append(turn)
        for message in span.output_messages:
            for request in message.tool_requests:
                if request.call_id:
                    self._by_call_id.setdefault(request.call_id, turn)

    def index(self) -> None:
        for turns in (self._acting, *self._by_scope.values()):
            turns.sort(key=lambda t: t.start)

    def turn_of(self, action: NormalizedSpan) -> TurnSpans:
        turn = self._find(action) or self._without_llm()
        self._by_action[action.raw.span_id] = turn
        return turn

    def _find(self, action: NormalizedSpan) -> TurnSpans | None:
        if action.tool_call_id and action.tool_call_id in self._by_call_id:
            return self._by_call_id[action.tool_call_id]
        for ancestor in self._above(action.raw.span_id):
            if ancestor in self._by_action:
                return self._by_action[ancestor]
            if ancestor in self._by_llm:
                return self._by_llm[ancestor]
            if ancestor in self._by_scope:
                turn = _latest_before(self._by_scope[ancestor], action)
                if turn is not None:
                    return turn
        return _latest_before(self._acting, action)

    def _without_llm(self) -> TurnSpans:
        if self._loose is None:
            self._loose = TurnSpans(None)
            self.turns.append(self._loose)
        return self._loose

    def add_wrappers(self, own: Sequence[NormalizedSpan]) -> None:
        """Give each other span to the one turn that it holds, else to the one that it stands in."""
        held: dict[str, TurnSpans | None] = {}
        for span in reversed(own):
            turn = self._by_llm.get(span.raw.span_id) or self._by_action.get(span.raw.span_id)
            turn = turn or held.get(span.raw.span_id)
            parent = self._tree.parent.get(span.raw.span_id)
            if turn is None and span.raw.span_id not in held:
                continue
            if parent is not None and parent != self._run:
                held[parent] = turn if held.get(parent, turn) is turn else None
        for span in own:
            if span.kind in (Kind.LLM, Kind.TOOL, Kind.PLAN):
                continue
            turn = held.get(span.raw.span_id)
            if turn is None and span.raw.span_id not in held:
                turn = self._find(span)
            if turn is not None:
                turn.wrappers.append(span)


def _latest_before(turns: Sequence[TurnSpans], action: NormalizedSpan) -> TurnSpans | None:
    """The last turn whose LLM call began no later than `action`; `turns` in order of time."""
    at = bisect_right(turns, action.raw.start, key=lambda t: t.start[0])
    return turns[at - 1] if at else None
