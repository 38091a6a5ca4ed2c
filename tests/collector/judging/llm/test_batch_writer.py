"""What judges said is stored in groups, again after a passing failure, and one by one after a lasting one."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from workers import quick

from tracejury.collector.judging.llm.batch_writer import BatchWriter
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind


def subject(run_id: str) -> JudgedSubject:
    """One run, judged."""
    about = Subject(SubjectKind.AGENT_RUN, run_id, "t")
    return JudgedSubject(TraceState.SETTLED, (Judgement(about, "j", "v", "h", 1, 1, Outcome.DONE),))


class Store:
    """Keeps the ids of what it took, group by group; refuses what it is told to."""

    def __init__(self, *, passing: int = 0, never: str = "") -> None:
        self.groups: list[list[str]] = []
        self.passing, self.never = passing, never

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        ids = [s.judgements[0].subject.id for s in subjects]
        if self.passing:
            self.passing -= 1
            raise RetryableError("away", retry_after=0.0)
        if self.never in ids:
            raise StoreError("cannot be stored")
        self.groups.append(ids)


def save_all(store: Store, ids: Sequence[str]) -> tuple[BatchWriter, list[str]]:
    """Save these at once; what the observer was told of."""
    published: list[str] = []
    writer = BatchWriter(store.save, lambda subjects: published.extend(s.judgements[0].subject.id for s in subjects))
    quick(writer.worker)
    writer.worker.start()
    writer.put(*map(subject, ids))
    writer.stop(10)
    return writer, published


def test_what_waits_is_stored_together() -> None:
    """One insert for all; each waits until its own is stored."""
    store = Store()
    writer, published = save_all(store, ["a", "b", "c"])
    assert store.groups == [["a", "b", "c"]]
    assert published == ["a", "b", "c"]
    assert writer.lost == 0


def test_a_passing_failure_is_waited_for() -> None:
    """The same group again, until it is stored."""
    store = Store(passing=3)
    assert save_all(store, ["a", "b"])[1] == ["a", "b"]
    assert store.groups == [["a", "b"]]


def test_what_can_never_be_stored_costs_the_others_nothing() -> None:
    """It is counted and left out."""
    store = Store(never="b")
    writer, published = save_all(store, ["a", "b", "c"])
    assert store.groups == [["a"], ["c"]]
    assert published == ["a", "c"]
    assert writer.lost == 1


def test_nobody_waits_for_a_writer_that_stops() -> None:
    """What is not stored stays pending; whoever comes later is refused."""
    writer = BatchWriter(Store().save, lambda _subjects: None)
    refused: list[RetryableError] = []

    def put() -> None:
        try:
            writer.put(subject("a"))
        except RetryableError as error:
            refused.append(error)

    waiting = threading.Thread(target=put)
    waiting.start()
    writer.stop(1)
    writer.stop(1)
    waiting.join(10)
    put()
    assert len(refused) == 2
