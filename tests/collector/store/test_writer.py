"""The group commit: what is acknowledged, what is refused, and with what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from store_parts import TRACE_ID, a_log, a_span
from watched_store import WatchedStore, batch, group_behind_a_first, stored, until

from tracejury.collector.store.committer import CommittedGroup, batch_of_copy
from tracejury.collector.store.config import WriterConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.collector.worker.spill_files import SpillEntry, SpillFiles
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import PermanentError, RetryableError


@dataclass(frozen=True, slots=True)
class Hears:
    """Hears of commits, and makes a copy of each where there are files."""

    committed: Callable[[CommittedGroup], None]
    files: SpillFiles | None = None

    def copy_for(self, size: int) -> SpillEntry | None:  # noqa: ARG002  the protocol's signature
        return self.files.begin() if self.files else None


MANY_PARTS = DatabaseError("too many parts", code=252)
OUT_OF_MEMORY = DatabaseError("memory limit", code=241)


async def test_concurrent_requests_share_one_insert(watched: WatchedStore) -> None:
    """What arrives while an insert runs is committed by the next one, together."""
    writer = await watched.start_writer()
    assert await group_behind_a_first(watched, writer, [batch(n, spans=3) for n in range(20)]) == [0] * 20
    assert watched.inserts == [1, 60]
    assert (writer.counters.groups, writer.counters.committed_spans) == (2, 61)
    assert (writer.queue_batches, writer.queue_bytes) == (0, 0)


async def test_an_insert_waits_until_half_of_the_requests_in_flight_have_come(watched: WatchedStore) -> None:
    """They share it; those that are being decoded meanwhile share the next one."""
    writer = await watched.start_writer(in_flight=lambda: 4, linger=60)
    first = asyncio.create_task(writer.submit(batch(1)))
    for _ in range(100):
        await asyncio.sleep(0)
    assert (writer.queue_batches, writer.counters.groups) == (1, 0)
    await asyncio.gather(first, writer.submit(batch(2)))
    assert watched.inserts == [2]


@pytest.mark.parametrize(("linger", "most"), [(0.01, 1 << 20), (60, 1)], ids=["too long", "no room for more"])
async def test_an_insert_does_not_wait(watched: WatchedStore, linger: float, most: int) -> None:
    """What is being decoded may take long, and may never arrive."""
    writer = await watched.start_writer(WriterConfig(max_group_bytes=most), in_flight=lambda: 4, linger=linger)
    await writer.submit(batch(1))
    assert watched.inserts == [1]


async def test_a_writer_that_stops_waits_for_nobody(watched: WatchedStore) -> None:
    """What it has is committed."""
    writer = await watched.start_writer(in_flight=lambda: 4, linger=60)
    waiting = asyncio.create_task(writer.submit(batch(1)))
    await until(lambda: writer.queue_batches == 1)
    await writer.stop(30)
    await waiting
    assert watched.inserts == [1]


async def test_nothing_is_acknowledged_before_its_commit(watched: WatchedStore) -> None:
    """While the insert runs the submitter waits; once it is answered the span is readable."""
    writer = await watched.start_writer()
    watched.gate.clear()
    task = asyncio.create_task(writer.submit(batch(7)))
    await until(lambda: writer.counters.groups == 1)
    assert not task.done()
    assert stored(watched) == set()
    watched.gate.set()
    await task
    assert stored(watched) == {7}


async def test_only_the_culprit_of_a_group_is_refused(
    watched: WatchedStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that the engine cannot take (a lone surrogate) is refused for good; its neighbours are stored."""
    writer = await watched.start_writer(WriterConfig(dead_letter=str(tmp_path)))
    batches = [batch(n, text="\ud800" if n == 2 else "fine") for n in range(5)]
    outcomes = await group_behind_a_first(watched, writer, batches)
    assert [type(o) for o in outcomes] == [int, int, PermanentError, int, int]
    assert stored(watched) == {0xFFFF, 0, 1, 3, 4}
    assert (writer.counters.dead_lettered, writer.counters.failed_batches, writer.counters.failed_groups) == (1, 1, 1)
    assert not any(record.exc_info for record in caplog.records)


async def test_a_request_that_fails_again_and_again_is_kept_as_a_file(watched: WatchedStore, tmp_path: Path) -> None:
    """The dead-letter file holds why, and all of the request, also what could not be stored."""
    writer = await watched.start_writer(WriterConfig(dead_letter=str(tmp_path / "dead")))
    poison = Batch([a_span(name="\ud800")], [a_log(body="also")], 1)
    for _ in range(2):  # the same again takes no second file
        with pytest.raises(PermanentError, match="cannot take this request"):
            await writer.submit(poison)
    (file,) = (tmp_path / "dead").iterdir()
    head, span, record = map(json.loads, file.read_text().splitlines())
    assert head["reason"].startswith("UnicodeEncodeError")
    assert (head["spans"], head["logs"]) == (1, 1)
    assert span["span"]["name"] == "\ud800"
    assert record["log"]["body"] == "also"


@pytest.mark.parametrize(("failures", "refused"), [(1, False), (2, False), (3, True)])
async def test_attempts(watched: WatchedStore, tmp_path: Path, failures: int, *, refused: bool) -> None:
    """A request is tried `attempts` times (here 3) before it is given up."""
    writer = await watched.start_writer(WriterConfig(attempts=3, dead_letter=str(tmp_path)))
    watched.faults = {n: ValueError("strange") for n in range(failures)}
    if refused:
        with pytest.raises(PermanentError, match="ValueError: strange"):
            await writer.submit(batch(1))
    else:
        await writer.submit(batch(1))
    assert stored(watched) == (set() if refused else {1})
    assert writer.counters.dead_lettered == int(refused)


async def test_attempts_count_within_a_group(watched: WatchedStore, tmp_path: Path) -> None:
    """The failure of a group is nobody's own: each of its requests still has all its attempts."""
    writer = await watched.start_writer(WriterConfig(attempts=1, dead_letter=str(tmp_path)))
    watched.faults = {1: ValueError("of the group"), 2: ValueError("of the first request in it")}
    outcomes = await group_behind_a_first(watched, writer, [batch(1), batch(2)])
    assert isinstance(outcomes[0], PermanentError)
    assert outcomes[1] == 0
    assert watched.inserts == [1, 2, 1, 1]


@pytest.mark.parametrize("failure", [MANY_PARTS, OSError(28, "No space left on device"), DatabaseError("x", code=60)])
async def test_a_passing_failure_refuses_the_group_at_once(watched: WatchedStore, failure: Exception) -> None:
    """Where the store itself cannot take anything, all are told to try again, without an insert each."""
    writer = await watched.start_writer()
    watched.faults = {1: failure}
    outcomes = await group_behind_a_first(watched, writer, [batch(n) for n in range(3)])
    assert [type(o) for o in outcomes] == [RetryableError] * 3
    assert watched.inserts == [1, 3]
    assert (writer.counters.refused_batches, writer.counters.dead_lettered) == (3, 0)
    await writer.submit(batch(5))
    assert stored(watched) == {0xFFFF, 5}


async def test_a_group_too_large_for_memory_is_split(watched: WatchedStore) -> None:
    """At the engine's memory limit each request is tried alone; one that fails alone is told to try again."""
    writer = await watched.start_writer()
    watched.faults = {1: OUT_OF_MEMORY, 3: OUT_OF_MEMORY}
    outcomes = await group_behind_a_first(watched, writer, [batch(n) for n in range(3)])
    assert [type(o) for o in outcomes] == [int, RetryableError, int]
    assert watched.inserts == [1, 3, 1, 1, 1]
    assert stored(watched) == {0xFFFF, 0, 2}


async def test_a_missing_table_is_transient(watched: WatchedStore) -> None:
    """A real outage: refused retryably, stored once the table is back."""
    writer = await watched.start_writer()
    watched.command("RENAME TABLE spans TO away")
    with pytest.raises(RetryableError):
        await writer.submit(batch(1))
    watched.command("RENAME TABLE away TO spans")
    await writer.submit(batch(1))
    assert stored(watched) == {1}


async def test_logs_come_first_and_sending_again_is_safe(watched: WatchedStore) -> None:
    """A failure between the two inserts acknowledges nothing; the same request again is stored once."""
    writer = await watched.start_writer()
    request = Batch([a_span()], [a_log()], 1)
    watched.faults = {0: MANY_PARTS}
    with pytest.raises(RetryableError):
        await writer.submit(request)
    assert StoredJudging(watched).load_spans([TRACE_ID]) == {TRACE_ID: ([], [a_log()])}
    await writer.submit(request)
    spans, logs = StoredJudging(watched).load_spans([TRACE_ID])[TRACE_ID]
    assert (spans, logs) == ([a_span()], [a_log()])


async def test_arrival_times_grow_with_the_commits(watched: WatchedStore) -> None:
    """Every group's rows arrive later than those of the one before, also when the clock stands still or goes back."""
    clock = iter([1000, 1000, 500, 2000])
    seen: list[tuple[str, int]] = []
    hearer = Hears(lambda group: seen.extend((b.spans[0].span_id, group.received_at) for b in group.batches))
    writer = await watched.start_writer(None, hearer, clock=lambda: next(clock))
    for n in range(4):
        await writer.submit(batch(n))
    assert [at for _, at in seen] == [1000, 1001, 1002, 2000]
    spans, _ = StoredJudging(watched).load_spans([TRACE_ID])[TRACE_ID]
    assert sorted((s.span_id, s.received_at) for s in spans) == seen


async def test_a_commit_is_told_before_the_answer_and_in_order(watched: WatchedStore) -> None:
    """Committed batches are handed on in the order of submission; refused ones are not."""
    seen: list[str] = []
    writer = await watched.start_writer(None, Hears(lambda g: seen.extend(b.spans[0].span_id[:8] for b in g.batches)))
    batches = [batch(n, text="\ud800" if n == 1 else "") for n in range(4)]
    await group_behind_a_first(watched, writer, batches)
    assert [int(s, 16) for s in seen] == [0xFFFF, 0, 2, 3]


async def test_a_hearer_that_raises_refuses_nobody(watched: WatchedStore, caplog: pytest.LogCaptureFixture) -> None:
    """What is stored is acknowledged, whatever happens behind; it is counted and logged."""

    def broken(_group: CommittedGroup) -> None:
        raise RuntimeError("pipeline down")

    writer = await watched.start_writer(None, Hears(broken))
    await writer.submit(batch(1))
    assert stored(watched) == {1}
    assert writer.counters.not_handed_on == 1
    assert "could not be handed on" in caplog.text


async def test_a_copy_has_what_was_committed(watched: WatchedStore, tmp_path: Path) -> None:
    """Spans and log records of all batches of a group; one that is refused leaves nothing in the file."""
    files, groups = SpillFiles(tmp_path / "files"), list[CommittedGroup]()
    writer = await watched.start_writer(WriterConfig(dead_letter=str(tmp_path)), Hears(groups.append, files))
    await writer.submit(Batch(batch(1, spans=2).spans, [a_log()], 10))
    with pytest.raises(PermanentError):
        await writer.submit(batch(2, text="\ud800"))
    (group,) = groups
    assert group.copy is not None
    assert group.copy.is_whole
    again = batch_of_copy(group.copy)
    assert (sorted(again.spans, key=lambda s: s.span_id), again.logs) == (group.batches[0].spans, [a_log()])
    assert {item.received_at for items in (again.spans, again.logs) for item in items} == {group.received_at}
    assert files.size == 0


async def test_a_submitter_that_goes_away(watched: WatchedStore) -> None:
    """A cancelled request is committed with its group and disturbs nobody."""
    writer = await watched.start_writer()
    watched.gate.clear()
    first = asyncio.create_task(writer.submit(batch(1)))
    await until(lambda: writer.counters.groups == 1)
    gone, stays = (asyncio.create_task(writer.submit(batch(n))) for n in (2, 3))
    await until(lambda: writer.queue_batches == 3)
    gone.cancel()
    watched.gate.set()
    await asyncio.gather(first, stays)
    assert stored(watched) == {1, 2, 3}
    assert (writer.queue_batches, writer.queue_bytes) == (0, 0)


async def test_an_empty_batch_is_committed_at_once(watched: WatchedStore) -> None:
    """Nothing to store is a success, whatever state the writer is in."""
    writer = GroupCommitWriter(watched)
    await writer.submit(Batch())
    assert writer.counters.groups == 0


async def test_stop_drains_and_then_refuses(watched: WatchedStore) -> None:
    """What waits is committed; what comes later is told to try again."""
    writer = await watched.start_writer()
    watched.gate.clear()
    tasks = [asyncio.create_task(writer.submit(batch(n))) for n in range(5)]
    await until(lambda: writer.queue_batches == 5)
    stopping = asyncio.create_task(writer.stop(30))
    await asyncio.sleep(0)
    with pytest.raises(RetryableError, match="shutting down"):
        await writer.submit(batch(9))
    watched.gate.set()
    await asyncio.gather(stopping, *tasks)
    assert stored(watched) == set(range(5))
    await writer.stop(30)  # idempotent
    with pytest.raises(RetryableError, match="shutting down"):
        await writer.submit(batch(9))


async def test_stop_keeps_its_deadline(watched: WatchedStore) -> None:
    """An insert that does not end in time is given up: everyone who waits is told to try again."""
    writer = await watched.start_writer()
    watched.gate.clear()
    tasks = [asyncio.create_task(writer.submit(batch(1)))]
    await until(lambda: writer.counters.groups == 1)
    tasks.append(asyncio.create_task(writer.submit(batch(2))))
    await until(lambda: writer.queue_batches == 2)
    await writer.stop(0.01)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(o) for o in outcomes] == [RetryableError] * 2
    assert (writer.queue_batches, writer.queue_bytes) == (0, 0)
    watched.gate.set()


async def test_stop_without_start(watched: WatchedStore) -> None:
    """Safe, at once, and start works afterwards."""
    writer = GroupCommitWriter(watched)
    await writer.stop(10)
    await writer.start()
    await writer.start()  # idempotent
    await writer.submit(batch(1))
    await writer.stop(10)
    assert stored(watched) == {1}


async def test_a_failure_that_nobody_foresaw_ends_nothing(watched: WatchedStore) -> None:
    """Its group is refused retryably, and the next one is stored."""
    writer = await watched.start_writer(WriterConfig(attempts=1, dead_letter="no\0folder"))
    with pytest.raises(RetryableError, match="reason of ours"):
        await writer.submit(batch(1, text="\ud800"))
    await writer.submit(batch(2))
    assert stored(watched) == {2}
    assert (writer.queue_batches, writer.queue_bytes) == (0, 0)
