"""Lists of errors wait for errors alone, and background folding for nothing that comes meanwhile."""

from __future__ import annotations

import pytest
from store_parts import a_finding, a_judged_trace, a_run

from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.facts import HOUR
from tracejury.collector.rates.upkeep import RateUpkeep
from tracejury.collector.store.client import Store
from tracejury.collector.store.judging import StoredJudging
from tracejury.schemas.rates import RateQuery

pytestmark = pytest.mark.store

T0 = 497_232 * HOUR


def judge(store: Store, number: int) -> None:
    """A trace of one run with a finding is judged."""
    trace_id = f"{number:032x}"
    found = a_finding(trace_id=trace_id, span_id=f"{number:016x}", id=f"f-{number}")
    judged = a_judged_trace(found, trace_id=trace_id, judged_at=T0, received=T0, runs=(a_run(),))
    StoredJudging(store).save([judged])


def counted(store: Store) -> tuple[int, int]:
    """Errors and facts that stand."""
    sql = "SELECT (SELECT count() FROM errors FINAL WHERE NOT Removed), (SELECT count() FROM run_facts FINAL)"
    errors, facts = store.rows(sql)[0]
    return int(errors), int(facts)


def test_a_list_derives_errors_and_leaves_facts_to_rates(store: Store) -> None:
    rates = StoredRates(store, lambda: T0 + HOUR)
    rates.refresh()  # the first one looks at what an earlier process left
    judge(store, 1)
    rates.refresh()
    assert counted(store) == (1, 0)
    judge(store, 2)
    assert rates.ask(RateQuery(0, 2**63 - 1)).total.judged == 2
    assert counted(store) == (2, 4)  # a run and a trace each


def test_what_is_touched_while_background_folding_works_waits_for_its_next_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = StoredRates(store, lambda: T0 + HOUR)
    steps = 0
    step = rates.folding.step

    def stepping(most: int) -> int:
        nonlocal steps
        steps += 1
        if steps < 4:
            judge(store, 10 + steps)  # the agents go on
        return step(most)

    monkeypatch.setattr(rates.folding, "step", stepping)
    judge(store, 1)
    RateUpkeep(store, rates.folding, clock=lambda: T0 + HOUR).fold()
    assert steps == 1


def test_lists_need_not_wait_for_all_of_background_folding(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a few traces at a time, and lets go of the lock between."""
    monkeypatch.setattr("tracejury.collector.rates.upkeep.AT_ONCE", 2)
    rates = StoredRates(store, lambda: T0 + HOUR)
    held: list[int] = []
    step = rates.folding.step

    def stepping(most: int) -> int:
        held.append(step(most))
        return held[-1]

    monkeypatch.setattr(rates.folding, "step", stepping)
    for number in range(5):
        judge(store, number)
    RateUpkeep(store, rates.folding, clock=lambda: T0 + HOUR, timer=lambda: 0).fold()
    assert held == [2, 2, 1]


def test_the_first_list_has_the_errors_of_an_earlier_process_beside_new_ones(store: Store) -> None:
    """Which died before it had derived them."""
    judge(store, 1)
    store.changes.take(100)
    judge(store, 2)
    StoredRates(store, lambda: T0 + HOUR).refresh()
    traces = store.rows("SELECT uniqExact(TraceId) FROM errors FINAL WHERE NOT Removed")
    assert traces == [(2,)]
