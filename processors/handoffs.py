"""Hand-offs: an agent run that stands beside the one that handed the conversation over to it.

Frameworks run the next agent under the common workflow, so that no span is its parent; what joins the two is a request
whose name (`transfer_to_researcher`) or argument (`transfer_to_agent`, `{"agent_name": "researcher"}`) names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ..schemas.normalized import Kind, NormalizedSpan, ToolRequest
from .kinship import Start
from .names import canonical
from .span_tree import SpanTree, time_key

_VERBS: Final = ("transfer_to_", "handoff_to_", "hand_off_to_", "delegate_to_")
_BY_ARGUMENT: Final = frozenset({"transfer_to_agent", "handoff_to_agent", "handoff", "hand_off"})
_MOST_ARGUMENTS: Final = 8
_LONGEST_LINE: Final = 64  # agents between one and the return to it


@dataclass(frozen=True, slots=True)
class _Handoff:
    target: str
    start: Start


def find_handoffs(tree: SpanTree, owner: Mapping[str, str], runs: Mapping[str, str]) -> dict[str, Start]:
    """Id of a run to the hand-off that started it; `owner`: span to run, `runs`: run to the run above ("" for none).

    Handing back to an agent that handed over before starts nothing: that agent goes on, beside its earlier run.
    """
    agents = {run: tree.spans[run] for run in runs if run in tree.spans and tree.spans[run].agent_name}
    if len(agents) < 2:  # noqa: PLR2004 - one hands over, one takes over
        return {}
    found: dict[str, Start] = {}
    pending: dict[str, _Handoff] = {}  # by the run above both agents
    for span in sorted((s for s in tree.order if s.kind is Kind.LLM or s.span_id in agents), key=time_key):
        if span.span_id not in agents:
            run = owner[span.span_id]
            for target, start in _requested(span, run) if run else ():
                pending[runs[run]] = _Handoff(target, start)
            continue
        handoff = pending.get(runs[span.span_id])
        if handoff and handoff.target == canonical(span.agent_name):
            del pending[runs[span.span_id]]
            if handoff.target not in _line(handoff.start.run, found, agents):
                found[span.span_id] = handoff.start
    return found


def _requested(llm: NormalizedSpan, run: str) -> Iterator[tuple[str, Start]]:
    for message in llm.output_messages:
        for request in message.tool_requests:
            if target := _target(request):
                yield target, Start(run, llm.span_id, request.call_id, request.name)


def _target(request: ToolRequest) -> str:
    """Canonical name of the agent that a request hands over to, "" where it is no hand-off."""
    name = canonical(request.name)
    if name in _BY_ARGUMENT and isinstance(request.arguments, Mapping) and len(request.arguments) <= _MOST_ARGUMENTS:
        return next((canonical(v) for v in request.arguments.values() if isinstance(v, str)), "")
    verb = next((v for v in _VERBS if name.startswith(v)), "")
    return name.removeprefix(verb) if verb else ""


def _line(run: str, found: Mapping[str, Start], agents: Mapping[str, NormalizedSpan]) -> Iterator[str]:
    """Canonical names of the run and of those that handed over to it, one after the other."""
    current = run
    for _ in range(_LONGEST_LINE):
        if current in agents:
            yield canonical(agents[current].agent_name)
        start = found.get(current)
        if start is None:
            return
        current = start.run
