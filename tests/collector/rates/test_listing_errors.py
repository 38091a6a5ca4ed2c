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

    def stepping() -> int:
        nonlocal steps
        steps += 1
        if steps < 4:
            judge(store, 10 + steps)  # the agents go on
        return step()

    monkeypatch.setattr(rates.folding, "step", stepping)
    judge(store, 1)
    RateUpkeep(store, rates.folding, clock=lambda: T0 + HOUR).fold()
    assert steps == 1
