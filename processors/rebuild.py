"""Normalised spans to a trace: agent runs, turns, tool calls, plans, goal and answer (docs/reconstruction.md).

Pure: the same set of spans gives the same trace, in whatever order they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import KnownRuns, Trace, TraceState

from .agent_spans import own_by_ancestors
from .bare import find_bare_runs
from .copied_models import without_copied_models
from .copies import without_copies
from .escaped_spans import return_escaped
from .exchanges import find_exchanges
from .handoffs import join_handoffs
from .inferred import infer_runs
from .left_over_parents import place_left_overs
from .loose_calls import join_loose_calls
from .lost_nesting import nest_records
from .missing_parents import infer_missing_parents
from .roles import find_roles
from .run_groups import group_runs
from .runs import build_runs
from .segments import divide_at_handoffs
from .span_tree import build_tree
from .stand_ins import take_stand_ins
from .stated_parents import follow_stated_parents
from .stated_sub_agents import divide_by_stated_ids
from .stray_spans import bring_home
from .told_twice import place_log_spans


def rebuild(
    spans: Iterable[NormalizedSpan],
    *,
    state: TraceState = TraceState.SETTLED,
    known: KnownRuns | None = None,
    elsewhere: Collection[str] = (),
) -> Trace:
    """The trace that `spans` (all of one trace id, or of several that are one) show so far.

    `known`: the runs of an earlier pass over a growing trace, brought up to date here. A run whose spans did not
    change, nor the runs below it, stays the same object. `elsewhere`: ids of parents that stand in other traces.
    """
    spans = take_stand_ins(place_log_spans(list(spans)))
    tree = place_left_overs(without_copies(build_tree(spans)), elsewhere)
    roles = find_roles(nest_records(without_copied_models(tree)))
    tree = roles.tree
    ownership = own_by_ancestors(tree, roles.tool_runs)
    for rule in (
        infer_missing_parents,
        divide_by_stated_ids,
        return_escaped,
        divide_at_handoffs,
        find_bare_runs,
        join_loose_calls,
        bring_home,
        join_handoffs,
        follow_stated_parents,
        infer_runs,
    ):
        ownership = rule(tree, ownership)
    runs = build_runs(
        group_runs(tree, ownership),
        known if known is not None else {},
        is_open=state is TraceState.OPEN,
        shows_tools=any(span.kind is Kind.TOOL for span in tree.order),
    )
    raws = [span.raw for span in tree.order]
    failed = any(run.status == "error" and not run.parent_id for run in runs)
    conventions = Counter(span.convention for span in tree.order if span.convention)
    return Trace(
        trace_id=raws[0].trace_id if raws else "",
        tenant=raws[0].tenant if raws else "",
        service=next((raw.service for raw in raws if raw.service), ""),
        session_id=next((s.session_id for s in tree.order if s.session_id), ""),
        state=TraceState.FAILED if failed and state is TraceState.SETTLED else state,
        runs=runs,
        spans=tree.spans,
        remainder=tuple(span for span in tree.by_time if not ownership.owner[span.raw.span_id]),
        conventions=tuple(name for name, _ in conventions.most_common()),
        start=min((raw.start for raw in raws), default=0),
        end=max((raw.end for raw in raws), default=0),
        received_through=max((s.raw.received_at for s in spans), default=0),
        exchanges=find_exchanges(runs),
    )
