"""Spans of tools that came loose from the run that called them: roots, or under a parent that is no part of it.

Threads and other processes lose the context, so that a tool's span is a root of the agent's trace. In this order, what
tells whose call it is: the id of the call; the agent that the span states; a request of the same name and arguments,
then of the same name, that has no span yet; code in a reply that calls the tool; the only run at work at that time.
Where two runs would do, nobody gets the span.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .code import caller_in_code, writes_code
from .inferred import CALLS, unclaimed
from .names import canonical
from .open_requests import OpenRequests, free_of_name, take
from .ownership import Ownership, is_below, parents_first
from .span_tree import SpanTree, extent, time_key

_MOST_AT_WORK: Final = 8  # runs at one time, beyond which nobody looks whose a span is
_MOST_RUNS: Final = 1024  # begun before a span, beyond which time tells nothing
_REACH: Final = 64  # levels between a tool's span and a run below it


def bring_home(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with such spans, and what is below them, in the runs that called them."""
    if not ownership.runs:
        return ownership
    strays = [s for s in _strays(tree, ownership) if s.kind in CALLS and s.kind is not Kind.LLM]
    if not strays:
        return ownership
    callers = _Callers(tree, ownership)
    found: dict[str, str] = {}
    for stray in sorted(strays, key=time_key):
        span_id, run = stray.raw.span_id, callers.of(stray)
        around = run == span_id or span_id in islice(tree.ancestors(run), _REACH)
        own = ownership.owner[span_id]
        if run and not around and not (own and is_below(run, own, ownership.runs)):
            found[span_id] = run
    if not found:
        return ownership
    owner, dissolved = dict(ownership.owner), dict[str, str]()
    for span in tree.order:
        span_id = span.raw.span_id
        above = tree.parent.get(span_id, "")
        if span_id in found or (above in found and owner[span_id] == ownership.owner[above]):
            found.setdefault(span_id, found.get(above, ""))
            dissolved.setdefault(owner[span_id], found[span_id])
            owner[span_id] = found[span_id]
    left = {"", *owner.values()}
    runs = dict(ownership.runs)
    for run in ownership.runs:
        caller = found.get(tree.parent.get(run, ""), "")
        if caller and not is_below(caller, run, runs):
            runs[run] = caller
    result = replace(ownership, owner=owner, runs=parents_first(runs))
    return result.related({}, {run: home for run, home in dissolved.items() if run not in left})


def _strays(tree: SpanTree, ownership: Ownership) -> Iterable[NormalizedSpan]:
    """The outermost calls without a run, and tools that a missing parent alone makes one."""
    yield from unclaimed(tree, ownership)
    missing = {run for run in ownership.runs if run not in tree.spans}
    if missing and len(ownership.runs) > 1:
        missing -= {ownership.owner[s.raw.span_id] for s in tree.order if s.kind is not Kind.TOOL}
        roots = (tree.spans[i] for i in tree.orphans)
        yield from (root for root in roots if ownership.owner[root.raw.span_id] in missing)


@dataclass(frozen=True, slots=True)
class _Work:
    """When a run was at work, and what its spans state: names of agents and ids of runs."""

    start: int
    end: int
    agents: set[str]
    hints: set[str]


class _Callers:
    """What the runs of a trace asked for, and when they were at work."""

    def __init__(self, tree: SpanTree, ownership: Ownership) -> None:
        self._above = ownership.runs
        self._requests = OpenRequests()
        self._replies: list[tuple[int, str, str]] = []
        own: dict[str, list[NormalizedSpan]] = {run: [] for run in ownership.runs}
        executed: list[tuple[str, NormalizedSpan]] = []
        for span in tree.by_time:
            run = ownership.owner[span.raw.span_id]
            if run not in own:
                continue
            own[run].append(span)
            if span.kind is Kind.LLM:
                self._requests.add(span, run)
                if writes_code(span):
                    self._replies.append((span.raw.start, run, span.output))
            elif span.kind is Kind.TOOL:
                executed.append((run, span))
        for run, span in executed:
            self._requests.given(span, run)
        self._work = {
            run: _Work(
                *extent(spans),
                agents={canonical(s.agent_name or s.agent_hint) for s in spans} - {""},
                hints={s.run_hint for s in spans} - {""},
            )
            for run, spans in own.items()
        }
        self._began = sorted((work.start, run) for run, work in self._work.items())

    def of(self, span: NormalizedSpan) -> str:
        """The run that called a stray span, "" where that is not certain."""
        if asked := self._requests.with_id(span):
            return take(free_of_name(asked, span))
        at_work = self._at_work(span)
        stated = [run for run in at_work if self._states(span, run)]
        if len(stated) == 1:
            return self._requests.given(span, stated[0])
        asking = self._requests.holder_by_content(span, lambda _: True)
        if asking is not None:
            return asking
        called = caller_in_code({run: text for _, run, text in self._recent(span)}, span)
        if called is not None:
            return called
        return at_work[0] if len(at_work) == 1 else ""

    def _states(self, span: NormalizedSpan, run: str) -> bool:
        work = self._work[run]
        return canonical(span.agent_name or span.agent_hint) in work.agents or span.run_hint in work.hints

    def _recent(self, span: NormalizedSpan) -> list[tuple[int, str, str]]:
        """The last reply in code of each run before the span, as far as it is one of the last few of all."""
        at = bisect_right(self._replies, span.raw.start, key=lambda reply: reply[0])
        latest = {run: (begun, run, text) for begun, run, text in self._replies[max(0, at - _MOST_AT_WORK) : at]}
        return list(latest.values())

    def _at_work(self, span: NormalizedSpan) -> list[str]:
        """The runs in whose time the span began, without those that wait for another of them; () for too many."""
        at = bisect_right(self._began, span.raw.start, key=lambda one: one[0])
        found: list[str] = []
        if at > _MOST_RUNS:
            return found
        for _, run in reversed(self._began[:at]):
            if self._work[run].end >= span.raw.start:
                found.append(run)
                if len(found) > _MOST_AT_WORK:
                    return []
        return [r for r in found if not any(o != r and is_below(o, r, self._above) for o in found)]
