"""The protocol of a detector: a pure function from a rebuilt trace to drafts of findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Protocol, runtime_checkable

from tracejury.schemas.findings import Draft
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, KnownRuns, Trace

from .code_faults import CodeFault, code_faults
from .endings import Ending, endings
from .evidence import OwnText
from .executions import Execution, executions
from .facts import RunFacts
from .later_calls import Worked, last_worked, missed_again
from .read_runs import read_runs
from .runaways import UNKNOWN, Runaway, UsualRuns, runaways

__all__ = ["Context", "Detector", "RuleScope", "scope_of"]


class RuleScope(StrEnum):
    """The part of a trace that the findings of a rule at a place follow from (docs/detectors.md).

    Of everything else only structure counts: the ids and names of the other agent runs, and which started which.
    """

    TURN = "turn"  # the agent run up to and with the turn of the finding
    RUN = "run"  # the agent run of the finding
    TRACE = "trace"


class Context:
    """What the detectors of one judging of a trace share, each computed at first use.

    `spans`: the trace's spans by id. All but `trace`, `spans` and what is said of one run (`run`, `finished`, `place`)
    looks at other runs: only rules of a whole trace may ask for it.
    """

    def __init__(self, trace: Trace, known: KnownRuns | None = None, usual: UsualRuns = UNKNOWN) -> None:
        self.trace, self._known, self._usual = trace, known if known is not None else {}, usual
        self.spans: Mapping[str, NormalizedSpan] = trace.spans

    @cached_property
    def facts(self) -> Mapping[str, RunFacts]:
        """The facts of all runs by id."""
        return read_runs(self.trace, self._known)

    @cached_property
    def own_text(self) -> OwnText:
        """The own texts of the trace's spans, and their places."""
        return OwnText(self.trace)

    def place(self, run: AgentRun, span_id: str) -> tuple[NormalizedSpan, int] | None:
        """A span of a run's turns, with the index of its turn; None for one that is in none of them."""
        place = self.own_text.in_run(span_id, run.id)
        return (self.spans[span_id], place[1].index) if place is not None else None

    def run(self, run: AgentRun) -> RunFacts:
        """The facts of one run of the trace."""
        return self.facts[run.id]

    def finished(self, run: AgentRun) -> bool:
        """Whether the run's own span has ended, so that an absence in it means something."""
        return self.facts[run.id].settled

    @cached_property
    def endings(self) -> Mapping[str, Ending]:
        """How the runs ended that failed, by run id."""
        return endings(self.trace)

    @cached_property
    def runaways(self) -> Sequence[Runaway]:
        """The runs that use far more than usual."""
        return list(runaways(self.trace, self._usual))

    @cached_property
    def last_worked(self) -> Worked:
        """When tools last worked."""
        return last_worked(self.facts.values())

    @cached_property
    def missed_again(self) -> Mapping[str, str]:
        """The next call, in another run, that did not find the file either that a span's call did not find."""
        return missed_again(self.facts.values())

    @cached_property
    def _executions(self) -> tuple[Execution, ...]:
        return executions(self.facts)

    @cached_property
    def failed_code(self) -> Mapping[str, tuple[CodeFault, ...]]:
        """Code that failed, by the run of its first failure."""
        return self._faults(attrgetter("failed"))

    @cached_property
    def empty_code(self) -> Mapping[str, tuple[CodeFault, ...]]:
        """Code that ran and brought nothing, by the run in which it did first."""
        return self._faults(attrgetter("empty"))

    def _faults(self, went_wrong: Callable[[Execution], bool]) -> Mapping[str, tuple[CodeFault, ...]]:
        found: defaultdict[str, tuple[CodeFault, ...]] = defaultdict(tuple)
        for fault in code_faults(self._executions, went_wrong):
            first = fault.failures[0]
            if first.author is not None and first.run is not None:
                found[first.run.run.id] += (fault,)
        return found


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
