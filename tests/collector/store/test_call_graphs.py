"""The graph of a service: the sums over its judged traces, whatever was judged again, joined or is of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_parts import a_judged_trace, a_run, a_span

from tracejury.collector.store.call_graphs import StoredCallGraphs
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.call_edges import edges_of
from tracejury.processors.normalize import normalize
from tracejury.schemas.call_graph import CallEdge, CallGraph, by_calls
from tracejury.schemas.judged_rows import TRACE_COLUMNS, trace_row
from tracejury.schemas.normalized import ToolDefinition
from tracejury.schemas.queries.call_graph import CallGraphQuery
from tracejury.schemas.simulation import SIMULATED
from tracejury.schemas.trajectory import ToolCall, Turn, TurnKind
from tracejury.schemas.verdicts import JudgedTrace

ALL = CallGraphQuery(0, 10**18)


def judged(
    number: int, calls: Sequence[tuple[str, bool]], *, service: str = "shop", at: int = 1, received: int = 1, **of: Any
) -> JudgedTrace:
    """A trace of an agent that made these calls (name, failed), with a tool that nobody calls."""
    made = tuple(
        ToolCall(name, {}, "ok", requested=True, executed=True, error="broken" if failed else None)
        for name, failed in calls
    )
    run = a_run(name=f"agent {number % 2}", turns=(Turn(0, TurnKind.ACT, None, made),), tools=(ToolDefinition("idle"),))
    return a_judged_trace(
        trace_id=f"{number:032x}", service=service, judged_at=at, received=received, runs=(run,), **of
    )


def summed(traces: Sequence[JudgedTrace]) -> list[CallEdge]:
    """The edges as a scan of the traces finds them."""
    sums: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for one in traces:
        for e in edges_of(one.trace):
            for at, count in enumerate((e.calls, e.failed, e.given, e.used)):
                sums[e.kind, e.caller, e.callee][at] += count
    edges = [CallEdge(*place, *counts) for place, counts in sums.items()]
    return sorted((edge for edge in edges if edge.calls or not edge.used), key=by_calls)


CALLS = st.lists(st.tuples(st.sampled_from(["search", "mail", "<b>", "'; --"]), st.booleans()), max_size=4)
History = list[tuple[int, list[tuple[str, bool]], str, int]]
HISTORY = st.lists(
    st.tuples(st.integers(1, 5), CALLS, st.sampled_from(["shop", "desk"]), st.integers(1, 100)), min_size=1, max_size=8
)


@given(HISTORY, st.sampled_from(["", "shop", "desk", "none"]), st.integers(1, 60), st.integers(1, 3))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_equals_a_scan_of_what_was_judged_last(
    store: SharedStore,
    history: History,
    service: str,
    since: int,
    limit: int,
) -> None:
    """Traces are judged again and again, with other calls, services and times; the last judging of each counts."""
    store.command("TRUNCATE TABLE traces")
    last: dict[int, JudgedTrace] = {}
    for at, (number, calls, of, received) in enumerate(history, 1):
        last[number] = judged(number, calls, service=of, at=at, received=received)
        StoredJudging(store).save([last[number]])
    query = replace(ALL, since=since, until=90, service=service)
    own = [
        one
        for one in last.values()
        if since <= one.judgement.received_through < 90 and service in ("", one.trace.service)
    ]
    whole = StoredCallGraphs(store).ask(query)
    assert (list(whole.edges), whole.traces, whole.left, whole.unknown) == (summed(own), len(own), 0, 0)
    few = StoredCallGraphs(store).ask(replace(query, limit=limit))
    assert (list(few.edges), few.left) == (summed(own)[:limit], max(0, len(summed(own)) - limit))


def test_other_projects_joined_and_simulated_traces_do_not_count(store: SharedStore) -> None:
    """A trace that is joined to another counts there; simulated ones where they are asked for."""
    simulated = normalize(a_span(attributes={SIMULATED: "true"}))
    own = judged(1, [("search", False)])
    played = judged(2, [("mail", False)], spans={simulated.span_id: simulated})
    StoredJudging(store).save([own, played, judged(3, [("mail", True)], joined_to=own.trace.trace_id)])
    StoredJudging(store, "theirs").save([judged(4, [("mail", True)], tenant="theirs")])
    graphs = StoredCallGraphs(store)
    assert graphs.ask(ALL) == CallGraph(summed([own]), 1)
    assert graphs.ask(replace(ALL, simulated=True)) == CallGraph(summed([played]), 1)
    assert StoredCallGraphs(store, "theirs").ask(ALL).traces == 1


def test_what_an_earlier_version_judged_is_said(store: SharedStore) -> None:
    """Its rows have runs and no edges: they are counted apart, never as agents without calls."""
    old, new = judged(1, [("search", False)]), judged(2, [("mail", False)])
    insert_rows(store, "traces", TRACE_COLUMNS, [trace_row(old.trace, old.judgement, old.spent)])
    StoredJudging(store).save([new])
    assert StoredCallGraphs(store).ask(ALL) == CallGraph(summed([new]), 2, 0, 1)


def test_the_way_to_an_agent_was_called_where_any_run_took_it(store: SharedStore) -> None:
    """A tool that begins an agent's run is told as that agent; a run without it does not make it one never called."""

    def delegating(number: int, *turns: Turn) -> JudgedTrace:
        tools = (ToolDefinition("ask_writer"), ToolDefinition("mail"))
        runs = [a_run(id="m", name="planner", tools=tools, turns=turns)]
        if turns:
            runs.append(a_run(id="w", name="writer", parent_id="m", turns=()))
        return a_judged_trace(trace_id=f"{number:032x}", judged_at=1, received=1, runs=tuple(runs))

    asked = ToolCall("ask_writer", {}, "ok", requested=True, executed=True, error=None, sub_run_id="w")
    StoredJudging(store).save([delegating(1, Turn(0, TurnKind.ACT, None, (asked,))), delegating(2)])
    found = StoredCallGraphs(store).ask(ALL)
    assert [(edge.callee, edge.given) for edge in found.never_called] == [("mail", 2)]
    assert [(node.name, node.calls) for node in found.nodes] == [("planner", 2), ("writer", 1), ("mail", 0)]
