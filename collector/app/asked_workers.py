"""Judging again, deletion and the closing of sessions from a process that does not judge: it asks the workers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.requests import RequestKind, StoredRequests
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.receipts import DeletionKind, DeletionReceipt
from tracejury.schemas.verdicts import DETECTORS, Judgement, Outcome, Subject, SubjectKind

WAIT_SECONDS: Final = 45.0
"""For how long an answer is waited for: less than clients of the API wait."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0


class AskedWorkers:
    """Asks those of a store, and waits up to `seconds` for an answer. Blocks; call it on a thread.

    Raises:
        RetryableError: nobody has answered yet; the request stays. Or the store failed.
        StoreError: it cannot be done.
    """

    def __init__(self, store: SharedStore, telemetry: Telemetry, seconds: float = WAIT_SECONDS) -> None:
        self._store, self._requests, self._seconds = store, StoredRequests(store), seconds
        self._asked = self._unanswered = 0
        counter = telemetry.counter
        counter("tracejury_requests_asked", "Requests that workers were to carry out", lambda: self._asked)
        counter("tracejury_requests_late", "Those that none answered in time", lambda: self._unanswered)

    def judge_again(self, trace_ids: Sequence[str], by_hand: bool = False, tenant: str = "") -> Sequence[Judgement]:  # noqa: FBT001, FBT002  JudgeAgain
        """See `Working.judge_again`. The findings are those that are stored once a worker has answered."""
        if not trace_ids:
            return ()
        told = self._ask(tenant, RequestKind.JUDGE, {"trace_ids": list(trace_ids), "by_hand": by_hand})
        found = StoredJudging(self._store, tenant).load_findings([trace_id for trace_id, _ in told])
        return [
            Judgement(
                Subject(SubjectKind.TRACE, trace_id, trace_id, tenant),
                DETECTORS,
                version="",
                input_hash="",
                judged_at=0,
                received_through=0,
                outcome=Outcome.DONE,
                findings=tuple(f for f in found.get(trace_id, ()) if f.state is not FindingState.RETRACTED),
                failures=tuple((rule, why) for rule, why in failures),
            )
            for trace_id, failures in told
        ]

    def delete(self, query: DeleteQuery, tenant: str = "") -> DeletionReceipt:
        """See `Deletion.delete`."""
        receipt = self._ask(tenant, RequestKind.DELETE, asdict(query))
        return DeletionReceipt(**{**receipt, "kind": DeletionKind(receipt["kind"])})

    def close_session(self, service: str, session_id: str, tenant: str = "") -> bool:
        """See `Working.close_session`."""
        return bool(self._ask(tenant, RequestKind.CLOSE, {"service": service, "session_id": session_id}))

    def _ask(self, tenant: str, kind: RequestKind, arguments: Mapping[str, Any]) -> Any:
        self._asked += 1
        request_id = self._requests.ask(tenant, kind, arguments)
        ends, pause = time.monotonic() + self._seconds, FIRST_PAUSE
        while (answer := self._requests.answer(tenant, request_id)) is None:
            if time.monotonic() > ends:
                self._unanswered += 1
                raise RetryableError(
                    f"requested; a worker will do it (none has answered within {self._seconds:g} seconds)"
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        self._requests.told(tenant, request_id, kind)
        if "error" in answer:
            raise StoreError(f"no worker can do it: {answer['error']}")
        return answer["done"]
