"""Pictures, sound and files that are sent inline: stored once a trace, and read as they were sent."""

from __future__ import annotations

import base64
import itertools
import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sent_media import MARK, MARKED, digest, encoded, texts
from store_parts import TRACE_ID, a_log, a_span
from watched_store import WatchedStore

from tracejury.collector.queries.trace.stored import StoredTraceQueries
from tracejury.collector.store import opening
from tracejury.collector.store.committer import Committed, CommittedGroup, Committer, WriterCounters, batch_of_copy
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.damage import detached_parts
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.exports import StoredExports
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.migrate import migrate, migrations
from tracejury.collector.store.parts import active_parts
from tracejury.collector.store.repair import drop_detached
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.collector.worker.spill_files import SpillEntry, SpillFiles
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import LogRecord, Span, SpanEvent

DAY = 86_400_000_000_000
RUN = encoded(size=60_000)
OTHER = "f" * 32


class Copies:
    """Hears of commits, and has a copy made of each."""

    def __init__(self, folder: Path) -> None:
        self.files, self.groups = SpillFiles(folder), list[CommittedGroup]()

    def copy_for(self, size: int) -> SpillEntry | None:  # noqa: ARG002  the protocol's signature
        return self.files.begin()

    def committed(self, group: CommittedGroup) -> None:
        self.groups.append(group)


def committer(store: SharedStore, folder: Path, hearer: Copies | None = None, start: int = 1_000) -> Committer:
    """One whose commits arrive at `start` and each nanosecond after (unix nanos)."""
    clock = itertools.count(start)
    return Committer(store, DeadLetterFolder(folder, 1 << 20), WriterCounters(), hearer, clock=lambda: next(clock))


def commit(store: SharedStore, folder: Path, *spans: Span, logs: Sequence[LogRecord] = (), at: int = 1_000) -> None:
    (outcome,) = committer(store, folder, start=at).commit([Batch(list(spans), list(logs), 1)])
    assert isinstance(outcome, Committed)


def seeing(number: int = 1, run: str = RUN, **more: str) -> Span:
    """A call that was sent a picture."""
    said = f'[{{"role": "user", "content": "data:image/png;base64,{run}"}}]'
    return a_span(span_id=f"{number:016x}", attributes={"input.value": said}, **more)


def rows(store: SharedStore, what: str, table: str = "media") -> list[tuple[object, ...]]:
    return [tuple(row) for row in store.rows(f"SELECT {what} FROM {table} ORDER BY ALL")]


def loaded(store: SharedStore, trace_id: str = TRACE_ID, tenant: str = "") -> list[Span]:
    return StoredJudging(store, tenant).load_spans([trace_id]).get(trace_id, ([], []))[0]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_sent_is_read_as_it_was(store: SharedStore, tmp_path: Path, data: st.DataObject) -> None:
    """By all that reads spans and log records, also of several traces at once; and by the copy for judging."""
    anything, ids = texts(MARKED), [uuid.uuid4().hex, uuid.uuid4().hex]
    spans = [
        a_span(
            trace_id=trace_id, span_id=f"{n:016x}", attributes={"a": data.draw(anything), "b": data.draw(anything)},
            events=(SpanEvent(1, "e", {"said": data.draw(anything)}),),
        )
        for trace_id in ids for n in (1, 2)
    ]  # fmt: skip
    logs = [a_log(trace_id=i, span_id=f"{1:016x}", body=data.draw(anything), attributes={"c": "x"}) for i in ids]
    copies = Copies(tmp_path)
    committer(store, tmp_path, copies).commit([Batch(spans, logs, 1)])
    judging, exports = StoredJudging(store), StoredExports(store, "there")
    by_trace = {i: ([s for s in spans if s.trace_id == i], [r for r in logs if r.trace_id == i]) for i in ids}
    assert judging.load_spans(ids) == by_trace
    some = judging.load_some(ids, [s.span_id for s in spans], 2_000)
    assert sorted(some[0], key=str) == sorted(spans, key=str)
    assert sorted(some[1], key=str) == sorted(logs, key=str)
    assert sorted((s for page in exports.pages(ids) for s in page), key=str) == sorted(spans, key=str)
    assert exports.logs(ids) == {i: found for i, (_, found) in by_trace.items()}
    queries = StoredTraceQueries(store, AssemblerConfig(), time.time_ns)
    for trace_id, (own, records) in by_trace.items():
        assert queries.raw_span(trace_id, own[0].span_id) == (own[0], records)
    (group,) = copies.groups
    assert group.copy is not None
    copied = batch_of_copy(group.copy)
    assert sorted(copied.spans, key=str) == sorted(spans, key=str)
    assert copied.logs == logs


def test_a_picture_that_each_call_sends_is_stored_once(store: SharedStore, tmp_path: Path) -> None:
    """Once parts are merged, with the arrival of its last call; tables have references where it stood."""
    sent = [seeing(n) for n in range(20)]
    for number, span in enumerate(sent):
        commit(store, tmp_path, span, at=2_000 + number)
    store.command("OPTIMIZE TABLE media FINAL")
    assert rows(store, "tenant, TraceId, Hash, Data, toUnixTimestamp64Nano(ReceivedAt)") == [
        ("", TRACE_ID, digest(RUN), RUN, 2_019)
    ]
    for view in ("spans FINAL", "otel_traces"):
        assert rows(store, "DISTINCT SpanAttributes['input.value']", view) == [
            (sent[0].attributes["input.value"].replace(RUN, MARK + digest(RUN)),)
        ]
    assert loaded(store) == sent


def test_a_commit_that_breaks_off_leaves_no_reference_without_its_picture(
    watched: WatchedStore, tmp_path: Path
) -> None:
    """It is stored before what refers to it; what is sent again is stored once."""
    watched.faults = {0: RetryableError("killed")}
    committing = committer(watched, tmp_path)
    (outcome,) = committing.commit([Batch([seeing()], [], 1)])
    assert isinstance(outcome, RetryableError)
    assert (rows(watched, "Hash"), loaded(watched)) == ([(digest(RUN),)], [])
    committing.commit([Batch([seeing()], [], 1)])
    watched.command("OPTIMIZE TABLE media FINAL")
    assert (rows(watched, "Hash"), loaded(watched)) == ([(digest(RUN),)], [seeing()])


def test_rows_of_an_earlier_version_are_what_they_were(new_dsn: str, tmp_path: Path) -> None:
    """They hold all that was sent, even what looks like a reference; and so they do once merged with others."""
    names = [m.name for m in migrations()]
    store = SharedStore.open(new_dsn, StoreConfig(retention_days=None))
    migrate(store, migrations()[: names.index("0053_breaking_media.sql")])
    old = seeing(1), seeing(2, f"{MARK}{digest(RUN)}")
    store.insert("spans", SPAN_COLUMNS, span_columns(old, 5))
    migrate(store)
    commit(store, tmp_path, seeing(3))
    for _ in range(2):
        assert loaded(store) == [*old, seeing(3)]
        store.command("OPTIMIZE TABLE spans FINAL")
    store.drop_database()
    store.close()


def test_a_trace_s_deletion_takes_its_pictures(store: SharedStore, tmp_path: Path) -> None:
    """What another trace has stays, and what arrives later."""
    commit(store, tmp_path, seeing(1), seeing(1, trace_id=OTHER))
    deleter = TraceDeleter(store)
    assert deleter.count([TRACE_ID], 1_500) == {"spans": 1, "media": 1}
    deleter.delete([TRACE_ID], 1_500)
    assert (rows(store, "TraceId"), loaded(store), loaded(store, OTHER)) == ([(OTHER,)], [], [seeing(trace_id=OTHER)])
    commit(store, tmp_path, seeing(2), at=1_500)
    commit(store, tmp_path, seeing(3), at=1_501)
    store.command("OPTIMIZE TABLE media FINAL")
    deleter.delete([TRACE_ID], 1_500)
    assert loaded(store) == [seeing(3)]
    assert deleter.known(TRACE_ID)


def test_pictures_whose_spans_were_never_stored_can_be_deleted(store: SharedStore, tmp_path: Path) -> None:
    """As a kill may leave them."""
    commit(store, tmp_path, seeing())
    store.command("TRUNCATE TABLE spans")
    deleter = TraceDeleter(store)
    assert deleter.known(TRACE_ID)
    deleter.delete([TRACE_ID], 1_500)
    assert not deleter.known(TRACE_ID)


def test_two_projects_with_one_picture_have_one_each(store: SharedStore, tmp_path: Path) -> None:
    """Of one trace id, too: neither reads, nor loses, the other's."""
    commit(store, tmp_path, seeing(), seeing(tenant="lab"))
    assert rows(store, "tenant") == [("",), ("lab",)]
    TraceDeleter(store).delete([TRACE_ID], 2_000)
    assert (loaded(store), loaded(store, tenant="lab")) == ([], [seeing(tenant="lab")])
    store.command("DELETE FROM media WHERE tenant = 'lab'", mutated="media")
    commit(store, tmp_path, seeing())
    assert MARK in loaded(store, tenant="lab")[0].attributes["input.value"]


def test_retention_takes_pictures_with_their_last_span(served_dsn: str, tmp_path: Path) -> None:
    """One that a later call sent again stays, whichever parts were merged."""
    store, now = SharedStore.open(served_dsn, StoreConfig(retention_days=2)), time.time_ns()
    opening.apply_settings(store)
    again, once = encoded(number=1), encoded(number=2)
    commit(store, tmp_path, seeing(1, again), seeing(2, once), at=now - 3 * DAY)
    commit(store, tmp_path, seeing(3, again), at=now - DAY)
    for table in ("media", "spans"):
        store.command(f"OPTIMIZE TABLE {table} FINAL")
    assert (rows(store, "Hash"), loaded(store)) == ([(digest(again),)], [seeing(3, again)])
    store.close()


def test_a_lost_picture_is_a_reference(store: SharedStore, tmp_path: Path) -> None:
    """The trace is read all the same, and what else it has."""
    lost, left = encoded(number=1), encoded(number=2)
    commit(store, tmp_path, seeing(1, lost), seeing(2, left))
    store.command(f"DELETE FROM media WHERE Hash = '{digest(lost)}'", mutated="media")
    said = seeing(1, lost).attributes["input.value"].replace(lost, MARK + digest(lost))
    assert [span.attributes["input.value"] for span in loaded(store)] == [
        said, seeing(2, left).attributes["input.value"]
    ]  # fmt: skip


def test_a_lost_part_is_told(store: SharedStore, tmp_path: Path) -> None:
    """As those of any other table are: set aside as the engine does at its start."""
    commit(store, tmp_path, seeing())
    (folder,) = (Path(part.path) for part in active_parts(store) if part.table == "media")
    shutil.copytree(folder, folder.parent / "detached" / f"broken-on-start_{folder.name}")
    store.command(f"ALTER TABLE media DROP PART '{folder.name}'")
    assert [part.table for part in detached_parts(store)] == ["media"]
    assert drop_detached(store) == 1


def test_a_picture_of_bytes_comes_back_as_bytes(store: SharedStore, tmp_path: Path) -> None:
    """An attribute of type bytes is base64 as a whole."""
    data = base64.b64decode(RUN)
    span = a_span(attributes={"file": RUN}, attribute_types={"file": "bytes"})
    commit(store, tmp_path, span)
    (read,) = loaded(store)
    assert (base64.b64decode(read.attributes["file"]), read) == (data, span)
