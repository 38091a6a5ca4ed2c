"""Normalised spans to a trace: agent runs, turns, tool calls, plans, goal and answer.

Pure: the same set of spans gives the same trace, in whatever order they come, at once or bit by bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState

from .exchanges import find_exchanges
from .names import canonical
from .ownership import LeavesNeededError, Ownership, assign_owners
from .roles import find_roles
from .run_skeletons import RunSkeleton, Skeletons
from .runs import RunBuilder
from .span_index import SpanIndex
from .span_order import in_tree_order
from .span_tree import SpanTree, build_tree, time_key


def rebuild(spans: Iterable[NormalizedSpan], *, state: TraceState = TraceState.SETTLED) -> Trace:
    """The trace that `spans` (all of one trace id) show so far."""
    return Rebuilder().rebuild(spans, state=state)


@dataclass(frozen=True, slots=True)
class _Outline:
    """All that follows from the spans alone, whatever the trace's state. `tree`: of all spans, leaves too."""

    version: int
    tree: SpanTree
    ownership: Ownership
    skeletons: dict[str, RunSkeleton]
    remainder: tuple[NormalizedSpan, ...]
    trace_id: str
    tenant: str
    service: str
    session_id: str
    conventions: tuple[str, ...]


class Rebuilder:
    """Rebuilds a trace that grows. A run or turn in which nothing changed is the same object as at the pass before."""

    def __init__(self) -> None:
        self._index = SpanIndex()
        self._outlined: _Outline | None = None
        self._skeletons, self._builder = Skeletons(), RunBuilder()

    def rebuild(self, spans: Iterable[NormalizedSpan], *, state: TraceState = TraceState.SETTLED) -> Trace:
        """The trace that all of `spans` show so far: those of the last pass, as they are now, and new ones."""
        given = list(spans)
        if not self._index.update(given):
            self._index, self._outlined = SpanIndex(), None
            self._index.update(given)
        index = self._index
        if self._outlined is None or self._outlined.version != index.version:
            self._outlined = self._outline()
        outlined = self._outlined
        parts = (outlined.tree, outlined.ownership, outlined.skeletons)
        runs = self._builder.build(*parts, state, shows_tools=index.tools > 0)
        return Trace(
            trace_id=outlined.trace_id,
            tenant=outlined.tenant,
            service=outlined.service,
            session_id=outlined.session_id,
            state=_ended(state, runs),
            runs=runs,
            spans=outlined.tree.spans,
            remainder=outlined.remainder,
            conventions=outlined.conventions,
            start=index.start if given else 0,
            end=index.end if given else 0,
            received_through=index.received,
            exchanges=find_exchanges(runs),
        )

    def _outline(self) -> _Outline:
        index = self._index
        tree, ownership = self._owned()
        whole = replace(tree, spans={**tree.spans, **index.leaves.spans}, parent={**index.leaves.parent, **tree.parent})
        first, order = next(iter(tree.order), None), _Order(index, tree)
        return _Outline(
            version=index.version,
            tree=whole,
            ownership=ownership,
            skeletons=self._skeletons.build(index, tree, whole, ownership),
            remainder=_remainder(index, tree, ownership),
            trace_id=first.raw.trace_id if first else "",
            tenant=first.raw.tenant if first else "",
            service=order.first(lambda s: s.raw.service),
            session_id=order.first(lambda s: s.session_id) if index.sessions else "",
            conventions=order.conventions(),
        )

    def _owned(self) -> tuple[SpanTree, Ownership]:
        """The tree without leaves, with the kinds that its spans' places show, and the runs that they belong to."""
        while True:
            roles = find_roles(build_tree(self._index.structure))
            if self._index.name(canonical(s.agent_name) for s in roles.tree.order if s.kind is Kind.AGENT):
                continue
            try:
                return roles.tree, assign_owners(self._index, roles.tree, roles.tool_runs)
            except LeavesNeededError as needed:
                self._index.keep_all(needed.holders)


class _Order:
    """All spans in the order of the whole tree, made where it decides."""

    def __init__(self, index: SpanIndex, tree: SpanTree) -> None:
        self._index, self._tree = index, tree

    @cached_property
    def _spans(self) -> list[NormalizedSpan]:
        return in_tree_order(self._tree, self._tree.order, self._index.leaves.groups)

    def first(self, text: Callable[[NormalizedSpan], str]) -> str:
        """The text of the first span that has it, "" for none."""
        found = next(map(text, self._tree.order), "")
        return found or next(filter(None, map(text, self._spans)), "")

    def conventions(self) -> tuple[str, ...]:
        """Those recognised, most frequent first; of equally frequent ones the one that a span has first."""
        counted = {name: count for name, count in self._index.conventions.items() if name and count > 0}
        if len(set(counted.values())) < len(counted):
            counted = Counter(s.convention for s in self._spans if s.convention)
        return tuple(sorted(counted, key=lambda name: -counted[name]))


def _remainder(index: SpanIndex, tree: SpanTree, ownership: Ownership) -> tuple[NormalizedSpan, ...]:
    free = [span for span in tree.order if not ownership.owner[span.raw.span_id]]
    free += [leaf for span in free for leaf in index.leaves.of(span.raw.span_id)]
    return tuple(sorted(free, key=time_key))


def _ended(state: TraceState, runs: Iterable[AgentRun]) -> TraceState:
    """The state of a settled trace tells whether nothing above a failed run could go on."""
    failed = any(run.status == "error" and not run.parent_id for run in runs)
    return TraceState.FAILED if failed and state is TraceState.SETTLED else state
