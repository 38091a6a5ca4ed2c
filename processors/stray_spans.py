"""Spans of tools that came loose from the run that called them: roots, or under a parent that is no part of it.

Threads and other processes lose the context, so that a tool's span is a root of the agent's trace. In this order, what
tells whose call it is: the id of the call; the agent that the span states; a request of the same name and arguments,
then of the same name, that has no span yet; code in a reply that calls the tool; the only run at work at that time.
Where two runs would do, nobody gets the span.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan, ToolRequest

from .code import calls_function
from .inferred import CALLS, unclaimed
from .names import canonical, same_name
from .normalize.values import as_text
from .ownership import Ownership, is_below, parents_first
from .span_tree import SpanTree, time_key

_MOST_AT_WORK: Final = 8  # runs at one time, beyond which nobody looks whose a span is
_MOST_RUNS: Final = 1024  # begun before a span, beyond which time tells nothing
_REACH: Final = 64  # levels between a tool's span and a run below it
_NEVER: Final = 1 << 63


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
    if not all(ownership.owner.values()):
        yield from unclaimed(tree, ownership)
    missing = {run for run in ownership.runs if run not in tree.spans}
    if missing and len(ownership.runs) > 1:
        missing -= {ownership.owner[s.raw.span_id] for s in tree.order if s.kind is not Kind.TOOL}
        roots = (tree.spans[i] for i in tree.orphans)
        yield from (root for root in roots if ownership.owner[root.raw.span_id] in missing)


@dataclass(slots=True)
class _Request:
    """A request of a run's model. `taken`: a span shows its execution."""

    run: str
    request: ToolRequest
    at: int
    taken: bool = False


@dataclass(slots=True)
class _Times:
    """When a run was at work."""

    start: int = _NEVER
    end: int = 0
    agent: set[str] = field(default_factory=set)
    hints: set[str] = field(default_factory=set)


class _Callers:
    """What the runs of a trace asked for, and when they were at work."""

    def __init__(self, tree: SpanTree, ownership: Ownership) -> None:
        self._above = ownership.runs
        self._by_id: defaultdict[str, list[_Request]] = defaultdict(list)
        self._by_name: defaultdict[str, list[_Request]] = defaultdict(list)
        self._replies: list[tuple[int, str, str]] = []
        self._times: dict[str, _Times] = {run: _Times() for run in ownership.runs}
        executed: list[tuple[str, NormalizedSpan]] = []
        for span in tree.by_time:
            run = ownership.owner[span.raw.span_id]
            if run not in self._times:
                continue
            self._note(span, run)
            if span.kind is Kind.LLM:
                for request in span.tool_requests:
                    one = _Request(run, request, span.raw.start)
                    self._by_name[canonical(request.name)].append(one)
                    if request.call_id:
                        self._by_id[request.call_id].append(one)
                if not span.tool_requests and ("```" in span.output or "<code>" in span.output):
                    self._replies.append((span.raw.start, run, span.output))
            elif span.kind is Kind.TOOL:
                executed.append((run, span))
        for run, span in executed:
            self._given(span, run)
        self._spans = sorted((t.start, run) for run, t in self._times.items())

    def _note(self, span: NormalizedSpan, run: str) -> None:
        raw, times = span.raw, self._times[run]
        times.start = min(times.start, raw.start or raw.end)
        times.end = max(times.end, _NEVER if raw.pending else raw.end)
        if span.run_hint:
            times.hints.add(span.run_hint)
        if name := canonical(span.agent_name or span.agent_hint):
            times.agent.add(name)

    def of(self, span: NormalizedSpan) -> str:
        """The run that called a stray span, "" where that is not certain."""
        if span.tool_call_id and (asked := self._by_id.get(span.tool_call_id)):
            free = [one for one in asked if not one.taken and same_name(one.request.name, span.tool_name)]
            return self._take(free)
        at_work = self._at_work(span)
        stated = [run for run in at_work if self._states(span, run)]
        if len(stated) == 1:
            return self._given(span, stated[0])
        rules: tuple[Callable[[_Request], bool], ...] = (
            lambda one: as_text(one.request.arguments) == as_text(span.tool_arguments),
            lambda _: True,
        )
        for fits in rules:
            if asked := [one for one in self._open(span) if one.at <= span.raw.start and fits(one)]:
                return self._take(asked)
        called = {run for at, run, text in self._recent(span) if calls_function(text, span.tool_name)}
        if called:
            return called.pop() if len(called) == 1 else ""
        return at_work[0] if len(at_work) == 1 else ""

    def _states(self, span: NormalizedSpan, run: str) -> bool:
        name = canonical(span.agent_name or span.agent_hint)
        times = self._times[run]
        return (bool(name) and name in times.agent) or (bool(span.run_hint) and span.run_hint in times.hints)

    def _given(self, span: NormalizedSpan, run: str) -> str:
        asked = self._open(span, run)
        if asked:
            asked[0].taken = True
        return run

    def _open(self, span: NormalizedSpan, run: str = "") -> list[_Request]:
        """Requests that the execution may be of: without a span, of its name, of no other call's id.

        `run`: of this run alone.
        """
        call_id = span.tool_call_id
        if call_id and call_id in self._by_id:
            return [one for one in self._by_id[call_id] if not one.taken and run in ("", one.run)]
        return [
            one
            for one in self._by_name.get(canonical(span.tool_name), ())
            if not one.taken and not (call_id and one.request.call_id) and run in ("", one.run)
        ]

    def _take(self, asked: list[_Request]) -> str:
        """The run of the first request, if all are of one run."""
        if not asked or any(one.run != asked[0].run for one in asked):
            return ""
        asked[0].taken = True
        return asked[0].run

    def _recent(self, span: NormalizedSpan) -> list[tuple[int, str, str]]:
        """The last reply in code of each run before the span, as far as it is one of the last few of all."""
        at = bisect_right(self._replies, span.raw.start, key=lambda reply: reply[0])
        latest = {run: (begun, run, text) for begun, run, text in self._replies[max(0, at - _MOST_AT_WORK) : at]}
        return list(latest.values())

    def _at_work(self, span: NormalizedSpan) -> list[str]:
        """The runs in whose time the span began, without those that wait for another of them; () for too many."""
        at = bisect_right(self._spans, span.raw.start, key=lambda one: one[0])
        found: list[str] = []
        if at > _MOST_RUNS:
            return found
        for _, run in reversed(self._spans[:at]):
            if self._times[run].end >= span.raw.start:
                found.append(run)
                if len(found) > _MOST_AT_WORK:
                    return []
        return [r for r in found if not any(o != r and is_below(o, r, self._above) for o in found)]
