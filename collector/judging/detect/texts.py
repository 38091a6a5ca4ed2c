"""Keeps what is said in complete traces, to be searched: beside judging, many texts at once.

A text costs the store more than all that is found in its trace, and nobody waits for it as for a finding.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ....processors.assemble import TraceKey
from ....schemas.errors import RetryableError, TracejuryError
from ....schemas.verdicts import JudgedSubject, JudgedTrace
from ...store.texts import TraceText, text_of

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 3.0
"""Between two inserts."""
MOST: Final = 64_000_000
"""Characters that wait; whoever brings more stores them first."""
MOST_LATER: Final = 100_000
"""Traces remembered that are judged again for their text, once the store works."""
SWEEP_LIMIT: Final = 10_000

Ask = Callable[[Sequence[TraceKey]], object]


class TextStore(Protocol):
    """Where texts go; both block."""

    def keep(self, texts: Sequence[TraceText]) -> None:
        """Store them. Raises RetryableError, StoreError."""

    def missing(self, before: int, limit: int) -> list[TraceKey]:
        """Complete traces without a text that an earlier process left. Raises RetryableError, StoreError."""


class KeepingTexts:
    """A listener with a thread of its own. `most`: characters that wait; `every`: seconds between two inserts.

    Make it before anything is judged: `clock` (unix nanos) tells what an earlier process judged. `lost` counts traces
    that nobody can search until they are judged again.
    """

    def __init__(
        self,
        store: TextStore,
        *,
        most: int = MOST,
        every: float = EVERY_SECONDS,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._most, self._every = store, most, every
        self.lost = 0
        self._before = clock()
        self._waiting: dict[TraceKey, TraceText] = {}
        self._later: dict[TraceKey, None] = {}
        self._size = 0
        self._failing = False
        self._lock, self._storing = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._waiting) + len(self._later)

    def start(self, ask: Ask) -> None:
        """Start the thread; it first has judged again (`ask`) what an earlier process left without a text."""
        self._thread = threading.Thread(target=self._run, args=(ask,), name="texts", daemon=True)
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """Store what waits, within `deadline` seconds; what is left is asked for at the next start. Idempotent."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(deadline)

    def judged(self, traces: Sequence[JudgedTrace]) -> None:
        """Take the texts of those that are complete."""
        for judged in traces:
            text = text_of(judged)
            if text is not None:
                self._put(text)
        if self._size > self._most:
            self._flush_guarded()

    def heard(self, subjects: Sequence[JudgedSubject]) -> None:
        """What LLM judges say is searched in their findings."""

    def flush(self) -> None:
        """Store what waits. Raises RetryableError: it waits on; what is more than may wait is judged again later."""
        with self._storing:
            with self._lock:
                texts, self._waiting, self._size = list(self._waiting.values()), {}, 0
            try:
                self._keep(texts)
            except RetryableError:
                self._give_back(texts)
                raise

    def _keep(self, texts: Sequence[TraceText]) -> None:
        try:
            self._store.keep(texts)
        except RetryableError:
            raise
        except TracejuryError as error:
            if len(texts) == 1:
                self.lost += 1
                log.warning("trace %s cannot be searched: %s", texts[0].key[1], error)
                return
            for text in texts:
                self._keep([text])

    def _put(self, text: TraceText) -> None:
        with self._lock:
            before = self._waiting.pop(text.key, None)
            self._waiting[text.key] = text
            self._size += text.size - (before.size if before else 0)

    def _give_back(self, texts: Sequence[TraceText]) -> None:
        with self._lock:
            for text in texts:
                if text.key in self._waiting:
                    continue
                if self._size + text.size <= self._most:
                    self._waiting[text.key] = text
                    self._size += text.size
                elif len(self._later) < MOST_LATER:
                    self._later[text.key] = None
                else:
                    self.lost += 1

    def _run(self, ask: Ask) -> None:
        swept = False
        while not self._stopping.wait(self._every):
            swept = swept or self._sweep(ask)
            if self._flush_guarded():
                self._ask_later(ask)
        self._flush_guarded()

    def _sweep(self, ask: Ask) -> bool:
        try:
            keys = self._store.missing(self._before, SWEEP_LIMIT)
        except RetryableError as error:
            self._failed(error)
            return False
        except Exception:
            log.exception("what an earlier process left without a text for search is not known")
            return True
        if keys:
            ask(keys)
        return True

    def _ask_later(self, ask: Ask) -> None:
        with self._lock:
            keys, self._later = list(self._later), {}
        if keys:
            ask(keys)

    def _flush_guarded(self) -> bool:
        try:
            self.flush()
        except RetryableError as error:
            self._failed(error)
            return False
        except Exception:  # the thread must live; what it had in hand is asked for at the next start
            log.exception("texts for search could not be stored")
            return False
        if self._failing:
            self._failing = False
            log.info("texts for search are stored again")
        return True

    def _failed(self, error: RetryableError) -> None:
        if not self._failing:
            self._failing = True
            log.warning("texts for search wait for the store: %s", error)
