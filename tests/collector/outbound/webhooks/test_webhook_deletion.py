"""What webhooks are told of traces that are deleted: over the real store, to a real receiver."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import pytest
from hook_server import Held, answer, hook_server, until
from store_parts import a_finding

from tracejury.collector.store.deletion import Deletion
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.queries.deletion import DeleteQuery

NOW = 2_000
HOUR = RetryPolicy(first=7200.0, longest=7200.0)


class Nobody:
    """Holds no trace in memory."""

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """Nothing."""

    def ask(self, keys: list[TraceKey]) -> None:
        """Nothing."""


def delete(bench: Any, trace_id: str, *, at: int) -> None:
    """As the collector does while a webhook is at work."""
    drop = lambda keys: bench.webhook.drop([trace_id for _, trace_id in keys])  # noqa: E731
    Deletion(bench.store, Nobody(), [drop], lambda: at).delete(DeleteQuery(trace_id))


async def test_nothing_is_told_of_a_trace_that_was_deleted(at_work: Any) -> None:
    """What waited for the receiver is forgotten at once; of other traces it is told."""
    kept = a_finding(trace_id="b" * 32)
    with hook_server(answer(503)) as server:
        async with at_work(server.url, retry=HOUR) as bench:
            bench.judge(a_finding())
            await until(lambda: bench.metric("tracejury_webhook_attempts_total") == 1)
            bench.judge(a_finding(category="Timeout Issues"), kept)
            await until(lambda: bench.webhook.waiting == 3)
            await asyncio.to_thread(delete, bench, a_finding().trace_id, at=NOW)
            await until(lambda: bench.webhook.waiting == 1)
        server.behave = answer(204)
        async with at_work(server.url) as bench:
            (marked,) = await bench.deliveries.wait(1)
            assert marked.trace_id == kept.trace_id
        assert len(server.received) == 2


async def test_a_trace_that_begins_anew_after_its_deletion_is_news(at_work: Any) -> None:
    """Also where it is deleted while its event is being sent: what was told of the old one is not kept."""
    finding = a_finding()
    with hook_server() as server:
        server.behave = held = Held(answer(204))
        async with at_work(server.url) as bench:
            bench.store.config = bench.store.config.model_copy(update={"tombstone_days": 0})
            bench.judge(finding)
            await asyncio.to_thread(server.wait, 1)
            await asyncio.to_thread(delete, bench, finding.trace_id, at=NOW)
            bench.judge(finding, received=NOW + 1)
            held.go_on.set()
            await asyncio.to_thread(server.wait, 2)
            await bench.deliveries.wait(2)
        assert bench.store.rows("SELECT count() FROM deliveries FINAL") == [(1,)]


async def test_a_deletion_that_breaks_off_tells_nothing_twice(at_work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it does: what was told is forgotten after what it was about."""
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(a_finding())
            await bench.deliveries.wait(1)
            command = bench.store.command

            def broken(sql: str, *of: Any, mutated: str = "") -> None:
                if "DELETE FROM findings" in sql:
                    raise RetryableError("the disk is full")
                command(sql, *of, mutated=mutated)

            monkeypatch.setattr(bench.store, "command", broken)
            with pytest.raises(RetryableError):
                await asyncio.to_thread(delete, bench, a_finding().trace_id, at=NOW)
            monkeypatch.undo()
        async with at_work(server.url) as bench:
            bench.judge(a_finding(trace_id="b" * 32))
            await bench.deliveries.wait(1)
        assert len(server.received) == 2


async def test_what_is_read_while_a_trace_is_deleted_is_not_told(at_work: Any) -> None:
    """The look at the store began before; so does what waits and is due."""
    kept = a_finding(trace_id="b" * 32)
    with hook_server() as server:
        async with at_work(server.url) as bench:
            look = bench.deliveries.read_findings

            def look_before(*of: Any) -> Any:
                found = look(*of)
                if found.found:
                    bench.deliveries.read_findings = look
                    delete(bench, a_finding().trace_id, at=NOW)
                return found

            bench.deliveries.read_findings = look_before
            bench.judge(a_finding())
            bench.judge(kept)
            (marked,) = await bench.deliveries.wait(1)
        assert marked.trace_id == kept.trace_id
        assert len(server.received) == 1
