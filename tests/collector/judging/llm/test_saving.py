"""What judges said is stored in groups, again after a passing failure, and one by one after a lasting one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

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


async def save_all(store: Store, ids: Sequence[str]) -> tuple[BatchWriter, list[str]]:
    """Save these at once; what the watcher was told of."""
    told: list[str] = []
    saving = BatchWriter(store, lambda subjects: told.extend(s.judgements[0].subject.id for s in subjects))
    puts = [asyncio.create_task(saving.put(subject(i))) for i in ids]
    await asyncio.sleep(0)
    running = asyncio.create_task(saving.run())
    await asyncio.gather(*puts)
    running.cancel()
    return saving, told


async def test_what_waits_is_stored_together() -> None:
    """One insert for all; each waits until its own is stored."""
    store = Store()
    saving, told = await save_all(store, ["a", "b", "c"])
    assert store.groups == [["a", "b", "c"]]
    assert told == ["a", "b", "c"]
    assert saving.lost == 0


async def test_a_passing_failure_is_waited_for() -> None:
    """The same group again, until it is stored."""
    store = Store(passing=3)
    assert (await save_all(store, ["a", "b"]))[1] == ["a", "b"]
    assert store.groups == [["a", "b"]]


async def test_what_can_never_be_stored_costs_the_others_nothing() -> None:
    """It is counted and left out."""
    store = Store(never="b")
    saving, told = await save_all(store, ["a", "b", "c"])
    assert store.groups == [["a"], ["c"]]
    assert told == ["a", "c"]
    assert saving.lost == 1
