"""Two processes store words on one trace, and derive its errors, in any order of their statements."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rates_history import JUDGES, RULES, claim, runs_of
from several import differences, empty, processes
from sizes import sized
from store_parts import TRACE_ID, a_judged_subject, a_judged_trace

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.findings import FindingState


class Turns:
    """Lets the statements of two processes happen in the order of `order`, of their numbers; then in any order."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order, self._done = list(order), set[int]()
        self._changed = threading.Condition()

    def take(self, process: int) -> None:
        """Wait for the turn of a process, which ends with the statement that follows."""
        with self._changed:
            self._changed.wait_for(lambda: self._next() in (None, process), timeout=60)
            if self._order:
                self._order.pop(0)
            self._changed.notify_all()

    def end(self, process: int) -> None:
        """A process has no more statements."""
        with self._changed:
            self._done.add(process)
            self._changed.notify_all()

    def _next(self) -> int | None:
        while self._order and self._order[0] in self._done:
            self._order.pop(0)
        return self._order[0] if self._order else None


@contextmanager
def in_turn(stores: Sequence[SharedStore], turns: Turns) -> Iterator[None]:
    """Each statement waits for the turn of its process."""

    def waiting(process: int, call: Callable[..., Any]) -> Callable[..., Any]:
        def waited(*values: Any, **options: Any) -> Any:
            turns.take(process)
            return call(*values, **options)

        return waited

    with pytest.MonkeyPatch.context() as patch:
        for process, store in enumerate(stores):
            for name in ("rows", "command", "insert"):
                patch.setattr(store, name, waiting(process, getattr(store, name)))
        yield


@pytest.fixture(scope="module")
def stores(store_folder: Path) -> Iterator[list[SharedStore]]:
    """Two processes of one store, and a process of another one."""
    with processes(store_folder, 2) as two, processes(store_folder, 1) as one:
        yield [*two, *one]


BURSTS = st.lists(st.integers(1, 16), min_size=3, max_size=6).flatmap(
    lambda lengths: st.sampled_from([0, 1]).map(
        lambda first: [(first + at) % 2 for at, length in enumerate(lengths) for _ in range(length)]
    )
)
"""Statements of one process, then some of the other, and so on."""
NUMBERS = st.sets(st.integers(0, 5), min_size=1, max_size=4)


@given(st.lists(NUMBERS, min_size=3, max_size=3), BURSTS, st.booleans())
@settings(max_examples=sized(8, 200), suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
def test_errors_are_those_of_one_process(
    stores: list[SharedStore],
    claims: Sequence[set[int]],
    order: Sequence[int],
    llm: bool,  # noqa: FBT001  drawn
) -> None:
    """Detectors beside an LLM judge, or beside those of another process, that retract each other's findings."""
    for store in stores[1:]:
        empty(store)
    before, ours, theirs = claims
    runs = runs_of(TRACE_ID, 3)

    def detected(now: set[int], then: set[int], at: int) -> Any:
        gone = [claim(TRACE_ID, n, RULES[n % 2], FindingState.RETRACTED) for n in sorted(then - now)]
        found = [claim(TRACE_ID, n, RULES[n % 2]) for n in sorted(now)]
        return a_judged_trace(*found, judged_at=at, received=at, runs=runs, retracted=tuple(gone))

    def first(store: SharedStore) -> None:
        StoredJudging(store).save([detected(ours, before, 20)])

    def second(store: SharedStore) -> None:
        if llm:
            said = [claim(TRACE_ID, n, JUDGES[0]) for n in sorted(theirs)]
            StoredLlmJudging(store).save([a_judged_subject(JUDGES[0], *said, judged_at=30, received=10)])
        else:
            StoredJudging(store).save([detected(theirs, before | ours, 30)])

    for store in stores[1:]:
        StoredJudging(store).save([detected(before, set(), 10)])
    first(stores[2])
    second(stores[2])
    turns = Turns(order)

    def run(process: int) -> None:
        try:
            (first, second)[process](stores[process])
        finally:
            turns.end(process)

    with in_turn(stores[:2], turns), ThreadPoolExecutor(2) as threads:
        list(threads.map(run, range(2)))
    assert "\n".join(differences(stores[0], stores[2])) == ""
