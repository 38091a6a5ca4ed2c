"""Requests of processes that do not judge, carried out by several workers on one store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from tracejury.collector.app.asked_workers import AskedWorkers
from tracejury.collector.app.carried_requests import CarriedRequests
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.requests import COLUMNS, RequestKind, StoredRequests
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.schemas.errors import ConfigError, RetryableError, StoreError
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.receipts import DeletionKind, DeletionReceipt
from tracejury.schemas.verdicts import DETECTORS, Judgement, Outcome, Subject, SubjectKind

HOSTILE = "x'); DROP TABLE requests --\x00\ud7ff"


class Carried:
    """A worker that notes what it is asked to do."""

    def __init__(self, store: SharedStore, *, seconds: int = 120, error: Exception | None = None) -> None:
        self.done: list[tuple[object, ...]] = []
        self._error = error
        self.worker = CarriedRequests(
            StoredRequests(store, seconds), self._judge, self._delete, self._close, time.time_ns
        )

    def look(self) -> int:
        """Carry out what waits; returns how much was done by now."""
        wait(self.worker.look(), 60)
        return len(self.done)

    def _note(self, *asked: object) -> None:
        self.done.append(asked)
        if self._error is not None:
            raise self._error

    def _judge(self, trace_ids: Sequence[str], by_hand: bool, tenant: str) -> Sequence[Judgement]:  # noqa: FBT001  JudgeAgain
        self._note(tenant, *trace_ids, by_hand)
        return [
            Judgement(Subject(SubjectKind.TRACE, i, i, tenant), DETECTORS, "v", "h", 1, 1, Outcome.DONE,
                      failures=(("rule", "KeyError: x"),))
            for i in trace_ids
        ]  # fmt: skip

    def _delete(self, query: DeleteQuery, tenant: str) -> DeletionReceipt:
        self._note(tenant, query)
        return DeletionReceipt(tenant, "r", 1, query.kind, 2, {"spans": 6}, 0, 0, 0, ("backend",))

    def _close(self, service: str, session_id: str, tenant: str) -> bool:
        self._note(tenant, service, session_id)
        return True


def asked(store: SharedStore, ask: Callable[[AskedWorkers], Any], *workers: Carried) -> Any:
    """What one process is told, while workers of others look in turn."""
    with ThreadPoolExecutor(1) as beside:
        told = beside.submit(ask, AskedWorkers(store, Telemetry("1"), seconds=60))
        while not told.done():
            for worker in workers:
                worker.look()
        return told.result()


def test_a_request_is_carried_out_once_by_whichever_worker_comes_first(store: SharedStore) -> None:
    """Each kind, in its project, with whatever text it names; the answer is what a worker in this process would say."""
    workers = Carried(store), Carried(store)
    (judged,) = asked(store, lambda of: of.judge_again([HOSTILE], by_hand=True, tenant="p"), *workers)
    assert (judged.subject.trace_id, judged.subject.tenant, judged.failures) == (
        HOSTILE,
        "p",
        (("rule", "KeyError: x"),),
    )
    query = DeleteQuery(user=HOSTILE, labels=True)
    receipt = asked(store, lambda of: of.delete(query, "p"), *workers)
    assert receipt == DeletionReceipt("p", "r", 1, DeletionKind.USER, 2, {"spans": 6}, 0, 0, 0, ["backend"])
    assert asked(store, lambda of: of.close_session("shop", HOSTILE), *workers) is True
    done = [one for worker in workers for one in worker.done]
    assert sorted(map(len, done)) == [2, 3, 3]
    assert ("p", query) in done
    kept = store.rows("SELECT Content FROM requests WHERE Kind = 'delete' AND Step = 'asked'")
    assert not kept, "whom a deletion names is not kept"


def test_what_nobody_answers_stays_asked_once_and_another_worker_takes_it_up(store: SharedStore) -> None:
    """The asker is told so; asking again adds nothing; after a while what a worker has begun is another's."""
    asking = AskedWorkers(store, Telemetry("1"), seconds=0)
    for _ in range(2):
        with pytest.raises(RetryableError, match="requested; a worker will do it"):
            asking.judge_again(["a" * 32])
    requests = StoredRequests(store)
    (request,) = requests.waiting()
    assert requests.begin(request)
    other = StoredRequests(store)
    assert not other.begin(request), "the first has begun"
    assert Carried(store).look() == 0
    assert Carried(store, seconds=0).look() == 1
    requests.finish(request, {"done": [["a" * 32, [["rule", "KeyError: x"]]]]})  # the first was alive after all
    told = asking.judge_again(["a" * 32])
    assert [(one.subject.trace_id, one.failures) for one in told] == [("a" * 32, (("rule", "KeyError: x"),))]
    assert not requests.waiting()
    with pytest.raises(RetryableError):  # of what was told the same is done anew
        asking.judge_again(["a" * 32])


@pytest.mark.parametrize(
    ("error", "tried", "told"),
    [
        (RetryableError("the store is away"), 2, RetryableError),
        (ConfigError("no such session"), 1, StoreError),
        (ZeroDivisionError("x"), 1, StoreError),
    ],
)
def test_a_failure_that_may_pass_is_tried_again_and_another_is_told(
    store: SharedStore, error: Exception, tried: int, told: type[Exception]
) -> None:
    """Nobody waits for what can never be done."""
    asking = AskedWorkers(store, Telemetry("1"), seconds=0)
    with pytest.raises(RetryableError):
        asking.close_session("shop", "s")
    worker = Carried(store, seconds=0, error=error)
    worker.look()
    assert worker.look() == tried
    answered = store.rows("SELECT Content FROM requests WHERE Step = 'answered'")
    assert bool(answered) == (told is StoreError)
    assert all("error" in json.loads(row[0]) for row in answered)


def test_what_a_newer_version_asks_and_what_is_old_is_left_alone(store: SharedStore) -> None:
    """Rolling upgrades: an unknown kind waits for a worker that knows it."""
    insert_rows(store, "requests", COLUMNS, [("", "1" * 32, "asked", "", "fly", "{}")])
    assert StoredRequests(store).waiting() == []
    store.command(
        "INSERT INTO requests (tenant, Id, Step, Kind, Content, ReceivedAt) "
        "SELECT '', '2', 'asked', 'close', '{}', now64(9) - INTERVAL 2 DAY"
    )
    requests = StoredRequests(store)
    assert requests.waiting() == []
    requests.expire()
    assert {row[0] for row in store.rows("SELECT Id FROM requests")} == {"1" * 32}
    assert set(RequestKind) == {"judge", "delete", "close"}
