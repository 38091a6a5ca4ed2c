"""An agent that only its own span names for certain, and whose span comes last: its errors stay the same errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_bench import TRACE, Bench
from late_roots import CONVENTIONS, late_root

from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import default_suite
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace, TraceState

names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)


def arrived(spans: list[Span]) -> Trace:
    return rebuild(map(normalize, spans), state=TraceState.OPEN)


def error_ids(trace: Trace) -> set[str]:
    return {error.id for error in standing_errors(default_suite().judge(trace).findings, trace.runs)}


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(stated=names, own=names, other=names)
def test_errors_depend_on_no_name_of_the_agent(convention: str, stated: str, own: str, other: str) -> None:
    """A run has the name that its calls state, then that of its span; its errors have the same ids, whatever it is."""
    spans = late_root(convention, stated, own)
    before, after = arrived(spans[:-1]), arrived(spans)
    assert [run.name for run in before.runs] == [stated]
    assert [run.name for run in after.runs] == [own]
    assert error_ids(before)
    assert error_ids(before) == error_ids(after) == error_ids(arrived(late_root(convention, other, other)))


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_stored_error_keeps_its_id_when_the_name_is_corrected(convention: str, store: SharedStore) -> None:
    """Nothing is taken back, and nothing new is found; lists show the name that the agent has by then."""
    *spans, root = late_root(convention, "archivist", "chief archivist", TRACE)
    bench = Bench(store, default_suite())
    errors = StoredErrors(store)
    bench.commit(*spans)
    bench.wait(1)
    before = errors.under([TRACE])[TRACE]
    assert before
    assert [run.name for run in bench.watch.judgings[-1].trace.runs] == ["archivist"]
    bench.commit(root)
    bench.wait(1)
    assert [run.name for run in bench.watch.judgings[-1].trace.runs] == ["chief archivist"]
    assert [error.id for error in errors.under([TRACE])[TRACE]] == [error.id for error in before]
    assert not any(judged.retracted for judged in bench.watch.judgings)
