"""Keeps what is said in complete traces, to be searched: beside judging, many texts at once.

A text costs the store more than all that is found in its trace, and nobody waits for it as for a finding.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ...processors.assemble import TraceKey
from ...schemas.errors import RetryableError, TracejuryError
from ...schemas.verdicts import JudgedSubject, JudgedTrace
from ..store.texts import TraceText, text_of

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 3.0
"""Between two inserts."""
MOST: Final = 64_000_000
"""Characters that wait; whoever brings more waits until they are stored."""
SWEEP_LIMIT: Final = 10_000


class TextStore(Protocol):
    """Where texts go; both block."""

    def keep(self, texts: Sequence[TraceText]) -> None:
        """Store them. Raises RetryableError, StoreError."""

    def missing(self, limit: int) -> list[TraceKey]:
        """Complete traces without a text that an earlier process left. Raises RetryableError, StoreError."""


class KeepingTexts:
    """A listener with a thread of its own. `most`: characters that wait; `every`: seconds between two inserts."""

    def __init__(self, store: TextStore, *, most: int = MOST, every: float = EVERY_SECONDS) -> None:
        self._store, self._most, self._every = store, most, every
        self._waiting: dict[TraceKey, TraceText] = {}
        self._size = 0
        self._lock, self._storing = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, ask: Callable[[Sequence[TraceKey]], object]) -> None:
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
        """Store what waits. Raises RetryableError: it waits on, but for what is more than may wait."""
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
                if text.key not in self._waiting and self._size + text.size <= self._most:
                    self._waiting[text.key] = text
                    self._size += text.size

    def _run(self, ask: Callable[[Sequence[TraceKey]], object]) -> None:
        asked = False
        while not self._stopping.wait(self._every):
            asked = asked or self._ask(ask)
            self._flush_guarded()
        self._flush_guarded()

    def _ask(self, ask: Callable[[Sequence[TraceKey]], object]) -> bool:
        try:
            keys = self._store.missing(SWEEP_LIMIT)
        except RetryableError as error:
            log.warning("texts for search wait for the store: %s", error)
            return False
        except Exception:
            log.exception("what an earlier process left without a text for search is not known")
            return True
        if keys:
            ask(keys)
        return True

    def _flush_guarded(self) -> None:
        try:
            self.flush()
        except RetryableError as error:
            log.warning("texts for search wait for the store: %s", error)
            self._stopping.wait(error.retry_after)
        except Exception:  # the thread must live; what it had in hand is asked for at the next start
            log.exception("texts for search could not be stored")
