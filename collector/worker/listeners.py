"""Listeners to judging: live pages, webhooks, forwarding, texts, metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

from .retry import RetryPolicy

log = logging.getLogger(__name__)

T = TypeVar("T")

TAKE_UP: Final = RetryPolicy(first=60.0, longest=60.0)
"""Seconds for which whoever judged a trace alone sends what follows from it; its `delay`, from half of that on, is
that of a process that then looks at what is left. So they seldom begin at once."""


@dataclass(frozen=True, slots=True)
class JudgedByOthers:
    """A trace (tenant, id) that another process judged. `has_findings`: some hold; `is_complete`: it is not open."""

    key: tuple[str, str]
    has_findings: bool
    is_complete: bool


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
        self._of_others: tuple[Callable[[Sequence[JudgedByOthers]], None], ...] = ()

    def add(self, listener: Listener) -> None:
        """Call this one, too, from now on."""
        self._all = (*self._all, listener)

    def add_for_others(self, call: Callable[[Sequence[JudgedByOthers]], None]) -> None:
        """From now on call this with the traces of which other processes have stored judgements.

        As for `Listener`, though a little later, and not with what was found.
        """
        self._of_others = (*self._of_others, call)

    def judged_by_others(self, traces: Sequence[JudgedByOthers]) -> None:
        """See `add_for_others`."""
        self._call_each(self._of_others, lambda call: call(traces))

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """See `Listener`."""
        self._call_each(self._all, lambda listener: listener.traces_judged(traces))

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """See `Listener`."""
        self._call_each(self._all, lambda listener: listener.subjects_judged(subjects))

    def _call_each(self, listeners: Iterable[T], call: Callable[[T], None]) -> None:
        for listener in listeners:
            try:
                call(listener)
            except Exception:  # it is not the judging that failed
                log.exception("a listener to findings failed; it goes on")
