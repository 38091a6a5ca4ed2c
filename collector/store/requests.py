"""Requests of processes that do not judge to those that do: rows that workers read, carry out and answer.

A request is carried out once or more, with the same result. To save work a worker says that it has begun, and the
others leave the request alone for a while; nothing depends on that.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from .client import Store
from .inserting import store_rows
from .scope import TENANT, Scope

COLUMNS: Final = ("tenant", "Id", "Step", "Worker", "Kind", "Content")

BEGUN_SECONDS: Final = 120
"""For how long a request that a worker has begun is left to it."""

_OPEN: Final = "ReceivedAt >= now64(9) - INTERVAL 1 DAY"
"""The condition on rows of requests that are still carried out."""

# What was answered of late, after whoever asked had gone, is the answer to the one who asks again.
_SAME: Final = f"""
SELECT Id FROM requests WHERE {TENANT} AND startsWith(Id, {{digest:String}}) AND {_OPEN}
GROUP BY Id
HAVING NOT countIf(Step = 'told') AND (NOT countIf(Step = 'answered')
    OR maxIf(ReceivedAt, Step = 'answered') >= now64(9) - INTERVAL 10 MINUTE)
ORDER BY Id LIMIT 1
"""
_ANSWER: Final = f"""
SELECT Content FROM requests WHERE {TENANT} AND Id = {{id:String}} AND Step = 'answered' ORDER BY ReceivedAt LIMIT 1
"""

_BEGUN: Final = "Step = 'begun' AND ReceivedAt >= now64(9) - toIntervalSecond({seconds:UInt32})"
# Over all tenants: what is asked of workers is the collectors' own affair.
_WAITING: Final = f"""
SELECT tenant, Id, Kind, Content FROM requests
WHERE Step = 'asked' AND {_OPEN} AND (tenant, Id) NOT IN (
    SELECT tenant, Id FROM requests WHERE Step = 'answered' OR ({_BEGUN}))
ORDER BY ReceivedAt, Id LIMIT 100
"""
_FIRST: Final = f"""
SELECT argMin(Worker, (ReceivedAt, Worker)) FROM requests WHERE {TENANT} AND Id = {{id:String}} AND {_BEGUN}
"""


class RequestKind(StrEnum):
    """What is asked for."""

    JUDGE = "judge"
    DELETE = "delete"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A request of a project; `arguments` by name, as its kind takes them."""

    tenant: str
    id: str
    kind: RequestKind
    arguments: Mapping[str, Any]


class StoredRequests:
    """The requests of all projects. Blocks; raises RetryableError, StoreError. `seconds`: see `BEGUN_SECONDS`."""

    def __init__(self, store: Store, seconds: int = BEGUN_SECONDS) -> None:
        self._store, self._seconds = store, seconds
        self._worker = uuid.uuid4().hex

    def ask(self, tenant: str, kind: RequestKind, arguments: Mapping[str, Any]) -> str:
        """Ask for something; returns the id of the request. The same is not asked for again while none was told."""
        content = json.dumps(arguments, sort_keys=True)
        digest = hashlib.blake2b(f"{kind} {content}".encode(), digest_size=16).hexdigest()
        same = Scope(self._store, tenant).select(_SAME, digest=digest)
        if same:
            return str(same[0][0])
        made = f"{digest}-{uuid.uuid4().hex}"
        self._keep(tenant, made, "asked", kind, content, worker="")
        return made

    def told(self, tenant: str, request_id: str, kind: RequestKind) -> None:
        """Whoever asked has the answer: the same may be asked for anew."""
        self._keep(tenant, request_id, "told", kind, "", worker="")

    def answer(self, tenant: str, request_id: str) -> Any:
        """The answer to a request; None: there is none yet."""
        rows = Scope(self._store, tenant).select(_ANSWER, id=request_id)
        return json.loads(rows[0][0]) if rows else None

    def waiting(self) -> list[WorkerRequest]:
        """Those that nobody has answered, or begun of late; the oldest first."""
        found = self._store.rows(_WAITING, {"seconds": self._seconds})
        return [
            WorkerRequest(tenant, request_id, RequestKind(kind), json.loads(content))
            for tenant, request_id, kind, content in found
            if kind in set(RequestKind)  # another one is for a newer version
        ]

    def begin(self, request: WorkerRequest) -> bool:
        """Say that this worker begins; whether it is the first to say so, and should go on."""
        self._keep(request.tenant, request.id, "begun", request.kind, "", worker=self._worker)
        rows = Scope(self._store, request.tenant).select(_FIRST, id=request.id, seconds=self._seconds)
        return bool(rows) and rows[0][0] in ("", self._worker)

    def finish(self, request: WorkerRequest, answer: object) -> None:
        """Store the answer. What was asked for goes where it names somebody."""
        self._keep(request.tenant, request.id, "answered", request.kind, json.dumps(answer), worker=self._worker)
        if request.kind is RequestKind.DELETE:
            these = f"{TENANT} AND Id = {{id:String}} AND Step = 'asked'"
            values = {"tenant": request.tenant, "id": request.id}
            self._store.command(f"DELETE FROM requests WHERE {these}", values, mutated="requests")

    def expire(self) -> None:
        """Delete those that are carried out no longer."""
        self._store.command(f"DELETE FROM requests WHERE NOT ({_OPEN})", mutated="requests")

    def _keep(self, tenant: str, request_id: str, step: str, kind: RequestKind, content: str, *, worker: str) -> None:
        row = (tenant, request_id, step, worker, kind.value, content)
        store_rows(self._store, "requests of workers", "requests", COLUMNS, [row])
