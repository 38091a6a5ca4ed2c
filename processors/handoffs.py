"""Agent runs that stand beside the one that started them: hand-offs, and sub-agents put under a common workflow.

Frameworks run the next agent under the workflow, so that no span is its parent; what joins the two is a request or a
tool span whose name (`transfer_to_researcher`, `researcher`) or argument (`{"agent_name": "researcher"}`) names it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..schemas.normalized import Kind, NormalizedSpan
from .delegation import addressee, asks, hands_to_someone, is_handoff
from .names import canonical
from .parent_inference import InferredParents, RunStart
from .span_tree import SpanTree, time_key

_LONGEST_LINE: Final = 64  # agents between one and the return to it


def find_handoffs(tree: SpanTree, owner: Mapping[str, str], runs: Mapping[str, str]) -> InferredParents:
    """Runs started by a sibling, and runs that continue a sibling (`adopted`).

    `owner`: span to run, `runs`: run to the run above ("" for none). An agent that is handed the conversation back
    goes on: its later spans are of its earlier run, however many others came in between.
    """
    agents = {r: tree.spans[r] for r in runs if r in tree.spans and tree.spans[r].kind is Kind.AGENT}
    names = {r: canonical(span.agent_name) for r, span in agents.items() if span.agent_name}
    if len(names) < 2:  # noqa: PLR2004 - one hands over, one takes over
        return InferredParents()
    tracker = _HandoffTracker(runs, names)
    calling = (s for s in tree.order if s.kind is Kind.TOOL or (s.kind is Kind.LLM and asks(s)) or s.span_id in names)
    for span in sorted(calling, key=time_key):
        if span.span_id in names:
            tracker.begin(span.span_id)
        elif run := owner[span.span_id]:
            tracker.call(span, tracker.found.adopted.get(run, run), run)
    return tracker.found


@dataclass(slots=True)
class _HandoffTracker:
    runs: Mapping[str, str]
    names: Mapping[str, str]
    found: InferredParents = field(default_factory=InferredParents)
    # Starts, and whether they hand over, by run above and canonical name ("": of whoever begins next).
    pending: dict[tuple[str, str], deque[tuple[RunStart, bool]]] = field(default_factory=dict)
    requested: set[tuple[str, str]] = field(default_factory=set)
    asking: set[str] = field(default_factory=set)  # runs whose requests are recorded

    def call(self, span: NormalizedSpan, run: str, part: str) -> None:
        """Remember whom a call of `run` addresses; `part` is the run or the later part of it that made the call."""
        above = self.runs[part]
        for target, start, handoff in _addressed(span, run):
            if start.llm_span_id:
                self.requested.add((run, target))
                self.asking.add(run)
            elif (run, target) in self.requested or (not target and run in self.asking):
                continue  # the execution of a request that is known
            self.pending.setdefault((above, target), deque()).append((start, handoff))

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
            self.found.adopted[run] = first
        else:
            self.found.started[run] = start

    def _started_by(self, run: str) -> Iterator[str]:
        """The run and those that started it, one after the other."""
        current = run
        for _ in range(_LONGEST_LINE):
            yield current
            start = self.found.started.get(current)
            current = start.run if start else self.runs.get(current, "")
            if not current:
                return


def _addressed(span: NormalizedSpan, run: str) -> Iterator[tuple[str, RunStart, bool]]:
    if span.kind is Kind.TOOL:
        someone = hands_to_someone(span.tool_name, span.tool_arguments)
        if (target := addressee(span.tool_name, span.tool_arguments)) or someone:
            start = RunStart(run, "", span.span_id, span.tool_name)
            yield target, start, someone or is_handoff(span.tool_name, span.tool_arguments)
        return
    for request in span.tool_requests:
        if target := addressee(request.name, request.arguments):
            start = RunStart(run, span.span_id, request.call_id, request.name)
            yield target, start, is_handoff(request.name, request.arguments)
