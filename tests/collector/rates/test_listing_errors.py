"""Lists of errors wait for errors alone, and background folding for nothing that comes meanwhile."""

from __future__ import annotations

import pytest
from store_parts import a_finding, a_judged_trace, a_run
from stored_readers import stored_reader
from tracejury.collector.rates.folding import Folding

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.rates import StoredRates, catching_up, folding
from tracejury.collector.rates.upkeep import RateUpkeep
from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.judging import StoredJudging
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
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
    rates = StoredRates(store)
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
    rates = StoredRates(store)
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
    rates = StoredRates(store)
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
    store.deletions.take(100)
    judge(store, 2)
    StoredRates(store).refresh()
    traces = store.rows("SELECT uniqExact(TraceId) FROM errors FINAL WHERE NOT Removed")
    assert traces == [(2,)]


def reader_of(store: Store) -> tuple[StoredReader, Folding]:
    """A reader, and what derives errors for it."""
    reader = stored_reader(store, AssemblerConfig(), lambda: T0 + HOUR)
    assert isinstance(reader.rates, StoredRates)
    return reader, reader.rates.folding


def listed(reader: StoredReader) -> list[tuple[int, bool]]:
    """Errors of each trace of the list, and whether it counts as judged."""
    rows = reader.traces(TraceQuery(Confidence(0.0, 0.0), 10))
    return [(sum(row.errors.values()), row.judged) for row in rows]


@pytest.mark.parametrize("died", [False, True], ids=["of this process", "of an earlier one"])
def test_a_list_of_traces_has_the_errors_of_those_that_it_shows(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, died: bool
) -> None:
    """However many others wait; where that would take too long they do not count as judged."""
    monkeypatch.setattr(folding, "AT_ONCE", 1)
    monkeypatch.setattr(catching_up, "PAGE", 2)
    monkeypatch.setattr("tracejury.collector.rates.rates.PATIENCE", 0.01)
    reader, made = reader_of(store)
    reader.rates.refresh()
    for number in range(5):
        judge(store, number)
    if died:
        store.deletions.take(100)
        store.deletions.lose()
        reader, made = reader_of(store)
    with made.lock:
        assert listed(reader) == [(0, False)] * 5
    assert listed(reader) == [(1, True)] * 5
    judge(store, 5)
    assert listed(reader) == [(1, True)] * 6
    for _ in range(10):
        reader.rates.refresh()
    assert counted(store)[0] == 6


def test_the_errors_of_one_trace_need_not_wait_for_those_of_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline decides by them."""
    monkeypatch.setattr(folding, "AT_ONCE", 1)
    reader, _ = reader_of(store)
    reader.rates.refresh()
    for number in range(5):
        judge(store, number)
    (located,) = reader.errors(ErrorQuery(Confidence(0.0, 0.0), 10, trace_id=f"{4:032x}"))
    assert located.error.trace_id == f"{4:032x}"


def test_a_trace_whose_errors_are_being_derived_does_not_count_as_judged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were taken, and are not stored yet; where that fails it goes on so."""
    monkeypatch.setattr("tracejury.collector.rates.rates.PATIENCE", 0.01)
    reader, made = reader_of(store)
    reader.rates.refresh()
    judge(store, 1)
    seen = []

    def fold(_tenant: str, _trace_ids: set[str]) -> None:
        seen.append(listed(reader))
        raise RetryableError("the store is away")

    monkeypatch.setattr(made, "_fold", fold)
    with made.lock, pytest.raises(RetryableError):
        made.step(10)
    with made.lock:
        seen.append(listed(reader))
    assert seen == [[(0, False)]] * 2
    assert listed(reader) == [(1, True)]
