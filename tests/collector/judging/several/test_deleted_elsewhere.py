"""A trace is deleted by one process while another one takes it in and judges it: nothing of it comes back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from judging_bench import TRACE, Bench, span
from several import before_statement, empty, processes
from sizes import sized

from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.deletions import Deletions
from tracejury.collector.store.given_opinions import GivenOpinions
from tracejury.collector.store.lists.pending import list_pending
from tracejury.collector.store.tombstones import Tombstones
from tracejury.processors.assemble import SECOND
from tracejury.schemas.queries.deletion import DeleteQuery

OF_TRACE = ("spans", "logs", "traces", "findings", "errors", "run_facts", "judgements", "verdicts", "joins", "texts")


def test_nothing_of_a_deleted_trace_comes_back(store_folder: Path, tmp_path: Path) -> None:
    """Whenever the deletion comes, and when its spans are sent once more afterwards."""
    with processes(store_folder, 2) as (ours, other):
        number, statements = 4, 5
        while number < statements:
            bench = Bench(other, dead_letters=tmp_path, now=time.time_ns() - 300 * SECOND)  # its clock is late
            deleting = Bench(ours, dead_letters=tmp_path, now=time.time_ns())
            deletion = Deletion(ours, deleting.judging)

            deleted: list[int] = []

            def delete(deletion: Deletion = deletion, deleted: list[int] = deleted) -> None:
                deleted.append(deletion.delete(DeleteQuery(trace_id=TRACE)).traces)

            with before_statement(other, number, delete) as counted:
                bench.commit(span("1", output="boom"))
                bench.wait(1)
                bench.commit(span("2", parent="1", output="boom boom"))
                bench.wait(30)
            statements = counted[0]
            if any(deleted):  # else nothing was stored yet
                bench.commit(span("3", parent="1", output="boom"))
                for one in (bench, deleting, bench):
                    one.wait(30)
                found = {
                    table: rows
                    for table in OF_TRACE
                    if (rows := ours.rows(f"SELECT * FROM {table} FINAL WHERE TraceId = '{TRACE}'"))
                }
                assert found == {}, number
            for store in (ours, other):  # as of new processes
                store.tombstones, store.deletions = Tombstones(), Deletions()
                store.opinions = GivenOpinions(store.deletions)
            empty(ours)
            number += sized(9, 1)


def test_a_trace_that_waits_is_not_listed_once_another_process_has_deleted_it(
    store_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion comes between what the statement that lists it reads and what it writes."""
    with processes(store_folder, 2) as (ours, other):
        Bench(other, dead_letters=tmp_path).commit(span("1", output="boom"))
        deletion = Deletion(ours, Bench(ours, dead_letters=tmp_path).judging)
        command = other.command

        def in_two_steps(sql: str, *values: Any, **options: Any) -> None:
            assert "INSERT INTO traces" in sql
            monkeypatch.undo()
            command("CREATE TABLE read AS traces")
            command(sql.replace("INSERT INTO traces", "INSERT INTO read"), *values, **options)
            assert other.rows("SELECT TraceId FROM read") == [(TRACE,)]
            assert deletion.delete(DeleteQuery(trace_id=TRACE)).traces == 1
            command("INSERT INTO traces SELECT * FROM read")

        monkeypatch.setattr(other, "command", in_two_steps)
        list_pending(other)
        assert ours.rows("SELECT * FROM traces FINAL") == []
