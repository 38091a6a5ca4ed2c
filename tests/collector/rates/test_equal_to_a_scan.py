"""Rates and figures of performance equal what a plain scan of the tables of judging gives, whatever happened before."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, note, settings
from hypothesis import strategies as st
from naive_errors import expected_errors, stored_errors
from naive_patterns import expected_patterns, told_patterns
from naive_performance import expected as expected_performance
from naive_rates import expected
from rates_history import BASE, CHECKS, CLAIMS, HOUR, JUDGES, LABELS, PACKS, RULES, MortalStore, World
from sizes import sized

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.queries.patterns import Patterns
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.derived.facts import FACT_COLUMNS
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.performance import StoredPerformance
from tracejury.collector.store.scope import Scope
from tracejury.judges.measures.rates import effective, mean, share
from tracejury.schemas.judged_rows import ERROR_COLUMNS
from tracejury.schemas.queries.patterns import PatternQuery
from tracejury.schemas.queries.performance import Performance, PerformanceBy, PerformanceQuery, PerformanceUnit
from tracejury.schemas.rates import By, Population, Rate, RateQuery, Sums, Unit
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome

HISTORIES = sized(3, 300)
HOURS = st.sampled_from([0, 0, 1, 5, 23, 24, 30, 200])
TABLES = ["findings", "verdicts", "traces", "judgements", "run_facts", "errors", "underived"]
FEW: st.SearchStrategy[list[int]] = st.one_of(
    st.lists(st.integers(0, CLAIMS * 3 - 1), min_size=2, max_size=10, unique=True), st.just([])
)

judge = st.fixed_dictionaries(
    {
        "trace": st.integers(0, 3),
        "hour": HOURS,
        "state": st.sampled_from([TraceState.SETTLED] * 4 + [TraceState.OPEN, TraceState.INCOMPLETE]),
        "claims": FEW,
        "service": st.sampled_from(["shop", "desk"]),
        "session": st.sampled_from(["", "s1", "s2"]),
        "runs": st.sampled_from([0, 1, 2, 3, 3]),
        "known": st.booleans(),
        "joined": st.sampled_from([None] * 5 + [0, 1]),
        "outcome": st.sampled_from([Outcome.DONE] * 5 + [Outcome.FAILED, Outcome.FILTERED]),
        "p": st.sampled_from([1.0, 1.0, 0.25, 1e-6]),
        "failed": st.sampled_from([(), (), (), (RULES[0],)]),
        "simulated": st.sampled_from([None] * 5 + ["", "goal-switching", "<b>"]),
    }
)
hear = st.fixed_dictionaries(
    {
        "trace": st.integers(0, 3),
        "run": st.integers(0, 2),
        "judge": st.sampled_from(JUDGES),
        "outcome": st.sampled_from([Outcome.DONE] * 8 + list(Outcome)),
        "claims": FEW,
        "p": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "score": st.sampled_from([3, 0, None]),
        "version": st.sampled_from(["v1", "v2"]),
    }
)
check_ = st.fixed_dictionaries(
    {
        "trace": st.integers(0, 3),
        "exchange": st.sampled_from(["run-0:0-0", "run-0:0-0", "run-0:1-1", "gone:0-0"]),
        "check": st.sampled_from(CHECKS),
        "outcome": st.sampled_from([Outcome.DONE] * 8 + list(Outcome)),
        "claims": FEW,
        "p": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "value": st.sampled_from([1.0, 0.0, 0.5, None]),
    }
)
label = st.fixed_dictionaries(
    {
        "trace": st.integers(0, 3),
        "exchange": st.sampled_from(["run-0:0-0", "run-0:0-0", "run-0:1-1", "run-1:0-0", "gone:0-0"]),
        "labels": st.lists(st.sampled_from(LABELS), max_size=2, unique=True),
        "outcome": st.sampled_from([Outcome.DONE] * 8 + list(Outcome)),
        "p": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "value": st.sampled_from([1.0, 0.0, None]),
    }
)
acts = st.one_of(
    label.map(lambda given: ("label", given)),
    check_.map(lambda given: ("check", given)),
    check_.map(lambda given: ("check", given)),
    st.builds(lambda n, s: ("close", {"trace": n, "session": s}), st.integers(0, 3), st.sampled_from(["", "s1"])),
    judge.map(lambda given: ("judge", given)),
    judge.map(lambda given: ("judge", given)),
    hear.map(lambda given: ("hear", given)),
    hear.map(lambda given: ("hear", given)),
    st.builds(
        lambda n, name: ("name", {"trace": n, "name": name}), st.integers(0, 3), st.sampled_from(["late", "rude"])
    ),
    st.builds(lambda which: ("resend", {"which": which}), st.integers(0, 50)),
    st.builds(lambda trace: ("delete", {"trace": trace}), st.integers(0, 3)),
    st.builds(lambda table: ("die", {"table": table}), st.sampled_from(TABLES)),
    st.sampled_from([("restart", {}), ("derive_again", {})]),
)
times = st.sampled_from(
    [
        (0, 2**63 - 1, 0),
        (0, 2**63 - 1, 0),
        (BASE, BASE + 240 * HOUR, 0),
        (BASE, BASE + 48 * HOUR, 0),
        (BASE, BASE + 48 * HOUR, HOUR),
        (BASE, BASE + 240 * HOUR, 24 * HOUR),
        (BASE + 1, BASE + 24 * HOUR + 2, 5 * HOUR),
        (BASE + 2, BASE + 30 * HOUR, HOUR // 4),
    ]
)
NONE: dict[str, Any] = {}
filters = st.sampled_from(
    [
        *[NONE] * 12, {"service": "shop"}, {"agent": "coder"}, {"role": "manager"}, {"session": "s1"},
        {"dimension": "TC"}, {"taxonomy": "own"}, {"category": "Goal Deviation"}, {"category": "own/Resource Abuse"},
        {"severity": "medium"}, {"severity": "HIGH", "dimension": "PQ"}, {"tool": "search"}, {"judge": "loops"},
        {"judge": "goal"}, {"judge": "goal", "service": "desk"}, {"tool": "sum", "agent": "coder"},
        {"taxonomy": "trail", "category": "Timeout Issues"}, {"judge": "club-state"}, {"taxonomy": "club"},
        {"taxonomy": "club", "agent": "planner"}, {"category": "club/bad club-state"},
        {"taxonomy": "club", "tool": "sum"}, {"taxonomy": "club", "severity": "medium"},
        {"judge": "club-tools", "taxonomy": "club"}, {"behaviour": "goal-switching"},
        {"behaviour": "ideal", "agent": "planner"}, {"simulated": True},
        {"simulated": True, "behaviour": "goal-switching"},
        *[{"by": By.BEHAVIOUR}] * 3, {"by": By.BEHAVIOUR, "judge": "goal"}, {"by": By.BEHAVIOUR, "simulated": True},
    ]
)  # fmt: skip


@st.composite
def queries(draw: st.DrawFn) -> RateQuery:
    """Any question that names its population."""
    since, until, step = draw(times)
    query = RateQuery(
        since,
        until,
        step,
        by=draw(st.sampled_from([None, *By])),
        unit=draw(st.sampled_from(Unit)),
        population=draw(st.sampled_from(Population)),
        profile=draw(st.sampled_from(["", "", "strict", "balanced", "recall", "recall", "0.3"])),
        limit=1000,
    )
    return replace(query, **draw(filters))


OF_UNIT = {
    PerformanceUnit.RUN: (PerformanceBy.TOOL, PerformanceBy.PROMPT),
    PerformanceUnit.LLM_CALL: (PerformanceBy.TOOL,),
    PerformanceUnit.TOOL_CALL: (),
}
"""What cannot be asked of a unit."""
VALUES = {"service": "shop", "version": "1", "agent": "coder", "model": "<b>", "tool": "sum", "prompt": "greet:1"}


@st.composite
def performance_queries(draw: st.DrawFn) -> PerformanceQuery:
    """Any question that means something, with at most two filters."""
    since, until, step = draw(times)
    unit = draw(st.sampled_from(PerformanceUnit))
    can = [by for by in PerformanceBy if by not in OF_UNIT[unit]]
    narrowed = draw(st.lists(st.sampled_from([*["none"] * 4, *can]), max_size=2))
    own: dict[str, Any] = {by: VALUES[by] for by in narrowed if by != "none"}
    by, simulated = draw(st.sampled_from([None, *can])), draw(st.sampled_from([False] * 4 + [True]))
    return PerformanceQuery(since, until, step, by, unit, simulated=simulated, limit=1000, **own)


@pytest.fixture
def dsn(store_dsn: str) -> str:
    """A migrated database of its own."""
    store = MortalStore.open(store_dsn, StoreConfig(retention_days=None))
    migrate(store)
    store.close()
    return store_dsn


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """Every trace is judged to its end first; then anything happens."""
    begun = [("judge", draw(judge) | {"trace": n, "state": TraceState.SETTLED, "joined": None}) for n in range(4)]
    heard = [("hear", given_) for given_ in draw(st.lists(hear, max_size=6))]
    heard += [("check", given_) for given_ in draw(st.lists(check_, max_size=4))]
    heard += [("label", given_) for given_ in draw(st.lists(label, max_size=4))]
    return begun + heard + draw(st.lists(acts, max_size=12))


OF_NO_TURN = {
    "trace": 3, "hour": 0, "state": TraceState.SETTLED, "claims": [17], "service": "shop", "session": "", "runs": 3,
    "known": True, "joined": None, "outcome": Outcome.DONE, "p": 1.0, "failed": (), "simulated": None,
}  # fmt: skip
BY_TURNS = [
    RateQuery(0, 2**63 - 1, by=by, unit=Unit.TURN, population=Population.DETECTORS)
    for by in (By.DIMENSION, By.JUDGE, By.CATEGORY)
]

PATTERNS = [
    PatternQuery(BASE - 10 * HOUR, BASE + 60 * HOUR + 5, state="all", profile="0.15"),
    PatternQuery(BASE - 90 * HOUR, BASE + 250 * HOUR, "shop", state="all"),
    PatternQuery(BASE, BASE + 2, state="all", simulated=True),
]


@pytest.mark.timeout(60 * HISTORIES)
@settings(max_examples=HISTORIES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@example(history=[("judge", OF_NO_TURN)], asked=BY_TURNS, measured=[])
@given(
    histories(),
    st.lists(queries(), min_size=8, max_size=8, unique=True),
    st.lists(performance_queries(), min_size=8, max_size=8, unique=True),
)
def test_after_any_history(
    dsn: str, history: list[tuple[str, dict[str, Any]]], asked: list[RateQuery], measured: list[PerformanceQuery]
) -> None:
    """Sent again, judged again, taken back, moved, joined, killed, restarted: errors and answers are those of a scan.

    What is derived step by step is what deriving all of it once more gives.
    """
    world, patterns = fresh(dsn), dict[MortalStore, Patterns]()
    try:
        for name, given_ in history:
            getattr(world, name)(**given_)
            check_patterns(
                world, patterns.setdefault(world.store, Patterns(Scope(world.store), StoredLabels(world.store), int))
            )
        assert stored_errors(world.store) == expected_errors(world.store)
        for query in asked:
            check(world, query)
        for one in measured:
            check_performance(world, one)
        stood = derived(world)
        world.derive_again()
        assert derived(world) == stood
    finally:
        world.store.close()


def check_patterns(world: World, patterns: Patterns) -> None:
    """What is kept of earlier questions changes nothing: the patterns are those of a scan, their examples hold."""
    for query in PATTERNS:
        answer = patterns.ask(query)
        assert told_patterns(list(answer.rows)) == expected_patterns(world.store, query.in_whole_hours())
        assert [row.examples for row in answer.rows] == [row.examples for row in patterns_of(world).ask(query).rows]


def patterns_of(world: World) -> Patterns:
    """Patterns of which nothing was asked before."""
    return Patterns(Scope(world.store), StoredLabels(world.store), int)


def derived(world: World) -> list[list[Any]]:
    """All that is derived, without its versions."""
    columns = (", ".join(f"`{c}`" for c in names if c != "FoldedAt") for names in (ERROR_COLUMNS, FACT_COLUMNS))
    return [
        world.store.rows(f"SELECT {own} FROM {table} FINAL ORDER BY ALL")
        for own, table in zip(columns, ("errors", "run_facts"), strict=True)
    ]


def fresh(dsn: str) -> World:
    """An empty world."""
    store = MortalStore.open(dsn, StoreConfig(retention_days=None))
    assert isinstance(store, MortalStore)
    for name, rows in store.rows("SELECT name, total_rows FROM system.tables WHERE database = currentDatabase()"):
        if rows and name != "migrations":
            store.command(f"TRUNCATE TABLE {name}")
    return World(dsn, store)


def check(world: World, query: RateQuery) -> None:
    """The answer is the expected one, to the last row and sum."""
    wanted, answer = expected(world.store, query, RULES, PACKS), world.ask(query)
    note(f"{query}\n{answer}\n{wanted}")
    same(answer.total, wanted.total)
    assert answer.unjudged.counts == dict(wanted.unjudged)
    assert {(row.key, row.at) for row in answer.rows} == set(wanted.rows)
    for row in answer.rows:
        same(row.rate, wanted.rows[row.key, row.at])


def check_performance(world: World, query: PerformanceQuery) -> None:
    """The answer is that of a scan, to the last figure."""
    total, groups, unmeasured = expected_performance(world.store, query)
    answer = StoredPerformance(world.store).ask(query)
    note(f"{query}\n{answer}\n{total} {groups}")
    assert (answer.total, answer.unmeasured, answer.left) == (total, unmeasured, 0)
    found: dict[tuple[str, int], Performance] = {(row.key, row.at): row.figures for row in answer.rows}
    assert found == groups


def same(rate: Rate, sums: Sums) -> None:
    """All figures follow from these sums."""
    assert (rate.judged, rate.hits, rate.errors) == (sums.units, sums.hits, sums.errors)
    assert math.isclose(rate.effective, effective(sums), rel_tol=1e-6, abs_tol=1e-9)
    for found, wanted in ((rate.share, share(sums)), (rate.mean, mean(sums))):
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high), 1e-6)
