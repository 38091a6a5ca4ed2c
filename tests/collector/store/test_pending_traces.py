"""Traces that are stored and not judged yet: lists have them once they have waited for a second."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_trace, a_log, a_run, a_span

from tracejury.collector.queries.stored_reader import stored_session
from tracejury.collector.rates import StoredRates
from tracejury.collector.store import pending_traces
from tracejury.collector.store.committer import Committed, Committer, WriterCounters
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists import SessionLists, TraceLists, pending
from tracejury.collector.store.lists.pending import SESSION_VALUES, list_pending
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.collector.store.unjudged import MARGIN, UnjudgedSweep
from tracejury.processors.normalize import normalize
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import StoreError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.conversation import SessionView
from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import Confidence, Position, TraceQuery, TraceRow
from tracejury.schemas.rates import RateQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import ToolCall, TraceState, Turn, TurnKind

CALLED = Turn(0, TurnKind.ACT, None, (ToolCall("look up", None, None, None, None, None),))

OTHER = "f" * 32
Commit = Callable[..., int]


@pytest.fixture
def commit(store: SharedStore, tmp_path: Any) -> Commit:
    """Commits rows as the writer does; gives their time of arrival."""
    times = iter(range(1, 1_000_000))
    committer = Committer(store, DeadLetterFolder(tmp_path, 0), WriterCounters(), clock=lambda: next(times))

    def commit(*rows: Span | LogRecord) -> int:
        spans = [row for row in rows if isinstance(row, Span)]
        (outcome,) = committer.commit([Batch(spans, [row for row in rows if isinstance(row, LogRecord)], 1)])
        assert isinstance(outcome, Committed)
        return outcome.received_at

    return commit


@contextmanager
def restarted(store: SharedStore) -> Any:
    """The same database in the hands of a process that knows nothing of it."""
    fresh = SharedStore.open(f"chdb://{store.folder}?database={store.database}", StoreConfig(retention_days=None))
    try:
        yield fresh
    finally:
        fresh.close()


def listed(store: SharedStore, **query: Any) -> list[TraceRow]:
    """As the worker's next step leaves them."""
    list_pending(store)
    fields: dict[str, Any] = {"confidence": Confidence(0.0, 0.0), "limit": 100}
    return TraceLists(store).find(TraceQuery(**fields | query))


def ids(store: SharedStore, **query: Any) -> list[str]:
    return [row.trace_id for row in listed(store, **query)]


def test_a_committed_trace_is_listed_before_it_is_judged(store: SharedStore, commit: Commit) -> None:
    """As far as its spans tell; a span that was sent twice counts once."""
    commit(a_span(name="agent", start=5, end=9), a_log())
    at = commit(a_span(name="agent", start=5, end=9), a_span(span_id="c" * 16, parent_span_id="p", start=2, end=30))
    (row,) = listed(store)
    assert (row.judged, row.state, row.spans, row.errors) == (False, TraceState.OPEN, 2, dict.fromkeys(Severity, 0))
    assert (row.service, row.name, row.start, row.end, row.received) == ("shop", "agent", 2, 30, at)


def test_its_session_is_the_one_that_judging_finds(store: SharedStore, commit: Commit) -> None:
    """Of each key, on spans of each convention and on those of none; the root's before those of other spans."""
    keys, marks = SESSION_VALUES["session_keys"], SESSION_VALUES["session_marks"]
    spans = {
        f"{number:032x}": a_span(trace_id=f"{number:032x}", attributes={key: "talk"} | dict.fromkeys(marked, "AGENT"))
        for number, (key, marked) in enumerate(product(sorted(set(keys)), [[], *({one[0]: 0} for one in marks)]))
    }
    commit(*spans.values())
    found = {row.trace_id: row.session_id for row in listed(store, limit=1000)}
    assert found == {trace_id: normalize(span).session_id for trace_id, span in spans.items()}
    assert {"", "talk"} == set(found.values())
    kind = {"openinference.span.kind": "AGENT"}
    commit(
        a_span(trace_id=OTHER, span_id="1" * 16, start=9, attributes=kind | {"session.id": "the root's"}),
        a_span(
            trace_id=OTHER, span_id="2" * 16, start=1, parent_span_id="1" * 16, attributes=kind | {"session.id": "x"}
        ),
    )
    assert [row.session_id for row in listed(store, session_id="the root's")] == ["the root's"]


def test_a_session_has_the_traces_that_wait(store: SharedStore, commit: Commit) -> None:
    """They are counted and marked, in the list and in the conversation; judging replaces them."""
    talk = {"openinference.span.kind": "AGENT", "session.id": "talk"}
    at = commit(a_span(start=5, end=9, attributes=talk))
    called: dict[str, Any] = {"runs": (a_run(turns=(CALLED,)),), "session_id": "talk"}
    StoredJudging(store).save([a_judged_trace(received=at, start=5, end=9, **called)])
    at = commit(a_span(trace_id=OTHER, start=20, end=30, attributes=talk))
    list_pending(store)
    assert set(TraceDeleter(store).of_session("talk")) == {TRACE_ID, OTHER}

    def session() -> SessionView:
        found = stored_session(Scope(store), "talk", Confidence(0.0, 0.0))
        assert found is not None
        return found

    (row,) = SessionLists(store).find(TraceQuery(Confidence(0.0, 0.0), 10))
    assert (row.session_id, row.traces, row.unjudged_traces, row.end) == ("talk", 2, 1, 30)
    assert [(one.trace_id, one.judged) for one in session().exchanges] == [(TRACE_ID, True), (OTHER, False)]
    of_other: dict[str, Any] = {"trace_id": OTHER, "received": at, "start": 20, "end": 30}
    StoredJudging(store).save([a_judged_trace(**of_other, **called)])
    assert session().session.unjudged_traces == 0
    assert all(one.judged for one in session().exchanges)
    StoredJudging(store).save([a_judged_trace(**of_other, **called | {"runs": (a_run(turns=()),)}, judged_at=2)])
    assert session().session.unjudged_traces == 1  # it was looked at, and called nothing
    assert [one.judged for one in session().exchanges] == [True, False]


def test_calls_beside_agents_are_no_exchange_of_a_session(store: SharedStore) -> None:
    """Nor its goal in a list, though they began first; what was found there stands at the trace's first exchange."""
    runs = (a_run(id="b", goal="word it", inferred=True, beside=True), a_run(turns=(CALLED,)))
    found = a_finding(agent_run_id="b")
    StoredJudging(store).save([a_judged_trace(found, session_id="talk", runs=runs)])
    talk = stored_session(Scope(store), "talk", Confidence(0.0, 0.0))
    assert talk is not None
    assert [(one.goal, len(one.errors)) for one in talk.exchanges] == [("buy milk", 1)]
    (row,) = TraceLists(store).find(TraceQuery(Confidence(0.0, 0.0), 10))
    assert row.goal == "buy milk"


def test_more_spans_change_the_row(store: SharedStore, commit: Commit) -> None:
    """Also of a trace that was listed before."""
    commit(a_span())
    assert [row.spans for row in listed(store)] == [1]
    commit(a_span(span_id="c" * 16))
    assert [row.spans for row in listed(store)] == [2]


def test_judging_replaces_the_row(store: SharedStore, commit: Commit) -> None:
    """Whichever is stored first; spans that come later do not bring it back."""
    at = commit(a_span())
    listed(store)
    StoredJudging(store).save([a_judged_trace(received=at)])
    commit(a_span(span_id="c" * 16))
    (row,) = listed(store)
    assert (row.not_judged, row.state) == (None, TraceState.SETTLED)


def test_a_restarted_process_lists_what_was_never_judged(store: SharedStore, commit: Commit) -> None:
    """Its first answer has it; a judged trace stays as it was judged."""
    at = commit(a_span(), a_span(trace_id=OTHER))
    StoredJudging(store).save([a_judged_trace(received=at)])
    with restarted(store) as fresh:
        assert {row.trace_id: row.not_judged is not NotJudged.WAITING for row in listed(fresh)} == {
            TRACE_ID: True,
            OTHER: False,
        }


@pytest.mark.parametrize(("forgotten", "looks_since"), [([], 9), ([4], 3), ([4, 7], 3), ([1], 0)])
@pytest.mark.parametrize("most", [1, 1000])
def test_a_restarted_process_looks_at_what_may_not_be_finished(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch, forgotten: list[int], looks_since: int, most: int
) -> None:
    """And not at all that was ever stored: a sweep noted until when everything was judged. Times in `MARGIN`."""
    judging = StoredJudging(store)
    monkeypatch.setattr(pending, "MOST", most)

    def arrive(number: int, *, judged: bool) -> None:
        trace_id, at = f"{number:032x}", number * MARGIN
        store.insert("spans", SPAN_COLUMNS, span_columns([a_span(trace_id=trace_id)], at))
        if judged:
            judging.save([a_judged_trace(trace_id=trace_id, received=at, judged_at=at)])

    for number in range(1, 11):
        arrive(number, judged=number not in forgotten)
    UnjudgedSweep(store, lambda: 10 * MARGIN).find("v1", 10)
    arrive(11, judged=False)
    with restarted(store) as fresh:
        asked: list[dict[str, Any]] = []
        rows = fresh.rows

        def noted(sql: str, *values: dict[str, Any]) -> list[tuple[Any, ...]]:
            asked.extend(values)
            return list(rows(sql, *values))

        monkeypatch.setattr(fresh, "rows", noted)
        judged = {int(row.trace_id, 16): row.not_judged is not NotJudged.WAITING for row in listed(fresh)}
    assert judged == {number: number not in {*forgotten, 11} for number in range(1, 12)}
    assert [values["since"] for values in asked if "since" in values] == [looks_since * MARGIN]


@pytest.mark.parametrize("most", [1, 1000])
def test_many_at_once(store: SharedStore, commit: Commit, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Whether they are named or looked for by their arrival."""
    monkeypatch.setattr(pending_traces, "MOST", most)
    listed(store)
    commit(a_span(trace_id=OTHER, span_id="1" * 16))
    commit(*(a_span(trace_id=f"{number:032x}") for number in range(20)), a_span(trace_id=OTHER))
    assert {row.trace_id: row.spans for row in listed(store)} == {
        OTHER: 2,
        **{f"{number:032x}": 1 for number in range(20)},
    }


def test_nothing_is_asked_where_nothing_waits(
    store: SharedStore, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's step costs a statement only where traces arrived that nobody judged."""
    at = commit(a_span())
    listed(store)
    commit(a_span())
    StoredJudging(store).save([a_judged_trace(received=at)])
    statements: list[str] = []
    monkeypatch.setattr(store, "command", lambda sql, *_: statements.append(sql))
    listed(store)
    assert statements == []
    commit(a_span())
    listed(store)
    assert len(statements) == 1


def test_filters_orders_and_pages(store: SharedStore, commit: Commit) -> None:
    """A pending trace is found by what its spans say, and by nothing that only judging finds."""
    at = commit(a_span(start=100, end=200))
    StoredJudging(store).save([a_judged_trace(a_finding(), received=at, start=100, end=200)])
    commit(a_span(trace_id=OTHER, service="desk", start=50, end=400))
    assert ids(store) == [OTHER, TRACE_ID]
    assert ids(store, sort=Sort.START) == [TRACE_ID, OTHER]
    assert ids(store, sort=Sort.DURATION) == [OTHER, TRACE_ID]
    assert ids(store, sort=Sort.ERRORS) == ids(store, sort=Sort.FINDINGS) == [TRACE_ID, OTHER]
    assert ids(store, sort=Sort.COST, ascending=True) == [OTHER, TRACE_ID]
    assert ids(store, state=TraceState.OPEN) == ids(store, service="desk") == [OTHER]
    assert ids(store, severity=Severity.LOW) == ids(store, category="Resource Abuse") == [TRACE_ID]
    assert ids(store, agent="planner") == [TRACE_ID]
    (first,) = listed(store, limit=1)
    assert ids(store, before=Position(first.place, first.order_id)) == [TRACE_ID]
    assert [name for name, _ in TraceLists(store).facets(0, 0, "").services] == ["desk", "shop"]


def test_a_deleted_trace_does_not_come_back(store: SharedStore, commit: Commit) -> None:
    """Neither one that waits to be listed, nor while it is being deleted."""
    at = commit(a_span())
    store.deletions.hold([("", TRACE_ID)], at)
    assert ids(store) == []
    TraceDeleter(store).delete([TRACE_ID], at)
    store.deletions.let_go([("", TRACE_ID)])
    assert ids(store) == []
    with restarted(store) as fresh:
        assert ids(fresh) == []


def test_a_store_that_takes_no_rows_still_lists(
    store: SharedStore, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it cannot write now it writes later."""
    commit(a_span())

    def full(*_: object) -> None:
        raise StoreError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, "command", full)
        with pytest.raises(StoreError, match="no space left"):
            list_pending(store)
        assert TraceLists(store).find(TraceQuery(Confidence(0.0, 0.0), 10)) == []
    assert ids(store) == [TRACE_ID]


def test_a_trace_that_is_judged_soon_gets_no_row_of_its_own(store: SharedStore, commit: Commit) -> None:
    """The worker writes of what has waited for a while."""
    list_pending(store)  # of what an earlier process left
    at = commit(a_span())
    list_pending(store, at)
    assert store.rows("SELECT count() FROM traces") == [(0,)]
    list_pending(store, at + 1)
    assert store.rows("SELECT JudgedAt FROM traces") == [(0,)]


def test_unjudged_traces_are_counted(store: SharedStore, commit: Commit) -> None:
    """Never judged, or with spans since; a copy of a span is no news."""
    lists = TraceLists(store)
    at = commit(a_span())
    assert (lists.count_unjudged(0, "", ""), lists.count_unjudged(0, "desk", "")) == (1, 0)
    StoredJudging(store).save([a_judged_trace(received=at)])
    assert lists.count_unjudged(0, "", "") == 0
    later = commit(a_span(trace_id=OTHER, service="desk"), replace(a_span(), span_id="c" * 16))
    assert lists.count_unjudged(0, "", "") == 2
    assert lists.count_unjudged(0, "desk", "") == lists.count_unjudged(0, "", OTHER) == 1
    assert (lists.count_unjudged(later, "", ""), lists.count_unjudged(later + 1, "", "")) == (2, 0)


def test_pending_traces_are_told_beside_rates(store: SharedStore, commit: Commit) -> None:
    """Of the service and the time that are asked for, and only until they are judged."""
    at = commit(a_span())
    query = RateQuery(since=0, until=at + 10**9)
    list_pending(store)
    rates = StoredRates(store)
    assert rates.ask(query).unjudged.counts == {"traces not judged yet": 1}
    assert rates.ask(replace(query, service="shop")).unjudged.counts == {"traces not judged yet": 1}
    assert rates.ask(replace(query, service="desk")).unjudged.counts == {}
    assert rates.ask(replace(query, until=at)).unjudged.counts == {}
    StoredJudging(store).save([a_judged_trace(received=at)])
    assert "traces not judged yet" not in rates.ask(query).unjudged.counts
