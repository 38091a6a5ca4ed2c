"""The protocol of a detector: a pure function from a rebuilt trace to drafts of findings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

from tracejury.schemas.findings import Draft
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace

from .evidence import OwnText
from .facts import RunFacts
from .memory import SuiteMemory
from .rest_of_trace import Reads, RestOfTrace

__all__ = ["Context", "Detector", "RuleScope", "scope_of"]

Q = TypeVar("Q", bound=Hashable)
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

    `memory` may outlive the pass (hand the same one in again while a trace is open); it holds nothing but what follows
    from the trace, so it never changes an outcome.

    What a rule of one run asks about the rest of the trace is noted: as long as the run and the answers stay, so does
    what the rule found. A rule that reads `trace` or the facts of other runs is run at each pass.
    """

    def __init__(self, trace: Trace, memory: SuiteMemory | None = None) -> None:
        self.memory = memory if memory is not None else SuiteMemory()
        self._rest = RestOfTrace(trace, self.memory)
        self._reads: Reads | None = None

    @property
    def trace(self) -> Trace:
        """The trace that is judged."""
        self._reads = None
        return self._rest.trace

    @property
    def facts(self) -> Mapping[str, RunFacts]:
        """The facts of all runs by id, computed at first use."""
        self._reads = None
        return self._rest.facts

    @property
    def spans(self) -> Mapping[str, NormalizedSpan]:
        """The trace's spans by id."""
        self._reads = None
        return self._rest.trace.spans

    @cached_property
    def own_text(self) -> OwnText:
        """The own texts of the trace's spans, and their places."""
        return OwnText(self._rest.trace, known=self.memory.places)

    def place(self, run: AgentRun, span_id: str) -> tuple[NormalizedSpan, int] | None:
        """A span of a run's turns, with the index of its turn; None for one that is in none of them."""
        place = self.own_text.in_run(span_id, run.id)
        return (self._rest.trace.spans[span_id], place[1].index) if place is not None else None

    def run(self, run: AgentRun) -> RunFacts:
        """The facts of one run of the trace."""
        return self.facts[run.id]

    def finished(self, run: AgentRun) -> bool:
        """Whether the run's own span has ended, so that an absence in it means something."""
        return self.facts[run.id].settled

    def once(self, find: Callable[[RunFacts], Iterable[T]], facts: RunFacts) -> tuple[T, ...]:
        """All that `find` finds in a run, computed at first use, where several rules look for the same."""
        return facts.once(find)

    def ask(self, question: Callable[[RestOfTrace, Q], T], about: Q) -> T:
        """The answer to a question about the rest of the trace: a method of `RestOfTrace` and its argument."""
        answer = question(self._rest, about)
        if self._reads is not None:
            self._reads[question.__name__, about] = answer
        return answer

    def note(self) -> None:
        """Note what is asked from now on."""
        self._reads = {}

    def noted(self) -> Reads | None:
        """What was asked since `note`, and the answers; None where something else was read, too."""
        return self._reads

    def still(self, reads: Reads) -> bool:
        """Whether the answers to what was asked at an earlier pass are the same."""
        return self._rest.still(reads)


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
