"""Open traces that memory has no room for: files keep them, or the store alone; judging sees no difference."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_bench import KEY, Bench, Booms, span

from tracejury.collector.judging.detect.memory import TraceMemory
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, Assembler, AssemblerConfig
from tracejury.processors.life_cycle import state_at
from tracejury.processors.schedule import Schedule
from tracejury.schemas.findings import FindingState
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink
from tracejury.schemas.trajectory import TraceState

TEXTS = st.text(max_size=20)
MAPS = st.dictionaries(TEXTS, TEXTS, max_size=3)
EVENTS = st.builds(SpanEvent, st.integers(0, 2**63), TEXTS, MAPS, MAPS)
LINKS = st.builds(SpanLink, TEXTS, TEXTS, TEXTS, MAPS, MAPS)
SPANS = st.builds(
    Span, TEXTS, TEXTS, TEXTS, TEXTS, st.integers(0, 2**64), st.integers(0, 2**64), MAPS, MAPS,
    st.lists(EVENTS, max_size=2).map(tuple), st.lists(LINKS, max_size=2).map(tuple),
    status_message=TEXTS, resource_attributes=MAPS, received_at=st.integers(0, 2**63), pending=st.booleans(),
    tenant=TEXTS,
)  # fmt: skip
LOGS = st.builds(LogRecord, TEXTS, TEXTS, st.integers(0, 2**63), st.integers(0, 2**63), TEXTS, TEXTS, attributes=MAPS)


@given(st.lists(SPANS, max_size=3), st.lists(LOGS, max_size=3))
def test_rows_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, spans: list[Span], logs: list[LogRecord]
) -> None:
    """With all that equality does not compare, too."""
    assembler = Assembler(AssemblerConfig(max_bytes=1))
    memory = TraceMemory(assembler, SpillFiles(tmp_path_factory.getbasetemp()))
    trace = assembler.add(KEY, spans, logs, 1, 1, is_whole=True)
    before = repr((trace.raw, trace.logs))
    memory.bound()
    assert not trace.raw
    memory.read(trace)
    assert repr((trace.raw, trace.logs)) == before


def test_a_file_is_given_back_once_nothing_in_it_is_needed(tmp_path: Path) -> None:
    """Whatever the order: a full one at once, the last one when it is empty."""
    files = SpillFiles(tmp_path, segment_bytes=1000)
    parts = [files.put(b"x" * 600) for _ in range(4)]
    assert all(parts)
    assert files.size > 2000
    for part in [parts[1], parts[2], parts[0], parts[3]]:
        assert part is not None
        part.drop()
    assert files.size == 0
    assert not list(tmp_path.iterdir()), "the files have no names"


def test_without_room_the_store_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A bound, a disk that others need, or a folder that cannot be used; a line names the limit and its setting."""
    (tmp_path / "file").write_text("")
    full = SpillFiles(tmp_path, min_free_bytes=1 << 60), SpillFiles(tmp_path, most_bytes=10)
    for files in (*full, SpillFiles(tmp_path / "file"), None):
        assembler = Assembler(AssemblerConfig(max_bytes=1))
        memory = TraceMemory(assembler, files)
        trace = assembler.add(KEY, [span("1")], (), 1, 1, is_whole=True)
        memory.bound()
        memory.read(trace)
        assert (trace.held, trace.raw, trace.stored, trace.ledger, assembler.held_bytes) == (False, {}, None, None, 0)
    disk, bound, _folder = caplog.messages
    assert re.search(r"has \d+ MiB free: 1099511627776 MiB must stay free \(writer.min_free_bytes\)", disk)
    assert re.search(r"would take [\d,]+ bytes, and may take 10 \(judging.max_file_bytes\)", bound)


def test_a_file_that_cannot_be_read_is_given_back(tmp_path: Path) -> None:
    """And those after it: the store is read."""
    files, assembler = SpillFiles(tmp_path), Assembler(AssemblerConfig(max_bytes=1))
    memory = TraceMemory(assembler, files)
    for number in range(3):
        trace = assembler.add(KEY, [span(str(number))], (), 1, 1, is_whole=True)
        memory.bound()
    os.ftruncate(files._segments[0]._file.fileno(), files.size // 2)
    memory.read(trace)
    assert (trace.held, trace.stored, files.size) == (False, None, 0)


def test_of_several_the_least_recently_used_make_room() -> None:
    """They stay known; those that are being judged keep their rows."""
    assembler = Assembler(AssemblerConfig(max_bytes=14_999))
    memory = TraceMemory(assembler)
    for n in range(4):
        trace = assembler.add(("", f"{n:032x}"), [span("1", output="x" * 4000)], (), n, n, is_whole=True)
        trace.taken = n == 0
        memory.bound()
    assert [trace.held for trace in assembler.traces.values()] == [True, False, False, True]
    assert assembler.held_bytes <= 14_999


def test_beyond_their_number_the_oldest_is_forgotten_and_counted() -> None:
    """The sweep of the store finds it again. What somebody waits for, or what is being judged, is the last to go."""
    assembler = Assembler(AssemblerConfig(max_traces=2))
    memory = TraceMemory(assembler)
    memory.request(("", "asked"), 1)
    assembler.add(("", "taken"), [span("1")], (), 1, 1).taken = True
    for n in range(2):
        assembler.add(("", str(n)), [span("1")], (), 1, 1)
        memory.bound()
    assert [key for _, key in assembler.traces] == ["asked", "taken"]
    assert memory.forgotten == memory.forgotten_since == 2


@pytest.mark.parametrize("spills", [True, False])
def test_a_trace_that_is_judged_late_while_memory_is_full_settles_at_once(tmp_path: Path, *, spills: bool) -> None:
    """Also where it waits outside memory: it is read and judged once."""
    config = AssemblerConfig(max_bytes=1_000_000)
    assembler = Assembler(config)
    memory, schedule = TraceMemory(assembler, SpillFiles(tmp_path) if spills else None), Schedule(assembler)
    for key, rows in ((KEY, span("1")), (("", "b" * 32), span("1", "0", output="x" * 998_000))):
        schedule.put(assembler.add(key, [rows], (), SECOND, SECOND, is_whole=True))
    memory.bound()
    trace = assembler.traces[KEY]
    assert not trace.held
    late = SECOND + config.quiet // 5
    assert trace in schedule.take(late, 2)
    assert state_at(trace, late, config, assembler.held_bytes) is TraceState.SETTLED


BATCHES = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), min_size=1, max_size=4), st.booleans()), max_size=12
)


@given(BATCHES)
def test_an_assembler_without_memory_holds_the_same(
    tmp_path_factory: pytest.TempPathFactory, batches: list[tuple[int, list[int], bool]]
) -> None:
    """Spans, log records, and the times at which traces are due."""
    files = SpillFiles(tmp_path_factory.getbasetemp(), segment_bytes=5000)
    small, large = Assembler(AssemblerConfig(max_bytes=2500)), Assembler()
    memory = TraceMemory(small, files)
    for number, (trace, ids, logged) in enumerate(batches):
        key, now = ("", str(trace)), number * SECOND
        rows = [replace(span(str(i), output=f"said at {number}"), trace_id=key[1], end=2 + number % 3) for i in ids]
        logs = [LogRecord(key[1], rows[0].span_id, number, number)] if logged else []
        for assembler in (small, large):
            assembler.add(key, rows, logs, now, now, is_whole=True)
        memory.bound()
    for trace in range(4):
        kept, expected = small.get(("", str(trace))), large.get(("", str(trace)))
        assert (kept is None) == (expected is None)
        if kept is None or expected is None:
            continue
        assert kept.span_count >= len(expected.raw)
        memory.read(kept)
        assert kept.held
        assert (kept.raw, kept.logs, list(kept.raw)) == (expected.raw, expected.logs, list(expected.raw))
        assert (kept.size, kept.root_ended(), kept.stored) == (expected.size, expected.root_ended(), {})
    assert small.held_bytes == large.held_bytes
    for trace in range(4):
        memory.discard(("", str(trace)))
    assert small.held_bytes == files.size == 0


class Counting(StoredJudging):
    """Counts how often spans are read from the store."""

    loads = 0

    def of(self, tenant: str) -> StoredJudging:  # noqa: ARG002  one tenant
        return self

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        self.loads += 1
        return super().load_spans(trace_ids)


@pytest.mark.parametrize("damaged", [False, True])
def test_judging_reads_files_instead_of_the_store(store: SharedStore, tmp_path: Path, *, damaged: bool) -> None:
    """Findings are the same; where a file cannot be read, the store is."""
    files, reading = SpillFiles(tmp_path), Counting(store)
    bench = Bench(store, Suite([Booms()]), reading, AssemblerConfig(max_bytes=1), files=files)
    traces = [f"{n:032x}" for n in range(5)]
    bench.wait(0)
    for trace_id in traces:
        bench.commit(span("2", "1", "boom", trace_id=trace_id))
    bench.wait(0.1)
    if damaged:
        files._most = 0  # no room from here on
    for trace_id in traces:
        bench.commit(span("1", trace_id=trace_id))
    bench.wait(1)
    while bench.wait(6):
        pass
    found = bench.stored.load_findings(traces)
    assert [[f.state for f in found[t]] for t in traces] == [[FindingState.CURRENT]] * 5
    assert bool(reading.loads) == damaged
    assert bench.judging.idle
    assert files.size == 0
