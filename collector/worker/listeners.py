"""Who is told when something was judged and stored: live pages, exporters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from ...schemas.verdicts import JudgedSubject, JudgedTrace

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Told from the judging thread or from that of the panel, after the commit. Must neither block nor keep much."""

    def judged(self, traces: Sequence[JudgedTrace]) -> None:
        """Detectors looked at these; they are stored."""

    def heard(self, subjects: Sequence[JudgedSubject]) -> None:
        """LLM judges looked at these; they are stored."""


class Listeners:
    """All of them as one; a listener that raises is logged and stops no other."""

    def __init__(self) -> None:
        self._all: tuple[Listener, ...] = ()

    def add(self, listener: Listener) -> None:
        """From now on tell it, too."""
        self._all = (*self._all, listener)

    def judged(self, traces: Sequence[JudgedTrace]) -> None:
        """Tell all."""
        for listener in self._all:
            _guarded(lambda one=listener: one.judged(traces))  # type: ignore[misc]  # mypy infers no default of lambdas

    def heard(self, subjects: Sequence[JudgedSubject]) -> None:
        """Tell all."""
        for listener in self._all:
            _guarded(lambda one=listener: one.heard(subjects))  # type: ignore[misc]


def _guarded(tell: Callable[[], None]) -> None:
    try:
        tell()
    except Exception:  # it is not the judging that failed
        log.exception("a listener to findings failed; it goes on")
