"""Listeners to judging: live pages, webhooks, forwarding, texts, metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Called after the commit, from the threads of the judges, also at once. It must neither block nor keep much."""

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """Detectors judged these traces; they are stored."""

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """LLM judges judged these subjects; they are stored."""


class Listeners:
    """All of them as one; a listener that raises is logged and stops no other."""

    def __init__(self) -> None:
        self._all: tuple[Listener, ...] = ()

    def add(self, listener: Listener) -> None:
        """Call this one, too, from now on."""
        self._all = (*self._all, listener)

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """See `Listener`."""
        self._call_each(lambda listener: listener.traces_judged(traces))

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """See `Listener`."""
        self._call_each(lambda listener: listener.subjects_judged(subjects))

    def _call_each(self, call: Callable[[Listener], None]) -> None:
        for listener in self._all:
            try:
                call(listener)
            except Exception:  # it is not the judging that failed
                log.exception("a listener to findings failed; it goes on")
