"""Deleting traces from a running collector: from the store, from memory, and from what waits for judges."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from ...processors.assemble import TraceKey
from ...schemas.queries.deletion import DeleteQuery
from .client import Store
from .deleting import PAGE, Deleting


class Forgets(Protocol):
    """What holds traces in memory: the judging thread."""

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """Forget what arrived of these by then."""

    def ask(self, keys: list[TraceKey]) -> object:
        """Judge what is stored of these."""


class Deletion:
    """Deletes over one store. Any thread; blocks. `drops`: take what waits of them, to be judged or to be sent."""

    def __init__(
        self,
        store: Store,
        judging: Forgets,
        drops: Sequence[Callable[[Collection[TraceKey]], None]] = (),
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._judging, self._drops, self._clock = store, judging, drops, clock

    def delete(self, query: DeleteQuery) -> int:
        """Delete what is asked for; returns the number of traces. What arrives later begins its trace anew.

        Raises:
            RetryableError: a passing failure; asking again goes on where it was.
            StoreError: the store failed.
        """
        deleting, count = Deleting(self._store, query.tenant, self._clock), 0
        if query.trace_id and not deleting.known(query.trace_id, labels=query.labels):
            return 0
        query = replace(query, before=min(query.before, self._clock()))
        for found in _pages(deleting, query):
            ids = deleting.whole(found)
            keys, through = [(query.tenant, i) for i in ids], self._clock()
            changes = self._store.changes
            changes.hold(keys, through)
            try:
                self._judging.forget(keys, through)
                for drop in self._drops:
                    drop(set(keys))
                deleting.delete(ids, through, labels=query.labels)
            finally:
                changes.let_go(keys)
                self._judging.ask(keys)
            count += len(ids)
        return count


def _pages(deleting: Deleting, query: DeleteQuery) -> Iterator[list[str]]:
    """The traces in question, some at a time, until none is left."""
    if query.trace_id:
        yield [query.trace_id]
        return
    while True:
        found = (
            deleting.of_session(query.session) if query.session else deleting.of_service(query.service, query.before)
        )
        if found:
            yield found
        if len(found) < PAGE and not (query.service and found):
            return
