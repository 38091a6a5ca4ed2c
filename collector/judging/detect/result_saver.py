"""Stores and publishes what was judged: many results an insert, and soon where somebody may wait for one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Final

from tracejury.collector.judging.pipeline import save_results
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.worker.step_lock import StepLock
from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.verdicts import JudgedTrace

WITHIN: Final = SECOND
"""How long results may wait that say nothing new. Until they are stored the store counts them as not judged."""
MOST_SPANS: Final = 1000
"""Their spans stay in memory meanwhile."""
SAVE_PAUSE: Final = 4
"""What was judged is inserted after so many times as long as the last insert took, where judging does nothing but work;
sooner in proportion where it is idle in between. The more often the engine gets a few rows, the more time it spends on
them, also to merge them."""
MAX_SAVE_PAUSE: Final = SECOND // 5


class ResultSaver:
    """Results from when they are made until they are stored; for the judging threads, one of which holds `lock`.

    While one of them stores results it leaves `lock` to the other. `publish` gets what was stored, `lost` a result that
    the store refuses for good, with the reason. `clock` gives unix nanos. All that stores raises as `save_results`.
    """

    def __init__(
        self,
        store: StoredJudging,
        lock: StepLock,
        publish: Callable[[Sequence[JudgedTrace]], None],
        lost: Callable[[JudgedTrace, TracejuryError], None],
        clock: Callable[[], int],
    ) -> None:
        self._store, self._lock, self._publish, self._lost, self._clock = store, lock, publish, lost, clock
        self._storing = threading.Lock()  # held while what waited is stored
        self._waiting: list[JudgedTrace] = []  # in the order in which they were made
        self._under_way: list[JudgedTrace] | None = None  # what waited before and is being stored
        self._due: int | None = None  # when what waits must be stored
        self._next_save = 0
        self._saved_at = self._worked = 0  # when results were last stored, and the nanos of work since

    def __len__(self) -> int:
        """Traces whose results are not stored yet."""
        return len(self._waiting) + len(self._under_way or ())

    def next_due(self) -> int | None:
        """When results must be stored (unix nanos); None where none wait, or for others that are being stored."""
        if sum(len(one.trace.spans) for one in self._waiting) >= MOST_SPANS:
            return 0
        return None if self._under_way is not None else self._due

    def worked(self, nanos: int) -> None:
        """Count the time of a step."""
        self._worked += nanos

    def add(self, judged: Sequence[JudgedTrace]) -> None:
        """Have results wait: those that say something new for the end of the pause after the last insert."""
        if not judged:
            return
        now = self._clock()
        due = max(self._next_save, now) if any(map(_says_new, judged)) else now + WITHIN
        self._due = due if self._due is None else min(self._due, due)
        self._waiting = self._with(judged)

    def save_if_due(self) -> None:
        """Store what waits if it has waited long enough."""
        due = self.next_due()
        if due is not None and due <= self._clock():
            self.save()

    def save(self, judged: Sequence[JudgedTrace] = (), *, alone: bool = False) -> None:
        """Store what waits, and these; the other thread goes on meanwhile, unless this one is to be `alone`."""
        while self._under_way is not None:
            with self._lock.left(), self._storing:
                pass
        with self._storing:
            began = self._clock()
            taken, waited = self._with(judged), self._take_waiting()
            try:
                self.store(taken, self._store.save if alone else self._save_beside)
            except BaseException:
                if waited:
                    self._waiting, self._due = [*waited, *self._waiting], 0
                raise
            finally:
                self._under_way = None
            ended = self._clock()
            took = ended - began
            busy = min((self._worked + took) / max(ended - self._saved_at, 1), 1.0)
            self._next_save = ended + min(round(SAVE_PAUSE * busy * took), MAX_SAVE_PAUSE)
            self._saved_at, self._worked = ended, 0
            if self._due is not None:
                self._due = max(self._due, self._next_save)

    def save_those_of(self, keys: Collection[TraceKey]) -> None:
        """Store what was found in these traces, where something waits: what is read of them must be all."""
        if any(_key(one) in keys for one in (*self._waiting, *(self._under_way or ()))):
            self.save(alone=True)

    def store(self, judged: Sequence[JudgedTrace], save: Callable[[Sequence[JudgedTrace]], None] | None = None) -> None:
        """Store and publish these at once; `lock` is left to whoever has it."""
        staying = [one for one in judged if self._store.stays(one)]
        save_results(staying, save or self._store.save, self._publish, self._lost)

    def _take_waiting(self) -> list[JudgedTrace]:
        self._under_way, self._waiting, self._due = self._waiting, [], None
        return self._under_way

    def _save_beside(self, judged: Sequence[JudgedTrace]) -> None:
        with self._lock.left():
            self._store.save(judged)

    def _with(self, judged: Sequence[JudgedTrace]) -> list[JudgedTrace]:
        """What waits, and these, but for what one of these says again; what differs from stored rows is said once."""
        newer = set(map(_key, judged))
        return [*(one for one in self._waiting if _says_new(one) or one.ledger or _key(one) not in newer), *judged]


def _says_new(judged: JudgedTrace) -> bool:
    """Whether somebody may wait for the result: its findings differ from those stored."""
    return bool(judged.changed or judged.retracted)


def _key(judged: JudgedTrace) -> TraceKey:
    return judged.trace.tenant, judged.trace.trace_id
