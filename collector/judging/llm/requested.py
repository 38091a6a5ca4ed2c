"""Traces that somebody asked to be judged again by LLM judges."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import islice
from typing import Final

from tracejury.processors.assemble import TraceKey

MAX_REQUESTED: Final = 100_000
"""Traces that were asked for and not seen since; beyond it the first are forgotten."""


class RequestedTraces:
    """Bounded. Any thread.

    Not in the store: whoever asks waits until the detectors have judged the trace, which is when the request is used
    up, and asks again after a restart. Of several processes the one that is asked must be the one that judges.
    """

    def __init__(self) -> None:
        self._requested: dict[TraceKey, bool] = {}  # by hand, else to catch up with what was left
        self._lock = threading.Lock()

    def add(self, keys: Iterable[TraceKey], *, by_hand: bool) -> None:
        """Judge these traces again at their next pass."""
        with self._lock:
            self._requested.update(dict.fromkeys(keys, by_hand))
            for key in list(islice(self._requested, max(len(self._requested) - MAX_REQUESTED, 0))):
                del self._requested[key]

    def take(self, key: TraceKey) -> bool | None:
        """Whether the trace was asked for by hand, else to catch up; None where nobody asked. It is forgotten then."""
        with self._lock:
            return self._requested.pop(key, None)
