"""Spans of a sub-agent that stand in the run which started it: the sub-agent's later calls, beside it.

Frameworks lose the context between a sub-agent's steps, so that what it does next hangs below its manager. In the
sub-agent's time, this tells whose a span is. A tool's: the id of the call, the agent that it states, then a request of
the same name, with its arguments if several have it. A call of the model's: the agent that it states; the instructions
and the task that it was sent, if one run's calls had the same; where those of one side are not recorded, that the
manager waits for a tool in which this sub-agent alone is at work. What else stands there is the manager's own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .names import canonical
from .open_requests import OpenRequests
from .ownership import Ownership, is_below, parents_first
from .span_tree import SpanTree, ended

_ACTS: Final = frozenset({Kind.LLM, Kind.TOOL})
_MOST_AT_WORK: Final = 8  # sub-agents at one time, beyond which nobody looks whose a span is

_Task = tuple[str, str]


@dataclass(slots=True)
class _Run:
    """What is known of a run so far. `ends`, `waited_for`: of its span, and whether a tool of its manager holds it."""

    ends: int = 0
    waited_for: bool = False
    names: set[str] = field(default_factory=set)
    tasks: set[_Task] = field(default_factory=set)
    calls: int = 0


def return_escaped(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with such spans, and what is below them, in the runs of the sub-agents."""
    above, owner = ownership.runs, ownership.owner
    starting = {run for run in above if above[run] and run in tree.spans and tree.spans[run].kind is Kind.AGENT}
    if not starting:
        return ownership
    sweep, found = _Sweep(tree, ownership), dict[str, str]()
    for span in tree.by_time:
        run = owner[span.raw.span_id]
        if span.raw.span_id in starting:
            sweep.begin(span)
        if run and span.kind in _ACTS and span.raw.span_id not in above:
            home = sweep.home(span, run)
            sweep.add(span, home)
            if home != run:
                found[span.raw.span_id] = home
    return _given(tree, ownership, found) if found else ownership


def _given(tree: SpanTree, ownership: Ownership, found: dict[str, str]) -> Ownership:
    """The same ownership with the spans `found`, and what is below them, in those runs."""
    above, owner = ownership.runs, ownership.owner
    owners, runs = dict(owner), dict(above)
    for span in tree.order:
        span_id, before = span.raw.span_id, tree.parent.get(span.raw.span_id, "")
        if before in found and span_id not in found and owner[span_id] == owner[before]:
            found[span_id] = found[before]
        if span_id in found:
            owners[span_id] = found[span_id]
        elif span_id in above and before in found and not is_below(found[before], span_id, runs):
            runs[span_id] = found[before]
    return replace(ownership, owner=owners, runs=parents_first(runs))


class _Sweep:
    """The runs of a trace as its spans show them in order of time."""

    def __init__(self, tree: SpanTree, ownership: Ownership) -> None:
        self._tree, self._above, self._owner = tree, ownership.runs, ownership.owner
        self._requests = OpenRequests()
        self._runs: defaultdict[str, _Run] = defaultdict(_Run)
        self._below: defaultdict[str, list[str]] = defaultdict(list)  # sub-agents that have begun, the latest last

    def begin(self, agent: NormalizedSpan) -> None:
        """A sub-agent's own span."""
        run = agent.raw.span_id
        known, manager = self._runs[run], self._above[run]
        known.ends = ended(agent)
        known.names.add(canonical(agent.agent_name))
        around = (self._tree.spans[i] for i in self._tree.ancestors(run) if self._owner[i] == manager)
        known.waited_for = any(span.kind is Kind.TOOL for span in around)
        seen = {run}
        while manager and manager not in seen:
            seen.add(manager)
            self._below[manager].append(run)
            manager = self._above.get(manager, "")

    def add(self, span: NormalizedSpan, run: str) -> None:
        """Enter a call of the model or a tool."""
        known = self._runs[run]
        known.names.add(canonical(span.agent_name or span.agent_hint))
        if span.kind is Kind.TOOL:
            self._requests.given(span, run)
            return
        self._requests.add(span, run)
        known.calls += 1
        if task := _task(span):
            known.tasks.add(task)

    def home(self, span: NormalizedSpan, run: str) -> str:
        """The run of a sub-agent that the span is of, else `run`, in which it stands."""
        if run not in self._below or not (at_work := self._at_work(run, span.raw.start)):
            return run
        if span.kind is Kind.TOOL and (asked := self._requests.with_id(span)):
            holders = {one.holder for one in asked}
            return holders.pop() if len(holders) == 1 and holders <= set(at_work) else run
        if stated := canonical(span.agent_name or span.agent_hint):
            named = [c for c in at_work if stated in self._runs[c].names]
            if stated in self._runs[run].names or named:
                return named[0] if len(named) == 1 and stated not in self._runs[run].names else run
        if span.kind is Kind.TOOL:
            return self._requests.holder_by_content(span, lambda one: one.holder in (run, *at_work)) or run
        return self._of_call(span, run, at_work)

    def _of_call(self, call: NormalizedSpan, run: str, at_work: list[str]) -> str:
        task, own = _task(call), self._runs[run]
        if task and own.calls and task in own.tasks:
            return run
        told = [c for c in at_work if task and task in self._runs[c].tasks]
        if told:
            return told[0] if len(told) == 1 else run
        inner = [c for c in at_work if not any(o != c and is_below(o, c, self._above) for o in at_work)]
        known = self._runs[inner[0]]
        unknown = not (task and known.tasks)  # one of both tells no task
        waits = known.waited_for and known.ends > call.raw.start  # at its very end the manager goes on
        return inner[0] if len(inner) == 1 and waits and unknown and own.calls else run

    def _at_work(self, run: str, time: int) -> list[str]:
        """The sub-agents below the run in whose time this is; () for too many."""
        found = self._below[run] = [c for c in self._below[run] if self._runs[c].ends >= time]
        return found if len(found) <= _MOST_AT_WORK else []


def _task(call: NormalizedSpan) -> _Task | None:
    """The instructions and the first words of a user that a call was sent, None where these are not recorded."""
    system = "\n".join(m.text for m in call.input_messages[:2] if m.role in ("system", "developer"))
    asked = next((m.text for m in call.input_messages if m.role == "user" and m.text), "")
    return (system, asked) if asked else None
