"""The queue of LLM judging: bounded, each subject once; what does not fit stays pending in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.judges.llm.case import Stage
from tracejury.processors.assemble import TraceKey
from tracejury.processors.trace_rows import span_size
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import SubjectKind

AGAIN: Final = "asked for again after it failed"
"""The reason of a pending entry that bypasses the answer cache: the cached answer may have caused the failure."""

UNKNOWN_GROUP: Final = "?"
"""The group of runs whose trace is in the store only: they are divided once it is read."""

SubjectKey = tuple[TraceKey, SubjectKind, str]
"""Trace (of a session: tenant and ""), kind and id of a subject: a trace that is a session of its own has its id."""


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """A subject to be judged: an agent run, an exchange, a trace, or a session.

    `content`: hash of what it will show, `received_through`: unix nanos of the newest arrival in it. `noted_at`: unix
    nanos of its ledger entry. `trace`: None where it must be read from the store, or the subject has several.
    `findings`: the detectors'.
    `turns`: of a window, positions of its first turn and one past its last; `plans`: indices of the planning turns to
    judge by then. `fresh`: nothing of LLM judges is stored of this subject. `bypass_cache`: known
    answers were of no use. `urgent`: it goes first, as it asks no model. `tries`: how often it was put back, not to be
    taken before `not_before` (unix nanos).
    `group`: tasks of one trace and group are taken together ("": by itself), as the first one's `others`.
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
    trace: Trace | None = None
    findings: tuple[Finding, ...] = ()
    turns: tuple[int, int] = (0, 0)
    plans: tuple[int, ...] = ()
    fresh: bool = False
    bypass_cache: bool = False
    urgent: bool = False
    tries: int = 0
    not_before: int = 0
    group: str = ""
    others: tuple[JudgeTask, ...] = ()

    @property
    def each(self) -> tuple[JudgeTask, ...]:
        """The task by itself, and those that were taken with it."""
        return (replace(self, others=()) if self.others else self, *self.others)

    def judged_at(self, now: int) -> int:
        """`now`, but after the run was noted as pending, even where the clock was set back: the later entry counts."""
        return max(now, self.noted_at + 1)

    @property
    def subject_key(self) -> SubjectKey:
        """The subject's trace, kind and id."""
        return (self.key, self.kind, self.subject_id)


@dataclass(slots=True)
class HeldTrace:
    """A trace in memory, its bytes, and how many of its runs wait."""

    trace: Trace
    size: int
    runs: int = 0


MAX_WINDOWS: Final = 256
"""Windows that wait; a later one is not judged by itself: the closing pass sees what it would have seen."""


class JudgeQueue:
    """Runs in the order in which they came. Any thread.

    Holds at most `max_entries` and, of their traces, about `max_bytes`. `overflowed` says that runs were left to the
    store since it was last cleared.
    """

    def __init__(self, max_entries: int = 20_000, max_bytes: int = 256 * 1024 * 1024) -> None:
        self.overflowed = False
        self.wake_event = WakeEvent()
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._waiting: OrderedDict[SubjectKey, JudgeTask] = OrderedDict()
        self._groups: dict[tuple[TraceKey, str], dict[SubjectKey, None]] = {}
        self._traces: dict[int, HeldTrace] = {}
        self._taken: dict[SubjectKey, JudgeTask] = {}
        self._dropped: set[SubjectKey] = set()
        self._bytes = self._windows = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def in_flight(self) -> int:
        """Number of runs that are being judged."""
        return len(self._taken)

    @property
    def held_bytes(self) -> int:
        """Approximate bytes of the traces held."""
        return self._bytes

    def put(self, *tasks: JudgeTask) -> bool:
        """Add runs at once, each in the place of what waits of it.

        False where there is no room for all (a closing pass stays pending).
        """
        with self._lock:
            fits = [self._put(task) for task in tasks]
        self.wake_event.wake()
        return all(fits)

    def _put(self, task: JudgeTask) -> bool:
        old = self._waiting.get(task.subject_key)
        if task.stage is not Stage.CLOSING:
            if (old is None and self._windows >= MAX_WINDOWS) or (old and old.stage is Stage.CLOSING):
                return False
        elif old is None and len(self._waiting) >= self._max_entries:
            self.overflowed = True
            return False
        if old is not None:
            self._forget(task.subject_key)
        if not self._hold(task.trace):
            if task.stage is not Stage.CLOSING:
                return False
            task = replace(task, trace=None)
        self._waiting[task.subject_key] = task
        if task.urgent:
            self._waiting.move_to_end(task.subject_key, last=False)
        if task.group:
            self._groups.setdefault((task.key, task.group), {})[task.subject_key] = None
        self._windows += task.stage is not Stage.CLOSING
        return True

    def put_again(self, task: JudgeTask) -> None:
        """Add runs that are in flight, to be tried later; what waits of one by now is newer and goes first."""
        with self._lock:
            for one in task.each:
                if one.subject_key not in self._waiting and one.subject_key not in self._dropped:
                    self._put(replace(one, tries=task.tries, not_before=task.not_before))

    def take(self, now: int) -> JudgeTask | None:
        """The next run of which nothing is in flight and whose time has come, to be answered by `done`.

        Those of its group of which the same holds come with it.
        """
        with self._lock:
            for subject_key, task in self._waiting.items():
                if subject_key not in self._taken and task.not_before <= now:
                    self._take(task)
                    others = self._groups.get((task.key, task.group), {}) if task.group else {}
                    return replace(task, others=tuple(self._take_ready(list(others), now)))
            return None

    def _take_ready(self, keys: Iterable[SubjectKey], now: int) -> Iterator[JudgeTask]:
        for key in keys:
            task = self._waiting[key]
            if key not in self._taken and task.not_before <= now:
                yield self._take(task)

    def _take(self, task: JudgeTask) -> JudgeTask:
        self._forget(task.subject_key)
        self._taken[task.subject_key] = task
        return task

    def next_due(self) -> int | None:
        """When the first run is due of which nothing is in flight (unix nanos); None where there is none."""
        with self._lock:
            times = (task.not_before for key, task in self._waiting.items() if key not in self._taken)
            return min(times, default=None)

    def done(self, task: JudgeTask) -> None:
        """End the judging of a run that was taken, and of those taken with it."""
        with self._lock:
            for one in task.each:
                self._taken.pop(one.subject_key, None)
                self._dropped.discard(one.subject_key)
        self.wake_event.wake()

    def drop(self, keys: Collection[TraceKey]) -> None:
        """These traces are deleted: none of their runs waits, and what comes of those in flight is out of date."""
        self._drop(lambda task: task.key in keys)

    def withdraw(self, key: TraceKey, kinds: Collection[SubjectKind], but: Collection[str]) -> None:
        """Do the same for the subjects of these kinds in one trace, except `but`."""
        self._drop(lambda task: task.key == key and task.kind in kinds and task.subject_id not in but)

    def _drop(self, gone: Callable[[JudgeTask], bool]) -> None:
        with self._lock:
            for task in [task for task in self._waiting.values() if gone(task)]:
                self._forget(task.subject_key)
            self._dropped.update(key for key, task in self._taken.items() if gone(task))

    def replaced(self, task: JudgeTask) -> bool:
        """Whether what comes of a task is out of date: the run waits with other content, is deleted or withdrawn."""
        with self._lock:
            if task.subject_key in self._dropped:
                return True
            later = self._waiting.get(task.subject_key)
        return later is not None and later.stage is Stage.CLOSING and later.content != task.content

    def holds(self, subject_key: SubjectKey) -> bool:
        """Whether the run waits or is in flight."""
        with self._lock:
            return subject_key in self._waiting or subject_key in self._taken

    def _hold(self, trace: Trace | None) -> bool:
        """Count the trace, once however many of its runs wait; False where there is no room for it."""
        if trace is None:
            return True
        held = self._traces.get(id(trace))
        if held is None:
            size = sum(span_size(span.raw) for span in trace.spans.values())
            if self._bytes + size > self._max_bytes:
                return False
            held = self._traces[id(trace)] = HeldTrace(trace, size)
            self._bytes += size
        held.runs += 1
        return True

    def _forget(self, subject_key: SubjectKey) -> None:
        task = self._waiting.pop(subject_key)
        if task.group:
            members = self._groups[task.key, task.group]
            members.pop(subject_key)
            if not members:
                del self._groups[task.key, task.group]
        self._windows -= task.stage is not Stage.CLOSING
        held = self._traces.get(id(task.trace))
        if held is not None:
            held.runs -= 1
            if not held.runs:
                self._bytes -= self._traces.pop(id(task.trace)).size
