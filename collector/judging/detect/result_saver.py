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

from .unsaved import WITHIN, UnsavedResults, says_new

SAVE_PAUSE: Final = 4
"""What was judged is inserted after so many times as long as the last insert took, where judging does nothing but work;
sooner in proportion where it is idle in between. The more often the engine gets a few rows, the more time it spends on
them, also to merge them."""
MAX_SAVE_PAUSE: Final = SECOND // 5


class ResultSaver:
    """Results from when they are made until they are stored; for the judging threads, one of which holds `lock`.

    While one of them stores results it leaves `lock` to the other. `publish` gets what was stored, `lost` a result that
    the store refuses for good, with the reason. `clock` gives unix nanos.
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
        self._saving = threading.Lock()  # held while results are stored
        self._unsaved = UnsavedResults()
        self._next_save = 0
        self._saved_at = self._worked = 0  # when results were last stored, and the nanos of work since

    def __len__(self) -> int:
        """Traces whose results are not stored yet."""
        return len(self._unsaved)

    def next_due(self) -> int | None:
        """When results must be stored (unix nanos); None where none wait."""
        return self._unsaved.next_due()

    def worked(self, nanos: int) -> None:
        """Count the time of a step."""
        self._worked += nanos

    def add(self, judged: Sequence[JudgedTrace]) -> None:
        """Have results wait: those that say something new for the end of the pause after the last insert."""
        now = self._clock()
        is_urgent = any(map(says_new, judged))
        self._unsaved.add(judged, max(self._next_save, now) if is_urgent else now + WITHIN)

    def save_if_due(self) -> None:
        """Store what waits if it has waited long enough. Raises as `save_results` does, as all methods below."""
        due = self.next_due()
        if due is not None and due <= self._clock():
            self.save()

    def save(self) -> None:
        """Store what waits; the other thread goes on meanwhile."""
        self._save((), self._save_beside)

    def save_alone(self, judged: Sequence[JudgedTrace] = ()) -> None:
        """Store what waits, and these; the other thread waits, too."""
        self._save(judged, self._store.save)

    def save_those_of(self, keys: Collection[TraceKey]) -> None:
        """Store what was found in these traces, where something waits: what is read of them must be all."""
        if self._unsaved.hold_any(keys):
            self.save_alone()

    def store(self, judged: Sequence[JudgedTrace]) -> None:
        """Store and publish these at once; `lock` is left to whoever has it."""
        self._store_and_publish(judged, self._store.save)

    def _save(self, judged: Sequence[JudgedTrace], save: Callable[[Sequence[JudgedTrace]], None]) -> None:
        while self._unsaved.storing:
            with self._lock.left(), self._saving:
                pass
        with self._saving:
            began = self._clock()
            try:
                self._store_and_publish(self._unsaved.take(judged), save)
            except BaseException:
                self._unsaved.put_back()
                raise
            ended = self._clock()
            took = ended - began
            busy = min((self._worked + took) / max(ended - self._saved_at, 1), 1.0)
            self._next_save = ended + min(round(SAVE_PAUSE * busy * took), MAX_SAVE_PAUSE)
            self._saved_at, self._worked = ended, 0
            self._unsaved.stored(self._next_save)

    def _save_beside(self, judged: Sequence[JudgedTrace]) -> None:
        with self._lock.left():
            self._store.save(judged)

    def _store_and_publish(self, judged: Sequence[JudgedTrace], save: Callable[[Sequence[JudgedTrace]], None]) -> None:
        staying = [one for one in judged if self._store.stays(one)]
        save_results(staying, save, self._publish, self._lost)
