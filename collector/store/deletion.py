"""Deletion of traces: from the store, from memory, and from the queues of judges, webhooks and backends."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.receipts import DeletionKind, DeletionReceipt

from .dead_letter import DeadLetterFolder
from .lists.pending import list_pending
from .lists.stated import NAMED_USERS
from .receipts import StoredReceipts
from .retention import DAY
from .scope import TENANT, Scope
from .session_deletion import SessionName
from .shared_store import SharedStore
from .trace_deleter import PAGE, TraceDeleter

_TABLES: Final = {"spans": "SpanAttributes", "logs": "LogAttributes"}

_OF_USER: Final = " UNION DISTINCT ".join(
    f"SELECT TraceId FROM {table} WHERE {TENANT} AND hasAny({NAMED_USERS.format(attributes=attributes)}, "
    "{users:Array(String)}) AND TraceId != ''"
    for table, attributes in _TABLES.items()
)
_IN_SESSIONS: Final = f"""
SELECT TraceId FROM traces FINAL WHERE {TENANT} AND SessionId != '' AND (ServiceName, SessionId) IN (
    SELECT ServiceName, SessionId FROM traces FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}})
"""
_OF_OTHERS: Final = " UNION DISTINCT ".join(
    f"SELECT TraceId FROM {table} WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND arrayExists("
    f"name -> name != '' AND NOT has({{users:Array(String)}}, name), {NAMED_USERS.format(attributes=attributes)})"
    for table, attributes in _TABLES.items()
)


class HeldTraces(Protocol):
    """Traces held in memory, by the judging thread."""

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """Drop what arrived of these by `through` (unix nanos)."""

    def ask(self, keys: list[TraceKey]) -> object:
        """Judge what is stored of these."""


@dataclass(slots=True)
class _Deleted:
    """The result so far."""

    ids: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    sent_to: set[str] = field(default_factory=set)


class Deletion:
    """Deletes one tenant's traces of a running collector. Any thread; blocks.

    `drops`: remove what waits to be judged or sent. `deleted` is called when some traces are gone, before the next ones
    are deleted; `reopen` (service, session id, project) for each closed session that held some, so that it is judged
    again by what is left of it. `dead_letters`: searched, too. `stored_names`: under which names a user may be stored,
    as redaction may hash them.
    """

    def __init__(
        self,
        store: SharedStore,
        judging: HeldTraces,
        drops: Sequence[Callable[[Collection[TraceKey]], None]] = (),
        clock: Callable[[], int] = time.time_ns,
        deleted: Callable[[], None] = lambda: None,
        reopen: Callable[[str, str, str], object] | None = None,
        tenant: str = "",
        *,
        dead_letters: DeadLetterFolder | None = None,
        stored_names: Callable[[str], Sequence[str]] = lambda user: (user,),
    ) -> None:
        self._store, self._judging, self._drops, self._clock = store, judging, drops, clock
        self._deleted, self._reopen, self._tenant = deleted, reopen, tenant
        self._dead_letters, self._stored_names = dead_letters, stored_names
        self._deleter = TraceDeleter(store, tenant, clock)

    def delete(self, query: DeleteQuery) -> DeletionReceipt:
        """Delete the traces of a query for good: their spans are left out when they are sent again.

        What was deleted before a failure is deleted, and what was not stays out all the same; repeat it.

        Raises:
            RetryableError: a passing failure; safe to repeat.
            StoreError: the store failed.
        """
        now = self._clock()
        until = now + round(self._store.config.tombstone_days * DAY * SECOND)
        users = self._stored_names(query.user) if query.user else ()
        if query.user:
            query = replace(query, labels=True)
        deleted = self._delete(query, users, until if until > now else 0)
        letters = self._dead_letters.forget(self._tenant, deleted.ids, users) if self._dead_letters else 0
        receipt = DeletionReceipt(
            self._tenant,
            uuid.uuid4().hex,
            now,
            query.kind,
            len(deleted.ids),
            dict(deleted.rows),
            deleted.left.total(),
            letters,
            until if until > now else 0,
            tuple(sorted(deleted.sent_to)),
        )
        if receipt.traces or receipt.dead_letters or query.kind is DeletionKind.USER:
            StoredReceipts(self._store, self._tenant).keep(receipt)
        return receipt

    def expire(self, service: str, before: int) -> int:
        """Delete what of a service is kept no longer (arrived before then, unix nanos); returns the number of traces.

        Raises RetryableError, StoreError.
        """
        return len(self._delete(DeleteQuery(service=service, before=before), (), 0).ids)

    def _delete(self, query: DeleteQuery, users: Sequence[str], until: int) -> _Deleted:
        found = _Deleted()
        if query.trace_id and not self._deleter.known(query.trace_id, labels=query.labels):
            return found
        query = replace(query, before=min(query.before, self._clock()))
        for page in self._pages(query, users):
            self._delete_page(self._deleter.with_joined(page), query, until, found)
        return found

    def _delete_page(self, ids: list[str], query: DeleteQuery, until: int, found: _Deleted) -> None:
        keys, tombstones = [(self._tenant, i) for i in ids], self._store.tombstones
        if until:
            tombstones.add(keys, until)
        until = tombstones.until(keys)
        through = max(self._clock(), until)  # of what is left out nothing stays, whenever it arrived
        if not self._store.embedded:  # by the clock of the process that took it in
            through = max(through, self._deleter.newest(ids))
        self._store.deletions.hold(keys, through)
        self._store.derivation.forget(keys)
        sessions: tuple[SessionName, ...] = ()
        try:
            self._judging.forget(keys, through)
            for drop in self._drops:
                drop(set(keys))
            rows = self._deleter.count(ids, through, labels=query.labels)
            found.sent_to |= self._deleter.sent_to(ids)
            sessions = self._deleter.delete(ids, through, labels=query.labels, until=until)
        finally:
            self._store.deletions.let_go(keys)
            self._judging.ask(keys)
        if self._reopen is not None:
            for service, session in sessions:
                self._reopen(service, session, self._tenant)
        self._deleted()
        found.ids += ids
        found.rows += rows
        found.left += self._deleter.count(ids, through, labels=query.labels)

    def _pages(self, query: DeleteQuery, users: Sequence[str]) -> Iterator[list[str]]:
        """The traces of the query that are stored now, some at a time."""
        if query.trace_id:
            yield [query.trace_id]
        elif query.user:
            stored = StoredUsers(self._store, self._store.config.user_attributes, self._tenant)
            found = stored.traces_of(users)
            yield from (found[at : at + PAGE] for at in range(0, len(found), PAGE))
        elif query.session:
            list_pending(self._store)
            while found := self._deleter.of_session(query.session):
                yield found
                if len(found) < PAGE:
                    return
        else:
            while found := self._deleter.of_service(query.service, query.before):
                yield found


class StoredUsers:
    """One tenant's users. `keys`: the attributes that name one. Raises RetryableError, StoreError."""

    def __init__(self, store: SharedStore, keys: Sequence[str], tenant: str = "") -> None:
        self._store, self._keys, self._scope = store, list(keys), Scope(store, tenant)

    def traces_of(self, users: Sequence[str]) -> list[str]:
        """The traces that name one of these (the names of one user), and those of their sessions that name no other.

        Reads the attributes of all spans: seconds a gigabyte.
        """
        values: dict[str, Any] = {"keys": self._keys, "users": list(users)}
        named = {row[0] for row in self._scope.select(_OF_USER, **values)}
        if not named:
            return []
        list_pending(self._store)
        near = {row[0] for row in self._scope.select(_IN_SESSIONS, trace_ids=sorted(named))} - named
        others = {row[0] for row in self._scope.select(_OF_OTHERS, trace_ids=sorted(near), **values)} if near else set()
        return sorted(named | (near - others))
