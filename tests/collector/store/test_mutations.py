"""Deletions of what many parts hold."""

from __future__ import annotations

import threading

from store_parts import a_span

from tracejury.collector.store.client import Store
from tracejury.collector.store.mutations import hurried
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

PARTS = 15
PATIENCE = 30.0


def test_the_engine_is_told_to_go_on_until_the_statement_has_ended() -> None:
    """Not any more afterwards."""
    told: list[str] = []
    twice, threads = threading.Event(), threading.active_count()

    def go_on(sql: str) -> None:
        told.append(sql)
        if len(told) > 1:
            twice.set()

    with hurried(go_on, "spans"):
        assert twice.wait(PATIENCE)
    so_far = len(told)
    assert set(told) == {"SYSTEM START MERGES `spans`"}
    assert threading.active_count() == threads
    assert len(told) == so_far


def test_an_engine_that_cannot_be_told_fails_no_statement() -> None:
    """It goes on by itself, later."""
    told = threading.Event()

    def fail(_sql: str) -> None:
        told.set()
        raise ConnectionError

    with hurried(fail, "spans"):
        assert told.wait(PATIENCE)


def test_a_row_is_deleted_in_each_of_many_parts(store: Store) -> None:
    """Parts wait for others to be merged with; the client that deletes waits for all of them."""
    for number in range(PARTS):
        spans = [a_span(trace_id=trace_id, span_id=f"{number:016x}") for trace_id in ("a" * 32, "b" * 32)]
        store.insert("spans", SPAN_COLUMNS, span_columns(spans, number + 1))
    parts = "SELECT count() FROM system.parts WHERE active AND table = 'spans' AND database = currentDatabase()"
    assert store.rows(parts)[0][0] == PARTS
    store.command("DELETE FROM spans WHERE TraceId = {id:String}", {"id": "a" * 32}, mutated="spans")
    assert store.rows("SELECT DISTINCT TraceId FROM spans") == [("b" * 32,)]
