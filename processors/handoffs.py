"""Agent runs that stand beside the one that started them: hand-offs, and sub-agents put under a common workflow.

The starter is the request or tool call that names the run. An agent that gets the conversation back continues its
earlier run.

Frameworks run the next agent under the workflow, so that no span is its parent; what joins the two is a request or a
tool span whose name (`transfer_to_researcher`, `researcher`) or argument (`{"agent_name": "researcher"}`) names it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .delegation import Address, addresses_of
from .names import canonical
from .ownership import Ownership, RunStart
from .span_tree import SpanTree, time_key

_LONGEST_LINE: Final = 64  # agents between one and the return to it


def join_handoffs(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with the runs that a run beside them started, or went on with.

    An agent that is handed the conversation back goes on: its later spans are of its earlier run, however many others
    came in between.
    """
    runs, owner = ownership.runs, ownership.owner
    agents = {r: span for r in runs if (span := tree.spans.get(r)) is not None and span.kind is Kind.AGENT}
    names = {r: canonical(span.agent_name) for r, span in agents.items() if span.agent_name}
    if len(names) < 2:  # noqa: PLR2004 - one hands over, one takes over
        return ownership
    tracker, addressed = _HandoffTracker(runs, names), {"", *names.values()}
    for span in tree.by_time:
        span_id = span.raw.span_id
        if span_id in names:
            tracker.begin(span_id)
        elif span.kind in _CALLS and (run := owner[span_id]):
            for address in addresses_of(span):
                tracker.call(span, address, tracker.adopted.get(run, run), run, known=address.to in addressed)
    for run, first in sorted(tracker.adopted.items(), key=lambda item: time_key(tree.spans[item[0]])):
        ownership.segments.setdefault(first, []).append(tree.spans[run])
    return ownership.related(tracker.started, tracker.adopted)


_CALLS: Final = frozenset({Kind.LLM, Kind.TOOL})


@dataclass(slots=True)
class _HandoffTracker:
    runs: Mapping[str, str]
    names: Mapping[str, str]
    started: dict[str, RunStart] = field(default_factory=dict)
    adopted: dict[str, str] = field(default_factory=dict)  # runs that continue another
    # Starts, and whether they hand over, by run above and canonical name ("": of whoever begins next).
    pending: dict[tuple[str, str], deque[tuple[RunStart, bool]]] = field(default_factory=dict)
    heard: set[tuple[str, str]] = field(default_factory=set)  # runs and the call ids of their requests
    requested: set[tuple[str, str]] = field(default_factory=set)
    asking: set[str] = field(default_factory=set)  # runs whose requests are recorded

    def call(self, span: NormalizedSpan, address: Address, run: str, part: str, *, known: bool) -> None:
        """Remember whom a call of `run` addresses; `part` is the run or the later part of it that made the call.

        `known`: there is an agent of that name, or none is named.
        """
        above = self.runs[part]
        if not address.to and not address.hands_over:
            return
        if span.kind is Kind.LLM:
            if address.call_id and (run, address.call_id) in self.heard:
                return  # a second record of the same call of the model
            self.heard.add((run, address.call_id))
            self.requested.add((run, address.to))
            self.asking.add(run)
            start = RunStart(run, span.raw.span_id, address.call_id, address.name)
        elif (run, address.to) in self.requested or (not address.to and run in self.asking):
            return  # the execution of a request that is known
        else:
            start = RunStart(run, "", span.raw.span_id, address.name)
        if known:
            self.pending.setdefault((above, address.to), deque()).append((start, address.hands_over))

    def begin(self, run: str) -> None:
        """Join the run with what asked for it."""
        above = self.runs[run]
        someone = self.pending.pop((above, ""), None)
        calls = self.pending.get((above, self.names[run])) or someone
        if not calls:
            return
        start, handoff = calls.popleft()
        if handoff:
            calls.clear()
        line = list(self._started_by(start.run))
        first = next((r for r in line if self.names.get(r) == self.names[run]), "")
        if run in line or (first and not handoff):
            return
        if first:
            self.adopted[run] = first
        else:
            self.started[run] = start

    def _started_by(self, run: str) -> Iterator[str]:
        """The run and those that started it, one after the other."""
        current = run
        for _ in range(_LONGEST_LINE):
            yield current
            start = self.started.get(current)
            current = start.run if start else self.runs.get(current, "")
            if not current:
                return
