"""Inferred runs: the calls of a model, a tool or a retriever that no agent, chain, delegation or conversation claims.

They belong together as far as one request of a user or one program did them: to the run of the outermost span above
them in their trace. Below a web request or a message from a queue that is the span which received it (span kinds SERVER
and CONSUMER of OpenTelemetry), for a program may hold many of these in one span of its own. Calls with nothing above
them are the run of their trace, whose id is that of the first. What evaluators and guards ask is nobody's run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .ownership import Ownership, parents_first
from .span_tree import SpanTree, time_key

CALLS: Final = frozenset({Kind.LLM, Kind.TOOL, Kind.RETRIEVER})
ASIDE: Final = frozenset({Kind.EVALUATOR, Kind.GUARDRAIL})
RECEIVING: Final = frozenset({2, 5})  # SERVER, CONSUMER


def unclaimed(tree: SpanTree, ownership: Ownership) -> list[NormalizedSpan]:
    """The outermost calls without a run, apart from what evaluators and guards ask, in tree order."""
    owner = ownership.owner
    if all(owner.values()):
        return []
    found: list[NormalizedSpan] = []
    inside: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        if owner[span_id]:
            continue
        if span.kind in ASIDE or tree.parent.get(span_id) in inside:
            inside.add(span_id)
        elif span.kind in CALLS:
            inside.add(span_id)
            found.append(span)
    return found


def infer_runs(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with a run for each call that has none, `inferred`, after all others.

    A run has the spans below its outermost one, unless other runs have some there: then only its calls and what is
    below these.
    """
    if not (calls := unclaimed(tree, ownership)):
        return ownership
    tops = _tops(tree)
    claimed = [s.raw for s in tree.order if ownership.owner[s.raw.span_id]]
    shared, traces = {tops[raw.span_id] for raw in claimed}, {raw.trace_id for raw in claimed}
    given: dict[str, str] = {}
    inferred: dict[str, str] = {}
    beside: set[str] = set()
    of_trace: dict[str, str] = {}
    for span in sorted(calls, key=time_key):
        span_id = span.raw.span_id
        top = run = tops[span_id]
        if top in tree.orphans and (top == span_id or top in shared):
            run = tree.spans[top].raw.parent_span_id
        elif top == span_id and span_id not in ownership.runs:
            run = of_trace.setdefault(span.raw.trace_id, span_id)
        given[span_id] = run
        if run in ownership.runs:  # a tool in which an agent worked, with nothing around it, is that agent's own
            continue
        inferred[run] = run if run == top != span_id and top not in shared else ""
        if not inferred[run] and span.raw.trace_id in traces:
            beside.add(run)
    own = {run: run for run, whole in inferred.items() if whole}
    owner = dict(ownership.owner)
    aside: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        if owner[span_id]:
            continue
        above = tree.parent.get(span_id, "")
        if span.kind in ASIDE or above in aside:
            aside.add(span_id)
            continue
        run = owner.get(above, "")
        owner[span_id] = given.get(span_id) or (run if run in inferred else own.get(tops[span_id], ""))
    below = {run: start for run, start in given.items() if run in ownership.runs and run != start}
    return replace(
        ownership,
        owner=owner,
        runs=parents_first(ownership.runs | dict.fromkeys(inferred, "") | below),
        inferred=inferred,
        beside=frozenset(beside),
    )


def _tops(tree: SpanTree) -> dict[str, str]:
    """Span id to the outermost span that received something above it, or is it; else to the outermost."""
    tops: dict[str, str] = {}
    received: set[str] = set()
    for span in tree.order:
        span_id = span.raw.span_id
        top = tops.get(tree.parent.get(span_id, ""), span_id)
        if span.raw.kind in RECEIVING and top not in received:
            top = span_id
            received.add(top)
        tops[span_id] = top
    return tops
