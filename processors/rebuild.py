"""Normalised spans to a trace: agent runs, turns, tool calls, plans, goal and answer.

Pure: the same set of spans gives the same trace, in whatever order they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..schemas.normalized import NormalizedSpan
from ..schemas.trajectory import AgentRun, Trace, TraceState
from .exchanges import find_exchanges
from .ownership import assign_owners
from .roles import find_roles
from .runs import build_runs
from .span_tree import build_tree, time_key


def rebuild(spans: Iterable[NormalizedSpan], *, state: TraceState = TraceState.SETTLED) -> Trace:
    """The trace that `spans` (all of one trace id) show so far."""
    spans = list(spans)
    roles = find_roles(build_tree(spans))
    tree = roles.tree
    ownership = assign_owners(tree, roles.tool_runs)
    runs = build_runs(tree, ownership, state)
    some = tree.order[0].raw if tree.order else None
    return Trace(
        trace_id=some.trace_id if some else "",
        tenant=some.tenant if some else "",
        service=next((s.raw.service for s in tree.order if s.raw.service), ""),
        session_id=next((s.session_id for s in tree.order if s.session_id), ""),
        state=_ended(state, runs),
        runs=runs,
        spans=tree.spans,
        remainder=tuple(sorted((s for s in tree.order if not ownership.owner[s.raw.span_id]), key=time_key)),
        conventions=tuple(c for c, _ in Counter(s.convention for s in tree.order if s.convention).most_common()),
        start=min((s.raw.start for s in tree.order), default=0),
        end=max((s.raw.end for s in tree.order), default=0),
        received_through=max((s.raw.received_at for s in spans), default=0),
        exchanges=find_exchanges(runs),
    )


def _ended(state: TraceState, runs: Iterable[AgentRun]) -> TraceState:
    """The state of a settled trace tells whether nothing above a failed run could go on."""
    failed = any(run.status == "error" and not run.parent_id for run in runs)
    return TraceState.FAILED if failed and state is TraceState.SETTLED else state
