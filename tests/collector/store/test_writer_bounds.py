"""The group commit's bounds: the queue, one insert, the disk, the dead-letter folder."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from watched_store import WatchedStore, batch, group_behind_a_first, stored, until

from tracejury.collector.store.config import WriterConfig
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.schemas.errors import OverloadedError, RetryableError


@pytest.mark.parametrize(
    ("limits", "fits", "refused"),
    [
        ({"max_queue_requests": 3}, [1, 1], False),
        ({"max_queue_requests": 3}, [1, 1, 1], True),
        ({"max_queue_bytes": 100}, [50, 49], False),
        ({"max_queue_bytes": 100}, [50, 50], True),
    ],
)
async def test_the_queue_is_bounded(
    watched: WatchedStore, limits: dict[str, int], fits: list[int], *, refused: bool
) -> None:
    """Below and at the bounds requests wait (one more of size 1 than `fits` here), beyond they are refused."""
    writer = await watched.start_writer(WriterConfig(**limits))  # type: ignore[arg-type]  # ints by name
    watched.gate.clear()
    tasks = [asyncio.create_task(writer.submit(batch(n, size=size))) for n, size in enumerate(fits)]
    await until(lambda: writer.queue_batches == len(fits))
    last = asyncio.create_task(writer.submit(batch(99, size=1)))
    if refused:
        with pytest.raises(OverloadedError, match="queue is full"):
            await last
    else:
        await until(lambda: writer.queue_batches == len(fits) + 1)
    watched.gate.set()
    await asyncio.gather(*tasks, *([] if refused else [last]))
    assert writer.counters.refused_batches == int(refused)
    assert writer.queue_bytes == 0


async def test_a_request_above_the_bound_passes_alone(watched: WatchedStore) -> None:
    """A bound never makes a request impossible: an empty queue takes it."""
    writer = await watched.start_writer(WriterConfig(max_queue_bytes=10, max_group_bytes=10))
    await writer.submit(batch(1, size=1_000))
    assert stored(watched) == {1}


@pytest.mark.parametrize(
    ("limits", "inserts"),
    [({"max_group_items": 4}, [1, 4, 2]), ({"max_group_items": 5}, [1, 4, 2]), ({"max_group_bytes": 10}, [1, 2, 2, 2])],
)
async def test_one_insert_is_bounded(watched: WatchedStore, limits: dict[str, int], inserts: list[int]) -> None:
    """A group ends before the request that would exceed its bounds (three requests of 2 spans and 9 bytes here)."""
    writer = await watched.start_writer(WriterConfig(**limits))  # type: ignore[arg-type]  # ints by name
    await group_behind_a_first(watched, writer, [batch(n, size=9, spans=2) for n in range(3)])
    assert watched.inserts == inserts


@pytest.mark.parametrize(("free", "refused"), [(999, True), (1000, False), (1001, False), (None, False)])
async def test_a_nearly_full_disk_refuses_retryably(
    watched: WatchedStore, free: int | None, caplog: pytest.LogCaptureFixture, *, refused: bool
) -> None:
    """Below `min_free_bytes` everything is refused, with a long pause, and one line at the start says so.

    An unknown disk (a server's) never is.
    """
    writer = await watched.start_writer(WriterConfig(min_free_bytes=1000), free_bytes=lambda: free)
    assert [record.levelname for record in caplog.records if "nearly full" in record.message] == ["WARNING"] * refused
    if refused:
        with pytest.raises(RetryableError, match="disk is nearly full") as full:
            await writer.submit(batch(1))
        assert full.value.retry_after >= 10
    else:
        await writer.submit(batch(1))


async def test_a_folder_that_is_gone_refuses_retryably(watched: WatchedStore, tmp_path: Path) -> None:
    """It may come back: an unmounted disk, a folder moved away by mistake."""
    writer = await watched.start_writer(free_bytes=lambda: shutil.disk_usage(tmp_path / "gone").free)
    with pytest.raises(RetryableError, match="No such file or directory"):
        await writer.submit(batch(1))


def test_the_disk_of_an_embedded_store_is_known(store: SharedStore) -> None:
    """By default the free space is that of the store's own disk."""
    free = store.free_bytes()
    assert free is not None
    assert free > 0


async def test_an_unwritable_dead_letter_folder_refuses_retryably(watched: WatchedStore, tmp_path: Path) -> None:
    """Where the copy cannot be kept the request is not given up: its sender still has it."""
    (tmp_path / "file").write_text("")
    writer = await watched.start_writer(WriterConfig(dead_letter=str(tmp_path / "file")))
    with pytest.raises(RetryableError, match="dead-letter folder cannot be written"):
        await writer.submit(batch(1, text="\ud800"))


def test_the_dead_letter_folder_is_beside_the_store(store: SharedStore) -> None:
    """By default it stands in the data folder, not inside the engine's."""
    assert store.folder is not None
    assert GroupCommitWriter(store).dead_letters._path == store.folder.parent / "dead-letter"
