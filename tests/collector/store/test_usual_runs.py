"""What runs of an agent usually use, read from the traces that were judged before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from listed_traces import Listed, store_all
from looping import BEGAN, SECOND, Made, genai, normal

from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.usual_runs import HOUR, StoredUsualRuns
from tracejury.judges.registry import suite_of
from tracejury.judges.runaways import FACTOR, FIXED, FIXED_BOUNDS, UsualRuns
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import Trace, TraceState

EARLIER = BEGAN - 2 * HOUR


def small(number: int, **changes: Any) -> Listed:
    """An earlier trace of the planner: a turn, 400,000 tokens, 200 s, 1 USD."""
    kept = Listed(number, start=EARLIER + number, length=200 * SECOND, tokens=400_000, usd=1.0, received=EARLIER)
    return replace(kept, **changes)


def long_trace(service: str = "shop", tenant: str = "") -> Trace:
    """A run of the planner that makes forty calls, and goes on."""
    made = [Made("look_up", {"page": number}, f"page {number}") for number in range(40)]
    spans = [
        replace(span, service=service, tenant=tenant, attributes={**span.attributes, "gen_ai.agent.name": "planner"})
        for span in genai(made)
    ]
    return rebuild(normal(spans[:-1]), state=TraceState.OPEN)


def usual(store: SharedStore, least: int = 20, base: UsualRuns | None = None) -> StoredUsualRuns:
    return StoredUsualRuns(store, base or UsualRuns(), FACTOR, least)


def test_twenty_runs_tell_what_is_usual(store: SharedStore) -> None:
    """One in ten may be a runaway itself; what little they used is not held against a run."""
    runaways = [small(number, tokens=90_000_000, usd=80.0, length=20_000 * SECOND) for number in range(2)]
    store_all(store, [*runaways, *(small(number) for number in range(2, 25))])
    bounds = usual(store)(long_trace()).of["planner"]
    assert (bounds.most.turns, bounds.most.tokens, bounds.most.seconds, bounds.most.usd) == (30, 2_000_000, 1000, 5.0)
    assert (bounds.runs.turns, bounds.runs.usd) == (25, 25)
    told = [
        f for f in suite_of(()).judge(long_trace(), usual=usual(store)(long_trace())).findings if f.judge == "runaway"
    ]
    assert [
        "40 turns, where up to 30 turns are expected (by 25 earlier runs of this agent)" in f.explanation for f in told
    ] == [True]


def test_too_few_runs_tell_nothing(store: SharedStore) -> None:
    """Nor do runs of others: another service, another agent, another project, an open trace, another day, later."""
    store_all(store, [small(number) for number in range(19)])
    others: tuple[dict[str, Any], ...] = (
        {"service": "desk"},
        {"state": TraceState.OPEN},
        {"start": EARLIER - 9 * 24 * HOUR},
        {"start": BEGAN + HOUR},
    )
    store_all(store, [small(100 + number, **changes) for number, changes in enumerate(others)])
    bounds = usual(store)(long_trace()).of["planner"]
    assert bounds == FIXED_BOUNDS
    assert usual(store, least=19)(long_trace()).of["planner"].runs.turns == 19
    assert usual(store)(long_trace(service="desk")).of["planner"].most == FIXED
    assert usual(store, least=1)(long_trace(tenant="theirs")).of["planner"].most == FIXED


def test_the_answer_stays_while_a_trace_grows(store: SharedStore) -> None:
    """Also for another process, and whatever other runs do in its hour; a trace of little use asks nothing."""
    store_all(store, [small(number) for number in range(25)])
    before = usual(store)(long_trace()).of["planner"]
    store_all(store, [small(number, start=BEGAN - BEGAN % HOUR + number, tokens=9**9) for number in range(100, 200)])
    assert usual(store)(long_trace()).of["planner"] == before
    short = long_trace()
    short = replace(short, runs=(replace(short.runs[0], turns=short.runs[0].turns[:5]),), end=short.start)
    assert dict(usual(store)(short).of) == {}
