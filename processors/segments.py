"""Agents that take turns inside one workflow, whose steps all stand side by side with no span for any of them.

A hand-off, after which calls in one workflow have another system prompt or state another agent, begins a run with the
id of the first step that is only its own: from there on the steps are the other agent's, until it hands back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan, ToolRequest

from .delegation import addressee, is_handoff
from .names import plain_name
from .ownership import Ownership, RunStart, parents_first
from .span_tree import SpanTree, time_key

_REACH: Final = 8  # levels between a run's span and its calls
_SEVERAL: Final = "several"  # no span has an id of that length


def divide_at_handoffs(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with the runs inside the runs that hand over.

    A new run has the id of the topmost span that holds its first call and no other.
    """
    owner = ownership.owner
    own: dict[str, list[NormalizedSpan]] = {
        owner[s.raw.span_id]: [] for s in tree.llm_calls if owner[s.raw.span_id] and _handoff(s)
    }
    if not own:
        return ownership
    for span in tree.order:
        if (spans := own.get(owner[span.raw.span_id])) is not None:
            spans.append(span)
    found = _Segments()
    for run, spans in own.items():
        _divide(run, spans, tree, found)
    if not found.starts:
        return ownership
    runs = ownership.runs | {run: start.run for run, start in found.starts.items()}
    above = {
        run: found.owner.get(tree.parent.get(run, ""), over) for run, over in runs.items() if run not in found.starts
    }
    return replace(
        ownership,
        runs=parents_first(runs | above),
        owner=owner | found.owner,
        starts=ownership.starts | found.starts,
        names=ownership.names | {run: name for run, name in found.names.items() if _is_nameless(tree.spans.get(run))},
    )


def _is_nameless(span: NormalizedSpan | None) -> bool:
    """Whether the name that an AGENT span bears is only its own, as a span."""
    return span is None or span.kind is not Kind.AGENT or span.agent_name in ("", plain_name(span.raw.name))


@dataclass(slots=True)
class _Segments:
    """`owner`: span id to its new run. `starts`: new run to its start. `names`: run to the name handed over to."""

    owner: dict[str, str] = field(default_factory=dict)
    starts: dict[str, RunStart] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def _divide(run: str, spans: Sequence[NormalizedSpan], tree: SpanTree, found: _Segments) -> None:
    calls = sorted(_calls(run, spans, tree), key=lambda call: time_key(call[0]))
    held = Counter(a for call in calls for a in _above(call[0], run, tree))
    line: dict[str, str] = {}  # who speaks, to the run that is theirs; those that handed over, one after the other
    of_call: dict[str, str] = {}
    current, asked = run, None
    for call in calls:
        speaker = next((s for record in call if (s := _speaker(record))), "")
        if speaker and not line:
            line[speaker] = run
        elif speaker and line.get(speaker) != current and asked is not None:
            target, start = asked
            if speaker not in line:
                line[speaker] = _top(call[0], run, tree, held)
                found.starts[line[speaker]] = start
            while next(reversed(line)) != speaker:
                line.popitem()
            found.names.setdefault(line[speaker], target)
            current, asked = line[speaker], None
        of_call.update((record.span_id, current) for record in call)
        if (request := next((r for record in call if (r := _handoff(record))), None)) is not None:
            start = RunStart(current, call[0].span_id, request.call_id, request.name)
            asked = (addressee(request.name, request.arguments), start)
    if len(set(of_call.values())) > 1:
        found.owner.update(_spread(run, spans, of_call, [call[0] for call in calls], tree))


def _calls(run: str, spans: Sequence[NormalizedSpan], tree: SpanTree) -> list[list[NormalizedSpan]]:
    """The run's calls with all records of each, the outermost first; `spans` in tree order."""
    calls: dict[str, list[NormalizedSpan]] = {}
    for span in spans:
        if span.kind is not Kind.LLM:
            continue
        outer = next((a for a in _above(span, run, tree) if a in calls), "")
        calls[span.span_id] = calls[outer] if outer else []
        calls[span.span_id].append(span)
    return list({id(call): call for call in calls.values()}.values())


def _speaker(call: NormalizedSpan) -> str:
    system = next((m.text for m in call.input_messages[:2] if m.role in ("system", "developer")), "")
    return call.agent_hint or call.agent_name or system


def _handoff(call: NormalizedSpan) -> ToolRequest | None:
    for request in call.tool_requests:
        if is_handoff(request.name, request.arguments):
            return request
    return None


def _top(call: NormalizedSpan, run: str, tree: SpanTree, held: Mapping[str, int]) -> str:
    """The topmost span around the call that holds no other."""
    best = call.span_id
    for ancestor in _above(call, run, tree):
        if held[ancestor] > 1:
            break
        best = ancestor
    return best


def _above(span: NormalizedSpan, run: str, tree: SpanTree) -> Iterator[str]:
    for ancestor in islice(tree.ancestors(span.span_id), _REACH):
        if ancestor == run:
            return
        yield ancestor


def _spread(
    run: str,
    spans: Sequence[NormalizedSpan],
    of_call: Mapping[str, str],
    calls: Sequence[NormalizedSpan],
    tree: SpanTree,
) -> Iterator[tuple[str, str]]:
    """All spans of the run with the segment that they belong to: that of their calls, else of the call before them."""
    holds: dict[str, str] = {}
    for span in reversed(spans):
        held = of_call.get(span.span_id) or holds.get(span.span_id)
        parent = tree.parent.get(span.span_id)
        if held and parent is not None and parent != run:
            holds[parent] = held if holds.get(parent, held) == held else _SEVERAL
    latest: dict[str, str] = {}
    current, firsts = run, {call.span_id for call in calls}
    for span in sorted(spans, key=time_key):
        current = of_call[span.span_id] if span.span_id in firsts else current
        latest[span.span_id] = current
    given: dict[str, str] = {}
    for span in spans:
        span_id = span.span_id
        held = of_call.get(span_id) or holds.get(span_id)
        parent = tree.parent.get(span_id, "")
        if span_id == run or held == _SEVERAL:
            given[span_id] = run
        else:
            given[span_id] = held or (given[parent] if given.get(parent, run) != run else latest[span_id])
        yield span_id, given[span_id]
