"""Renews the errors and the facts of touched traces. All of it blocks."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from tracejury.collector.store.changes import Changes
from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows, storing
from tracejury.collector.store.joins import StoredJoins
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.columns import Row
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.judged_rows import ERROR_COLUMNS, error_row

from .base import BaseTrace, StoredError
from .catching_up import BUCKET_COLUMNS, CatchingUp
from .facts import FACT_COLUMNS, HOUR, fact_row, removed_row
from .fold import errors_of, fold
from .loading import Loading

AT_ONCE: Final = 500
"""Traces that are folded together."""
MOST_WAITED_FOR: Final = 20 * AT_ONCE
"""Traces that a question has folded before it is answered; where there are more, it is to be asked again."""

_LAST: Final = "SELECT max(greatest(Touched, if(Hours = 0, 0, Rolled))) FROM rate_buckets"


class Folding:
    """Keeps `errors` and `run_facts` equal to what is stored of judging. Any thread; one at a time works.

    `writes`: how often facts were written; it tells whether what was read meanwhile may be of two minds.
    """

    def __init__(self, store: Store, clock: Callable[[], int] = time.time_ns) -> None:
        self.writes = 0
        self._store, self._clock = store, clock
        self._changes: Changes = store.changes
        self._catching_up = CatchingUp(store, clock)
        self._stamp = 0
        self._stamps = threading.Lock()
        self._derived = set[TraceKey]()  # while it is behind

    @property
    def lock(self) -> threading.Lock:
        """Held while facts are written."""
        return self._changes.making

    @property
    def waiting(self) -> int:
        """Touched traces, as far as they are known."""
        return len(self._changes)

    @property
    def is_behind(self) -> bool:
        """Whether what an earlier process left is still to be folded, as at the start."""
        return self._changes.is_lost or self._catching_up.is_behind

    def stamp(self) -> int:
        """A number that is higher than all before it, of this process and of earlier ones; about unix nanos."""
        with self._stamps:
            if not self._stamp:
                self._stamp = int(self._store.rows(_LAST)[0][0])
            self._stamp = max(self._clock(), self._stamp + 1)
            return self._stamp

    def settle(self) -> None:
        """Fold all traces touched so far; the caller holds `lock`.

        Raises:
            RetryableError: it is too much to wait for, or the store cannot just now.
        """
        for done in itertools.count(0, AT_ONCE):
            if self.step(AT_ONCE) < AT_ONCE and not self._catching_up.is_behind:
                return  # what is touched meanwhile waits for the next question
            if done >= MOST_WAITED_FOR:
                raise RetryableError("error rates are still being made of what was stored before", retry_after=5.0)

    def step(self, most: int) -> int:
        """Fold up to `most` traces; returns how many. The caller holds `lock`."""
        self._catching_up.look(self._changes)
        now, taken = self._clock(), self._changes.take(most)
        self._each_tenant(taken, self._fold)
        if len(taken) < most:
            self._catching_up.done(now, self.writes)
        if not self.is_behind:
            self._derived.clear()
        return len(taken)

    def behind(self, tenant: str, trace_ids: Collection[str]) -> set[str]:
        """Those of these traces whose errors may be older than what was found in them."""
        keys = {(tenant, trace_id) for trace_id in trace_ids}
        new = self._changes.new_of(keys)
        if self.is_behind:
            new |= keys - self._derived
        return {trace_id for _, trace_id in new}

    def derive_errors_of(self, tenant: str, trace_ids: Collection[str]) -> None:
        """Renew the errors alone of these traces. The caller holds `lock`."""
        wanted = [(tenant, trace_id) for trace_id in trace_ids]
        for at in range(0, len(wanted), AT_ONCE):
            keys = wanted[at : at + AT_ONCE]
            self._changes.take_these(keys)
            self._each_tenant(keys, self._derive)
            self._derived.update(keys)

    def derive_errors(self) -> None:
        """Renew the errors alone of up to `AT_ONCE` traces touched since; their facts wait for `step`.

        Whoever reads errors waits for it, so it neither reads nor writes what only rates need. The caller holds `lock`.
        """
        self._catching_up.look(self._changes)
        if self._catching_up.is_behind:  # it reads its next page once nothing is touched any more
            self.step(AT_ONCE)
            self._catching_up.look(self._changes)
        self._each_tenant(self._changes.take_new(AT_ONCE), self._derive)

    def _each_tenant(self, taken: Collection[TraceKey], renew: Callable[[str, set[str]], None]) -> None:
        try:
            for tenant in {tenant for tenant, _ in taken}:
                renew(tenant, {trace_id for owner, trace_id in taken if owner == tenant})
        except BaseException:
            self._changes.touch(taken)
            raise
        finally:
            self._changes.made(taken)

    def _derive(self, tenant: str, trace_ids: set[str]) -> None:
        loading = Loading(self._store, tenant)
        joins = StoredJoins(self._store, tenant).any()
        traces = loading.traces(trace_ids, words=False, joins=joins)
        if joins and self._are_joined(loading, trace_ids, traces):
            self._fold(tenant, trace_ids)
            return
        self._write_errors(loading.errors(trace_ids), traces, self.stamp())

    def _are_joined(self, loading: Loading, trace_ids: set[str], traces: Iterable[BaseTrace]) -> bool:
        """Whether any is one with others, or was. The facts tell that: those of joined traces are never behind."""
        were = any(set(parts) != {key.trace_id} for key, parts in loading.facts(trace_ids).items())
        return were or not loading.heads(trace_ids) <= trace_ids or any(len(trace.parts) > 1 for trace in traces)

    def _write_errors(self, stood: Iterable[StoredError], traces: Iterable[BaseTrace], stamp: int) -> None:
        if errors := list(_changed_errors(stood, traces, stamp)):
            with storing("errors"):
                insert_rows(self._store, "errors", ERROR_COLUMNS, errors)

    def _fold(self, tenant: str, trace_ids: set[str]) -> None:
        loading = Loading(self._store, tenant)
        wanted = trace_ids
        while True:  # what these are joined to has changed with them, and what they were joined to when last folded
            stood = loading.facts(wanted)
            grown = wanted | {key.trace_id for key in stood} | loading.heads(wanted)
            if grown == wanted:
                break
            wanted = grown
        traces = loading.traces(wanted)
        facts = [fact for trace in traces for fact in fold(trace)]
        stamp = self.stamp()
        rows = [fact_row(fact, tenant, stamp) for fact in facts]
        stand = {fact.key for fact in facts}
        rows += [removed_row(key, tenant, stamp) for key in stood if key not in stand]
        hours = {fact.key.hour for fact in facts} | {key.hour for key in stood}
        self._write_errors(loading.errors(wanted), traces, stamp)
        if not rows:
            return
        with storing("error rates"):
            insert_rows(self._store, "rate_buckets", BUCKET_COLUMNS, _touched(tenant, hours, stamp))
            self.writes += 1
            insert_rows(self._store, "run_facts", FACT_COLUMNS, rows)


def _changed_errors(stood: Iterable[StoredError], traces: Iterable[BaseTrace], stamp: int) -> Iterator[Row]:
    """Rows of the errors that are new, have changed, or are gone."""
    before = {(one.error.trace_id, one.error.id): one for one in stood}
    for trace in traces:
        for error in errors_of(trace):
            now = StoredError(error, trace.trace_id, trace.at)
            if before.pop((error.trace_id, error.id), None) != now:
                yield error_row(error, now.whole, 0, stamp, now.at)
    for gone in before.values():
        yield error_row(gone.error, gone.whole, 1, stamp, gone.at)


def _touched(tenant: str, hours: Iterable[int], stamp: int) -> list[tuple[str, int, int, int, int, int]]:
    return [(tenant, 1, hour, stamp, 0, hour * HOUR) for hour in sorted(hours)]
