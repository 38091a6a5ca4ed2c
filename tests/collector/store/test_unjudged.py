"""The sweep for unfinished traces: it finds what a look at everything would, and reads what is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized
from store_parts import a_judged_trace, a_log, a_span

from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.unjudged import MARGIN, UnjudgedSweep, forget_sweeps
from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.judged_rows import JUDGEMENT_COLUMNS, judgement_row
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome

NOON = 1_700_000_000 * SECOND
TABLES = ("spans", "logs", "judgements", "sweeps")


@dataclass
class History:
    """Rows written to a store at times of a clock of its own, and what is unfinished by all of them."""

    store: Store
    now: int = NOON
    spans: dict[tuple[TraceKey, str], tuple[bool, int, int]] = field(default_factory=dict)
    logs: dict[TraceKey, int] = field(default_factory=dict)
    words: dict[TraceKey, list[tuple[int, int, str, str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table in TABLES:
            self.store.command(f"TRUNCATE TABLE {table}")
        self.sweep = UnjudgedSweep(self.store, lambda: self.now)

    def span(self, key: TraceKey, span_id: str, end: int, *, pending: bool) -> None:
        self.now += 1
        row = a_span(tenant=key[0], trace_id=key[1], span_id=span_id * 16, end=end, pending=pending)
        self.store.insert("spans", SPAN_COLUMNS, span_columns([row], self.now))
        old = self.spans.get((key, span_id), (False, -1, -1))
        self.spans[key, span_id] = max(old, (not pending, end, self.now))

    def log(self, key: TraceKey) -> None:
        self.now += 1
        row = a_log(tenant=key[0], trace_id=key[1])
        self.store.insert("logs", LOG_COLUMNS, log_columns([row], self.now))
        self.logs[key] = self.now

    def judge(self, key: TraceKey, state: TraceState, outcome: Outcome, version: str, back: int, ago: int) -> None:
        """As of `back` nanos before its latest arrival, stamped `ago` before now."""
        self.now += 1
        received, at = self._arrived(key) - back, self.now - ago
        judged = a_judged_trace(
            tenant=key[0], trace_id=key[1], judged_at=at, received=received, version=version, outcome=outcome
        ).judgement
        insert_rows(self.store, "judgements", JUDGEMENT_COLUMNS, [judgement_row(judged, state)])
        self.words.setdefault(key, []).append((at, received, state.value, outcome.value, version))

    def delete(self, key: TraceKey) -> None:
        values = {"tenant": key[0], "id": key[1]}
        for table in TABLES[:3]:
            self.store.command(
                f"DELETE FROM {table} WHERE tenant = {{tenant:String}} AND TraceId = {{id:String}}", values
            )
        self.spans = {place: copy for place, copy in self.spans.items() if place[0] != key}
        self.logs.pop(key, None)
        self.words.pop(key, None)

    def unfinished(self, version: str) -> list[TraceKey]:
        """By a look at all rows."""
        found = []
        for key in {place[0] for place in self.spans}:
            _, received, state, outcome, by = max(self.words.get(key, [(0, 0, "", "", "")]))
            if self._arrived(key) > received or state == "open" or (outcome == "failed" and by != version):
                found.append((self._arrived(key), key))
        return [key for _, key in sorted(found)]

    def _arrived(self, key: TraceKey) -> int:
        return max([self.logs.get(key, 0), *(copy[2] for place, copy in self.spans.items() if place[0] == key)])


KEYS = st.tuples(st.sampled_from(["", "shop"]), st.sampled_from(["a" * 32, "b" * 32]))
MINUTES = st.sampled_from([0, 1, 4, 6, 20, 600])
STEPS = st.one_of(
    st.tuples(st.just("span"), KEYS, st.sampled_from("12"), st.sampled_from([5, 7]), st.booleans()),
    st.tuples(st.just("span"), KEYS, st.sampled_from("12"), st.sampled_from([5, 7]), st.booleans()),
    st.tuples(st.just("log"), KEYS),
    st.tuples(
        st.just("judge"), KEYS, st.sampled_from([TraceState.OPEN, TraceState.SETTLED, TraceState.SETTLED]),
        st.sampled_from([Outcome.DONE, Outcome.DONE, Outcome.FAILED]), st.sampled_from("vw"),
        st.sampled_from([0, 0, 1, 400 * SECOND]), st.sampled_from([0, 0, SECOND, 60 * SECOND]),
    ),
    st.tuples(st.just("delete"), KEYS),
)  # fmt: skip


@settings(
    max_examples=sized(10, 400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(st.tuples(MINUTES, STEPS, st.sampled_from(["", "v", "w"])), max_size=14))
def test_a_sweep_finds_what_a_look_at_everything_would(store: Store, steps: list[tuple[int, Any, str]]) -> None:
    """Whatever arrives, is judged and deleted between sweeps, by whichever version, in whatever order."""
    history = History(store)
    for minutes, (name, *values), version in steps:
        history.now += minutes * 60 * SECOND
        if name == "span":
            key, span_id, end, pending = values
            history.span(key, span_id, end, pending=pending)
        else:
            getattr(history, name)(*values)
        if version:
            assert history.sweep.find(version, 100) == history.unfinished(version)


def noted(store: Store) -> int:
    return int(store.rows("SELECT max(Through) FROM sweeps FINAL")[0][0])


def finished(history: History, key: TraceKey = ("", "a" * 32)) -> None:
    """A trace that is judged."""
    history.span(key, "1", 5, pending=False)
    history.judge(key, TraceState.SETTLED, Outcome.DONE, "v", 0, 0)


def test_what_was_finished_is_not_read_again(store: Store) -> None:
    """The note moves with what arrives, up to what is unfinished."""
    history = History(store)
    finished(history)
    assert history.sweep.find("v", 10) == []
    first = history.now - 1
    assert noted(store) == first - MARGIN
    history.now += 7200 * SECOND
    history.span(("", "c" * 32), "1", 5, pending=False)
    left = history.now
    history.now += 7200 * SECOND
    finished(history)
    assert history.sweep.find("v", 10) == [("", "c" * 32)]
    assert noted(store) == left - MARGIN
    assert history.sweep.find("v", 10) == [("", "c" * 32)]


def test_a_clock_that_was_set_back_hides_nothing(store: Store) -> None:
    """What arrives earlier than the note says is found by a look at everything."""
    history = History(store)
    finished(history)
    assert history.sweep.find("v", 10) == []
    history.now = NOON - 24 * 3600 * SECOND
    history.span(("", "c" * 32), "1", 5, pending=False)
    assert history.sweep.find("v", 10) == [("", "c" * 32)]
    history.now = NOON + 3600 * SECOND
    assert history.sweep.find("v", 10) == [("", "c" * 32)]


@pytest.mark.parametrize("repaired", [False, True])
def test_a_store_that_lost_judgements_is_read_as_a_whole(store: Store, *, repaired: bool) -> None:
    """As long as it is known to be incomplete, and once more after its repair."""
    history = History(store)
    finished(history)
    assert history.sweep.find("v", 10) == []
    store.command("TRUNCATE TABLE judgements")
    if repaired:
        forget_sweeps(store)
    store.is_incomplete = not repaired
    assert history.sweep.find("v", 10) == [("", "a" * 32)]
