"""The protocol of a detector: a pure function from a rebuilt trace to drafts of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any, Protocol, TypeVar, runtime_checkable

from ..schemas.findings import Draft
from ..schemas.trajectory import AgentRun, Trace
from .code_faults import CodeFault, code_faults
from .endings import Ending, endings
from .executions import executions
from .facts import RunFacts, read_runs
from .mending import Worked, last_worked
from .missing_files import MissedAgain, missed_again
from .text import TextCache

__all__ = ["Context", "Detector", "RuleScope", "scope_of"]

T = TypeVar("T")


class RuleScope(StrEnum):
    """The part of a trace that the findings of a rule at a place follow from.

    Of everything else only structure counts: the ids and names of the other agent runs, and which started which.
    """

    TURN = "turn"  # the agent run up to and with the turn of the finding
    RUN = "run"  # the agent run of the finding
    TRACE = "trace"


class Context:
    """State shared by the detectors of one pass over a trace: each text and each run is analysed once.

    `texts` may outlive the pass (hand the same one in again while a trace is open); it is bounded and holds nothing
    but what was read from texts, so it never changes an outcome.
    """

    __slots__ = ("_answers", "_endings", "_facts", "_faults", "_missed", "_worked", "texts", "trace")

    def __init__(self, trace: Trace, texts: TextCache | None = None) -> None:
        self.trace = trace
        self.texts = texts if texts is not None else TextCache()
        self._answers: dict[tuple[Callable[[RunFacts], Iterable[Any]], str], tuple[Any, ...]] = {}
        self._facts: Mapping[str, RunFacts] | None = None
        self._endings: Mapping[str, Ending] | None = None
        self._worked: Worked | None = None
        self._missed: MissedAgain | None = None
        self._faults: tuple[tuple[CodeFault, ...], tuple[CodeFault, ...]] | None = None

    @property
    def facts(self) -> Mapping[str, RunFacts]:
        """The facts of all runs by id, computed at first use."""
        if self._facts is None:
            self._facts = read_runs(self.trace, self.texts)
        return self._facts

    @property
    def endings(self) -> Mapping[str, Ending]:
        """The endings of the runs that failed, by run id, computed at first use."""
        if self._endings is None:
            self._endings = endings(self.trace)
        return self._endings

    @property
    def worked(self) -> Worked:
        """When each tool last worked (mending.py), computed at first use."""
        if self._worked is None:
            self._worked = last_worked(self.facts.values())
        return self._worked

    @property
    def missed_again(self) -> MissedAgain:
        """Files that several runs did not find (missing_files.py), computed at first use."""
        if self._missed is None:
            self._missed = missed_again(self.facts.values())
        return self._missed

    @property
    def failed_code(self) -> tuple[CodeFault, ...]:
        """Code of the trace that failed when it was run, computed at first use."""
        return self._code()[0]

    @property
    def empty_code(self) -> tuple[CodeFault, ...]:
        """Code of the trace that ran and brought nothing, computed at first use."""
        return self._code()[1]

    def _code(self) -> tuple[tuple[CodeFault, ...], tuple[CodeFault, ...]]:
        if self._faults is None:
            ran = executions(self.facts)
            self._faults = code_faults(ran, attrgetter("failed")), code_faults(ran, attrgetter("empty"))
        return self._faults

    def run(self, run: AgentRun) -> RunFacts:
        """The facts of one run of the trace."""
        return self.facts[run.id]

    def once(self, find: Callable[[RunFacts], Iterable[T]], facts: RunFacts) -> tuple[T, ...]:
        """All that `find` finds in a run, computed at first use, where several rules look for the same."""
        key = (find, facts.run.id)
        if key not in self._answers:
            self._answers[key] = tuple(find(facts))
        return self._answers[key]

    def finished(self, run: AgentRun) -> bool:
        """Whether the run's own span has ended, so that an absence in it means something."""
        return self.facts[run.id].settled


@runtime_checkable
class Detector(Protocol):
    """A deterministic judge.

    `name` is unique within a suite and stable (findings carry it); raise `version` whenever the outcome on some
    trace may change. `detect` must be pure: no I/O, no clock, no state kept between calls. It yields drafts in any
    order; the suite checks, places and identifies them. What it raises is isolated and reported.
    """

    @property
    def name(self) -> str:
        """Unique, stable, lower case with hyphens."""

    @property
    def version(self) -> int:
        """Counts changes of outcome."""

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:
        """Yield what is wrong in `trace`."""


def scope_of(detector: Detector) -> RuleScope:
    """The scope that a detector declares as `scope`; the whole trace where it declares none."""
    return RuleScope(getattr(detector, "scope", RuleScope.TRACE))
