"""Inserts of one group of batches: all together, else one by one; a batch that cannot be stored is dead-lettered."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, Protocol

from tracejury.collector.worker.log_throttle import LogThrottle
from tracejury.collector.worker.spill_files import SpillEntry
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError
from tracejury.schemas.given_scores import scores_of, without_scores
from tracejury.schemas.inline_media import MEDIA, MEDIA_COLUMNS, TakenMedia, put_back
from tracejury.schemas.rows import (
    LOG_COLUMNS,
    SPAN_COLUMNS,
    log_columns,
    logs_from_columns,
    span_columns,
    spans_from_columns,
)
from tracejury.schemas.spans import LogRecord, Span

from .dead_letter import DeadLetterFolder
from .deleted_elsewhere import delete_arrived
from .failures import is_transient, is_worth_splitting, one_line
from .native_reading import read_blocks
from .scores import insert_scores
from .shared_store import SharedStore

log = logging.getLogger(__name__)

_KEY: Final = attrgetter("tenant", "trace_id", "span_id")


@dataclass(slots=True)
class WriterCounters:
    """Counts of inserts ("groups") and batches since the start."""

    committed_spans: int = 0
    committed_logs: int = 0
    groups: int = 0
    failed_groups: int = 0
    refused_batches: int = 0  # retryably: bounds, disk, a passing failure, shutdown
    failed_batches: int = 0  # permanently
    dead_lettered: int = 0
    not_handed_on: int = 0  # stored, but who was told of it failed
    left_out: int = 0  # spans and log records of deleted traces


@dataclass(frozen=True, slots=True)
class Committed:
    """`stored` is committed: the batch without deleted traces. `received_at`: the arrival of its rows (unix nanos)."""

    received_at: int
    stored: Batch


Outcome = Committed | TracejuryError


@dataclass(frozen=True, slots=True)
class CommittedGroup:
    """Batches whose rows arrived together, at `received_at` (unix nanos). `copy`: of their blocks, where one was made.

    See `batch_of_copy`.
    """

    batches: Sequence[Batch]
    received_at: int
    copy: SpillEntry | None = None


def batch_of_copy(entry: SpillEntry) -> Batch:
    """All spans and log records of a group's copy, which is dropped.

    Raises OSError, EOFError, LookupError, ValueError: it cannot be read.
    """
    spans, logs, media = list[Span](), list[LogRecord](), dict[str, str]()
    for columns in read_blocks(entry.read()):
        if "Hash" in columns:
            media = dict(zip(columns["Hash"], columns["Data"], strict=True))
        elif "SpanName" in columns:
            spans += put_back(spans_from_columns(columns), columns[MEDIA], media)
        else:
            logs += put_back(logs_from_columns(columns), columns[MEDIA], media)
    return Batch(spans, logs)


class Hearer(Protocol):
    """The protocol of what hears of commits, in their order, before submitters are answered; it must be quick."""

    def copy_for(self, size: int) -> SpillEntry | None:
        """Where to put a copy of the blocks of a group of so many bytes; None where its batches are wanted."""

    def committed(self, group: CommittedGroup) -> None:
        """Take a committed group. What it raises is logged and counted, since the group is stored."""


class Committer:
    """Inserts groups; blocking, for one thread.

    Rows get their arrival time here and not at their acceptance: arrival times then grow in the order of commits,
    so whoever has seen everything up to one of them has missed nothing before it.
    """

    def __init__(
        self,
        store: SharedStore,
        dead: DeadLetterFolder,
        counters: WriterCounters,
        hearer: Hearer | None = None,
        *,
        attempts: int = 3,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`attempts`: how often a batch that fails unexpectedly is tried; `clock`: unix nanos."""
        self._counters = counters
        self._hearer = hearer
        self._store = store
        self._dead = dead
        self._attempts = attempts
        self._clock = clock
        self._last = 0
        self._throttle = LogThrottle(clock)

    def commit(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Insert the batches; returns an outcome for each. A failure is an outcome, too: nothing is raised."""
        self._counters.groups += 1
        try:
            return list(self._insert(batches))
        except Exception as error:  # noqa: BLE001 - what it means is decided by its kind, and it becomes the outcome
            self._counters.failed_groups += 1
            if self._throttle.due(type(error).__name__):  # while the store is away every request fails, again and again
                log.warning("an insert of %d requests failed: %s", len(batches), one_line(error))
            if not is_worth_splitting(error):
                return [_refusal(error) for _ in batches]
            if len(batches) == 1:
                return [self._alone(batches[0], error)]
            return [self._alone(batch, None) for batch in batches]

    def _insert(self, batches: Sequence[Batch]) -> Sequence[Committed]:
        """One insert a table: first what others refer to, and spans last: a trace is judged again when they arrive.

        A failure between the two acknowledges nothing, and what is sent again is stored once.
        """
        self._last = max(self._clock(), self._last + 1)
        copy = self._hearer.copy_for(sum(batch.size for batch in batches)) if self._hearer else None
        try:
            kept = self._insert_copied(batches, copy)
        except Exception:
            if copy:
                copy.drop()
            raise
        self._counters.left_out += sum(map(len, batches)) - sum(map(len, kept))
        told = filter(None, map(without_scores, kept))
        self._tell(CommittedGroup(list(told), self._last, copy))
        return [Committed(self._last, batch) for batch in kept]

    def _insert_copied(self, batches: Sequence[Batch], copy: SpillEntry | None) -> list[Batch]:
        """The batches without deleted traces, once they are stored."""
        with self._store.deletions.writing():  # a deletion waits for it
            kept = [self._store.tombstones.left_of(batch, self._last) for batch in batches]
            logs = [record for batch in kept for record in without_scores(batch).logs]
            # In the order of the table's key the engine need not sort them, which would copy each row.
            spans = sorted((span for batch in kept for span in batch.spans), key=_KEY)
            if scores := [replace(score, received_at=self._last) for batch in kept for score in scores_of(batch)]:
                insert_scores(self._store, scores)
            self._insert_rows(spans, logs, copy.append if copy else None)
            if not self._store.embedded:
                kept = self._without_deleted(kept)
            self._store.pending.arrived({(s.tenant, s.trace_id) for batch in kept for s in batch.spans}, self._last)
        return kept

    def _insert_rows(
        self, spans: Sequence[Span], logs: Sequence[LogRecord], copy: Callable[[bytes], None] | None
    ) -> None:
        taken = TakenMedia()
        spans, of_spans = taken.take(spans)
        logs, of_logs = taken.take(logs)
        for table, names, columns in (
            ("media", MEDIA_COLUMNS, taken.columns(self._last)),
            ("logs", (*LOG_COLUMNS, MEDIA), [*log_columns(logs, self._last), of_logs]),
            ("spans", (*SPAN_COLUMNS, MEDIA), [*span_columns(spans, self._last), of_spans]),
        ):
            self._store.insert(table, names, columns, merged=False, copy=copy)

    def _without_deleted(self, stored: Sequence[Batch]) -> list[Batch]:
        """What stays of these batches, which are stored, where other processes delete traces meanwhile."""
        keys = {(item.tenant, item.trace_id) for b in stored for items in (b.spans, b.logs) for item in items}
        delete_arrived(self._store, keys, self._last)
        return [self._store.tombstones.left_of(batch, self._last) for batch in stored]

    def _tell(self, group: CommittedGroup) -> None:
        try:
            if self._hearer:
                self._hearer.committed(group)
        except Exception:
            # It is stored, and that is what its senders asked; judging catches up from the store.
            self._counters.not_handed_on += len(group.batches)
            log.exception("%d committed requests could not be handed on", len(group.batches))

    def _alone(self, batch: Batch, failure: Exception | None) -> Outcome:
        """Try the batch by itself; `failure`: how its first attempt ended, None where it has had none."""
        left = self._attempts - (failure is not None)
        while True:
            if failure is not None and is_transient(failure):
                return _refusal(failure)
            if failure is not None and left <= 0:
                return self._bury(batch, failure)
            left -= 1
            try:
                return self._insert([batch])[0]
            except Exception as error:  # noqa: BLE001 - as in commit
                failure = error

    def _bury(self, batch: Batch, failure: Exception) -> TracejuryError:
        reason = f"{type(failure).__name__}: {one_line(failure)}"
        try:
            file = self._dead.keep_batch(self._store.tombstones.left_of(batch, self._last), reason)
        except OSError as error:
            return RetryableError(f"the dead-letter folder cannot be written: {error.strerror}", retry_after=30.0)
        self._counters.dead_lettered += file is not None
        log.error("a request of %d spans cannot be stored (%s); kept in %s", len(batch.spans), reason, file)
        return PermanentError(f"the store cannot take this request: {reason}")


def _refusal(error: Exception) -> RetryableError:
    return RetryableError(f"the store cannot take spans now: {one_line(error)}")
