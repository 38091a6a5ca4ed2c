"""A run's spans to turns: one LLM call and what it caused.

An action is of the call that requested its id, else of the turn of what is above it, else of the call before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .doubles import are_doubles, goes_on_from, is_same_call
from .retrieval import as_call
from .run_spans import SubRunStart, TurnSpans
from .span_tree import SpanTree, time_key

_RETRIEVING: Final = frozenset({Kind.TOOL, Kind.RETRIEVER, Kind.LLM})
_REACH: Final = 5  # levels of wrappers between an LLM call and the actions that it caused


def group_turns(
    run_id: str, own: Sequence[NormalizedSpan], started: Sequence[SubRunStart], tree: SpanTree
) -> list[TurnSpans]:
    """The turns of run `run_id` in order of time.

    `own`: the run's spans in tree order without its AGENT span; `started`: the runs right below it.
    """
    grouper = _Grouper(run_id, tree)
    for span in own:
        if span.kind is Kind.LLM:
            grouper.add_llm(span)
    for span in own:
        if span.kind is Kind.PLAN:
            grouper.add_plan(span)
    for span in own:
        if span.kind is Kind.TOOL:
            grouper.add_call(span)
        elif span.kind is Kind.RETRIEVER:
            grouper.add_retrieval(span)
    for run in started:
        grouper.add_run(run)
    grouper.add_wrappers(own)
    return sorted(grouper.turns, key=lambda t: t.start)


class _Grouper:
    def __init__(self, run_id: str, tree: SpanTree) -> None:
        self._run = run_id
        self._tree = tree
        self._by_llm: dict[str, TurnSpans] = {}
        self._by_action: dict[str, TurnSpans] = {}
        self._by_scope: dict[str, list[TurnSpans]] = {}
        self._by_call_id: dict[str, list[TurnSpans]] = {}  # several: some clients number each reply's calls anew
        self._acting: list[TurnSpans] = []
        self._starts: dict[int, list[int]] = {}  # by list of turns, once that is sorted
        self._latest: dict[tuple[Kind, str], NormalizedSpan] = {}
        self.turns: list[TurnSpans] = []

    def _above(self, span: NormalizedSpan) -> list[str]:
        """Ancestors inside the run and within reach, nearest first."""
        found: list[str] = []
        above = self._tree.parent.get(span.raw.span_id)
        while above is not None and len(found) < _REACH and (above != self._run or above in self._by_llm):
            found.append(above)
            above = self._tree.parent.get(above)
        return found

    def add_llm(self, span: NormalizedSpan) -> None:
        """A turn of its own, unless an LLM span beside or around it recorded the same call."""
        place = (Kind.LLM, span.raw.parent_span_id)
        before, self._latest[place] = self._latest.get(place), span
        if before is not None and are_doubles(before, span):
            self._add_twin(self._by_llm[before.raw.span_id], span)
            return
        scopes = []
        inner = False
        for ancestor in self._above(span):
            if ancestor in self._by_llm:
                if not goes_on_from(self._tree.spans[ancestor], span):
                    self._add_twin(self._by_llm[ancestor], span)
                    return
                inner = self._by_llm[ancestor].inner  # a call of its own, put below the one before it
                break
            if self._tree.spans[ancestor].kind is Kind.TOOL:
                inner = True
                break
            scopes.append(ancestor)
        turn = self._open(span, inner=inner)
        for scope in scopes:
            self._by_scope.setdefault(scope, []).append(turn)

    def _open(self, span: NormalizedSpan, *, inner: bool = False) -> TurnSpans:
        turn = TurnSpans(span, inner)
        self.turns.append(turn)
        self._by_llm[span.raw.span_id] = turn
        if not inner:
            self._acting.append(turn)
            self._index_requests(turn, span)
        return turn

    def _index_requests(self, turn: TurnSpans, span: NormalizedSpan) -> None:
        for request in span.tool_requests:
            if request.call_id:
                self._by_call_id.setdefault(request.call_id, []).append(turn)

    def _add_twin(self, turn: TurnSpans, span: NormalizedSpan) -> None:
        """Of two records of one call, the one that says more of the reply, or what was sent, counts, else the outer."""
        self._by_llm[span.raw.span_id] = turn
        outer = turn.llm
        if outer is None or _says(outer) >= _says(span):
            turn.wrappers.append(span)
            return
        turn.llm = span
        turn.wrappers.append(outer)
        if not turn.inner:
            self._index_requests(turn, span)

    def add_plan(self, span: NormalizedSpan) -> None:
        """A planning span labels the LLM calls that it holds; without any it is the call."""
        held = self._by_scope.get(span.raw.span_id)
        if held is None:
            self._open(span).planned = True
        for turn in held or ():
            turn.planned = True

    def add_call(self, span: NormalizedSpan) -> None:
        """A call of the turn that caused it, unless it is inside a TOOL span of the same call, or its double."""
        for ancestor in self._above(span):
            if ancestor in self._by_llm:
                break
            outer = self._tree.spans[ancestor]
            if outer.kind is Kind.TOOL and ancestor in self._by_action:
                turn = self._by_action[span.raw.span_id] = self._by_action[ancestor]
                if not is_same_call(outer, span):
                    turn.calls.append(span)
                else:
                    turn.wrappers.append(span)
                    turn.twins.setdefault(ancestor, span)
                return
        before = self._latest.get((Kind.TOOL, span.raw.parent_span_id))
        if before is not None and are_doubles(before, span):
            turn = self._by_action[span.raw.span_id] = self._by_action[before.raw.span_id]
            turn.wrappers.append(span)
            turn.twins.setdefault(before.raw.span_id, span)
            return
        self._latest[Kind.TOOL, span.raw.parent_span_id] = span
        self._turn_of(span).calls.append(span)

    def add_retrieval(self, span: NormalizedSpan) -> None:
        """A call of its own, unless a tool or another retriever did it, or an LLM call that has its documents."""
        above = (self._tree.spans[a].kind for a in self._above(span))
        if not any(kind in _RETRIEVING for kind in above):
            if self._acting and self._find(span) is None:  # what was looked up before the first call is for that call
                self._by_action[span.raw.span_id] = min(self._acting, key=lambda turn: turn.start)
            turn = self._by_action.get(span.raw.span_id) or self._turn_of(span)
            turn.calls.append(as_call(span))

    def add_run(self, run: SubRunStart) -> None:
        """A run started by the turn that holds its AGENT span, or that asked for it."""
        turn = self._by_llm.get(run.asked_by) or self._by_action.get(run.span.raw.span_id) or self._turn_of(run.span)
        turn.agents[run.id] = run.span

    def _turn_of(self, action: NormalizedSpan) -> TurnSpans:
        """The turn that caused `action`; one without an LLM call where none can have."""
        turn = self._find(action)
        if turn is None:
            turn = TurnSpans(None)
            self.turns.append(turn)
        self._by_action[action.raw.span_id] = turn
        return turn

    def _find(self, span: NormalizedSpan) -> TurnSpans | None:
        asking = self._by_call_id.get(span.tool_call_id) if span.tool_call_id else None
        if asking:
            return asking[0] if len(asking) == 1 else self._latest_before(asking, span) or asking[0]
        for ancestor in self._above(span):
            turn = self._by_action.get(ancestor) or self._by_llm.get(ancestor)
            if turn is None and ancestor in self._by_scope:
                turn = self._latest_before(self._by_scope[ancestor], span)
            if turn is not None:
                return turn
        return self._latest_before(self._acting, span)

    def _latest_before(self, turns: list[TurnSpans], span: NormalizedSpan) -> TurnSpans | None:
        """The last turn whose LLM call began no later than `span`, once all LLM calls have their turns."""
        starts = self._starts.get(id(turns))
        if starts is None:
            turns.sort(key=lambda t: t.start)
            starts = self._starts[id(turns)] = [t.start[0] for t in turns]
        at = bisect_right(starts, time_key(span)[0])
        return turns[at - 1] if at else None

    def add_wrappers(self, own: Sequence[NormalizedSpan]) -> None:
        """Give each other span to the one turn that it holds, else to the one that holds it."""
        held: dict[str, TurnSpans | None] = {}  # None: spans of several turns
        stepping: set[str] = set()  # spans that hold an LLM call
        for span in reversed(own):
            span_id = span.raw.span_id
            turn = self._by_llm.get(span_id) or self._by_action.get(span_id) or held.get(span_id)
            parent = self._tree.parent.get(span_id)
            if parent is None or (turn is None and span_id not in held):
                continue
            held[parent] = turn if held.get(parent, turn) is turn else None
            if span_id in stepping or (span_id in self._by_llm and turn is not None and not turn.inner):
                stepping.add(parent)
        for span in own:
            span_id = span.raw.span_id
            if span_id in self._by_llm or span_id in self._by_action:
                continue
            turn = held[span_id] if span_id in held else self._find(span)
            if turn is not None:
                turn.wrappers.append(span)
                if span_id in stepping:
                    turn.steps.append(span)


def _says(llm: NormalizedSpan) -> tuple[bool, bool, bool, bool]:
    """Completeness of a call's record: a reply, words in it, what was sent, the tools that were given."""
    replies = llm.output_messages
    return bool(replies), any(m.text for m in replies), bool(llm.input_messages), bool(llm.tools)
