"""The queue of LLM judging: bounded, each subject once; what does not fit stays pending in the store."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from tracejury.collector.worker.keyed_queue import Item, KeyedQueue
from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.judges.llm.case import Stage
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.verdicts import SubjectKind

UNKNOWN_GROUP: Final = "?"
"""The group of runs whose trace is in the store only: they are divided once it is read."""

MAX_WINDOWS: Final = 256
"""Windows that wait; a later one is not judged by itself: the closing pass sees what it would have seen."""

SubjectKey = tuple[TraceKey, SubjectKind, str]
"""Trace (of a session: tenant and ""), kind and id of a subject: a trace that is a session of its own has its id."""


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """A subject to be judged: an agent run, an exchange, a trace, or a session.

    `content`: hash of what it will show, `received_through`: unix nanos of the newest arrival in it. `noted_at`: unix
    nanos of its ledger entry. `turns`: of a window, positions of its first turn and one past its last; `plans`: indices
    of the planning turns to judge by then. `fresh`: nothing of LLM judges is stored of this subject. `bypass_cache`:
    known answers were of no use. `urgent`: it goes first, as it asks no model. `group`: tasks of one
    trace and group are taken together ("": by itself).
    """

    key: TraceKey
    subject_id: str
    stage: Stage
    judges: tuple[str, ...]
    content: str
    probability: float
    kind: SubjectKind = SubjectKind.AGENT_RUN
    received_through: int = 0
    noted_at: int = 0
    turns: tuple[int, int] = (0, 0)
    plans: tuple[int, ...] = ()
    fresh: bool = False
    bypass_cache: bool = False
    urgent: bool = False
    group: str = ""

    def judged_at(self, now: int) -> int:
        """`now`, but after the run was noted as pending, even where the clock was set back: the later entry counts."""
        return max(now, self.noted_at + 1)

    @property
    def subject_key(self) -> SubjectKey:
        """The subject's trace, kind and id."""
        return (self.key, self.kind, self.subject_id)


JudgeItem = Item[SubjectKey, JudgeTask]


class JudgeQueue(KeyedQueue[SubjectKey, JudgeTask]):
    """Tasks in the order in which they came. Any thread.

    A cache of the pending rows of `judgements`, which are the durable queue: to ask for the oldest costs 34 ms of CPU
    beside a million judgements, and work may come a hundred times a second. What only this process knows is which are
    in flight, when one that failed is due again, and the windows of live runs, which leave no pending row. Two
    processes on a server may both read a row back that its owner left; the second judges by the first one's answers.
    """

    def __init__(self, max_entries: int = 20_000) -> None:
        self.wake_event = WakeEvent()
        super().__init__(max_entries, wake=self.wake_event)

    def add(self, *tasks: JudgeTask) -> bool:
        """Add tasks, each in the place of what waits of its subject.

        False where there is no room for all: a closing pass stays pending in the store.
        """
        with self._lock:  # all at once: a group is taken together
            fits = [self._put(task.subject_key, task, 0) for task in tasks]
        self._woken()
        return all(fits)

    def _put(self, key: SubjectKey, value: JudgeTask, not_before: int) -> bool:
        old = self._waiting.get(key)
        if value.stage is not Stage.CLOSING and (
            old.value.stage is Stage.CLOSING
            if old
            else len([*filter(_is_window, self._waiting.values())]) >= MAX_WINDOWS
        ):
            return False
        fits = super()._put(key, value, not_before)
        if fits and value.urgent:
            self._waiting = {key: self._waiting.pop(key), **self._waiting}
        return fits

    def take_next(self, now: int) -> list[JudgeItem]:
        """The next task of whose subject nothing is in flight and whose time has come, with those of its group."""
        with self._lock:
            taken = self._take(now, 1)
            if taken and (group := taken[0].value.group):
                trace = taken[0].value.key
                taken += self._take(now, None, lambda item: (item.value.key, item.value.group) == (trace, group))
            return taken

    def withdraw(self, key: TraceKey, kinds: Collection[SubjectKind], but: Collection[str]) -> None:
        """Drop the subjects of these kinds in one trace, except `but`."""
        self.drop(lambda item: item.key[0] == key and item.value.kind in kinds and item.value.subject_id not in but)

    def is_replaced(self, item: JudgeItem) -> bool:
        """Whether what comes of a task is out of date: it waits with other content, is deleted or withdrawn."""
        with self._lock:
            later = self._waiting.get(item.key)
        is_newer = later is not None and not _is_window(later) and later.value.content != item.value.content
        return item.dropped or is_newer


def _is_window(item: JudgeItem) -> bool:
    return item.value.stage is not Stage.CLOSING
