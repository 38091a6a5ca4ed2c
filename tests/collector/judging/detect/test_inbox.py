"""The inbox between commit and judging."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.judging.detect.inbox import Inbox, by_trace
from tracejury.collector.store.committer import CommittedGroup
from tracejury.collector.store.native import NativeBlock
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.schemas.batch import Batch
from tracejury.schemas.inline_media import MEDIA
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import LogRecord, Span

_MAP, _TEXTS = "Map(String, String)", "Array(String)"
_NUMBERS = dict.fromkeys(("StartNanos", "EndNanos"), "UInt64") | dict.fromkeys(("Kind", "Status"), "Int32")
_NUMBERS |= dict.fromkeys(("Flags", "DroppedAttributes", "DroppedEvents", "DroppedLinks", "Cut"), "UInt32")
_NUMBERS |= {"Pending": "Bool", "ReceivedAt": "DateTime64(9, 'UTC')", "Events.Nanos": "Array(UInt64)"}
SPAN_TYPES = [
    _NUMBERS.get(name)
    or {(True, True): f"Array({_MAP})", (True, False): _TEXTS, (False, True): _MAP, (False, False): "String"}[
        "." in name, "Attribute" in name
    ]
    for name in SPAN_COLUMNS
]


def batch(trace_id: str, size: int) -> Batch:
    return Batch([Span(trace_id, "1", "", "n", 1, 2)], [], size)


def test_batches_come_out_in_order() -> None:
    """One take hands over all that waits."""
    inbox = Inbox(max_bytes=100)
    for name in ("a", "b", "c"):
        inbox.put(batch(name, 10), 1)
    assert [b.spans[0].trace_id for b, _ in inbox.take().batches] == ["a", "b", "c"]
    assert inbox.queued_bytes == 0
    assert not inbox.take().batches


def test_it_is_empty_only_when_what_was_taken_is_done() -> None:
    """Whoever waits for rest is not told so while the last batch is still being judged."""
    inbox = Inbox(max_bytes=100)
    inbox.put(batch("a", 10), 1)
    inbox.take()
    assert not inbox.empty
    inbox.done()
    assert inbox.empty


def test_beyond_the_bound_only_the_traces_are_kept() -> None:
    """Putting never blocks and loses nothing: the spans stand in the store."""
    inbox = Inbox(max_bytes=20)
    for name, size in [("a", 20), ("b", 1)]:
        inbox.put(batch(name, size), 1)
    taken = inbox.take()
    assert [b.spans[0].trace_id for b, _ in taken.batches] == ["a"]
    assert taken.asked == {("", "b")}
    assert inbox.spilled == 1


def test_a_batch_larger_than_the_bound_passes_alone() -> None:
    """Nothing is too large for an empty inbox."""
    inbox = Inbox(max_bytes=20)
    inbox.put(batch("a", 50), 1)
    assert len(inbox.take().batches) == 1


def test_rows_are_grouped_by_trace_and_loose_logs_left_out() -> None:
    """A log record without a trace id belongs to no trace."""
    spans = [Span("a", "1", "", "n", 1, 2), Span("b", "1", "", "n", 1, 2), Span("a", "2", "1", "n", 1, 2)]
    logs = [LogRecord("a", "1", 1, 1), LogRecord("", "", 1, 1)]
    groups = by_trace(Batch(spans, logs))
    assert {key[1]: (len(g.spans), len(g.logs)) for key, g in groups.items()} == {"a": (2, 1), "b": (1, 0)}


def test_it_is_not_empty_while_one_of_two_threads_works_on_what_it_took() -> None:
    """One stores a large trace while the other looks for more, finds nothing and is done."""
    inbox = Inbox(max_bytes=100)
    inbox.put(batch("a", 10), 1)
    inbox.take()
    inbox.take()
    inbox.done()
    assert not inbox.empty
    inbox.done()
    assert inbox.empty


class Filled:
    """An inbox of two bytes whose groups are committed as the writer does it."""

    def __init__(self, folder: Path, **files: int) -> None:
        self.files = SpillFiles(folder, **files)
        self.inbox = Inbox(2, self.files)
        self.at = 0

    def commit(self, *batches: Batch) -> int:
        """Hand over a group; returns its time."""
        self.at += 1
        copy = self.inbox.copy_for(sum(batch.size for batch in batches))
        if copy:
            spans = [span for batch in batches for span in batch.spans]
            block = NativeBlock((*SPAN_COLUMNS, MEDIA), [*SPAN_TYPES, _TEXTS])
            for piece in block.pieces([*span_columns(spans, self.at), [[]] * len(spans)]):
                copy.append(piece)
        self.inbox.committed(CommittedGroup(batches, self.at, copy))
        return self.at

    def take_all(self) -> list[tuple[str, int]]:
        """Trace and time of all that waits, in its order."""
        found = []
        while self.inbox.waits:
            taken = self.inbox.take()
            found += [(span.trace_id, at) for batch, at in taken.batches for span in batch.spans]
            found += [(trace_id, 0) for _, trace_id in sorted(taken.asked)]
            self.inbox.done()
        return found


def test_beyond_the_bound_groups_wait_in_a_file(tmp_path: Path) -> None:
    """They come out in the order of the commits, one file at a time, and leave nothing behind."""
    filled = Filled(tmp_path)
    for name in "abcd":
        filled.commit(batch(name, 1), batch(name * 2, 1))
    assert filled.inbox.queued_bytes == 2
    oldest = [filled.inbox.oldest]
    assert len(filled.inbox.take().batches) == 3
    oldest.append(filled.inbox.oldest)
    assert filled.take_all() == [("c", 3), ("cc", 3), ("d", 4), ("dd", 4)]
    assert [*oldest, filled.inbox.oldest] == [1, 3, None]
    assert (filled.files.size, filled.inbox.spilled) == (0, 0)


@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), max_size=8), st.integers(0, 8))
def test_whatever_waits_where_comes_out_in_order(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[int]], taken: int
) -> None:
    """Sizes decide what waits in memory; what was taken meanwhile makes room."""
    filled, expected, found = Filled(tmp_path_factory.getbasetemp()), [], []
    for number, sizes in enumerate(groups):
        names = [f"{number}{at}" for at in range(len(sizes))]
        at = filled.commit(*(batch(name, size) for name, size in zip(names, sizes, strict=True)))
        expected += [(name, at) for name in names]
        if number == taken:
            found += filled.take_all()
    assert found + filled.take_all() == expected
    assert filled.files.size == 0


@pytest.mark.parametrize("damage", ["no room", "too large", "cut short", "garbage", "another name"])
def test_what_no_file_can_keep_is_read_from_the_store(tmp_path: Path, damage: str) -> None:
    """Only which traces changed is known then."""
    limits = {"no room": {"min_free_bytes": 1 << 60}, "too large": {"most_bytes": 10}}
    filled = Filled(tmp_path, **limits.get(damage, {}))
    filled.commit(batch("a", 2))
    filled.commit(batch("b", 1))
    if damage == "cut short":
        os.ftruncate(filled.files._segments[0]._file.fileno(), 20)
    elif damage == "garbage":
        os.pwrite(filled.files._segments[0]._file.fileno(), b"\xff" * 40, 20)
    elif damage == "another name":
        descriptor = filled.files._segments[0]._file.fileno()
        os.pwrite(descriptor, b"traceId", os.pread(descriptor, 200, 0).index(b"TraceId"))
    assert filled.take_all() == [("a", 1), ("b", 0)]
    assert filled.files.size == 0


def test_deleted_traces_are_left_out_of_files(tmp_path: Path) -> None:
    """As far as they had arrived; what comes later begins the trace anew."""
    filled = Filled(tmp_path)
    filled.commit(batch("a", 2), batch("b", 1))
    through = filled.commit(batch("b", 1), batch("c", 1))
    filled.commit(batch("b", 1))
    filled.inbox.forget([("", "b")], through)
    assert filled.take_all() == [("a", 1), ("c", 2), ("b", 3)]


def test_a_group_in_a_file_waits_until_there_is_room_for_it(tmp_path: Path) -> None:
    """What came after it waits, too: of a trace nothing is judged before what was committed earlier."""
    filled = Filled(tmp_path)
    filled.commit(batch("a", 2))
    filled.commit(batch("b", 1))
    filled.inbox.take(files=False)
    filled.commit(batch("c", 1))
    filled.commit(batch("d", 1))
    assert not filled.inbox.take(files=False).batches
    assert filled.take_all() == [("b", 2), ("c", 3), ("d", 4)]
