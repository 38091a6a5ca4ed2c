"""What rules of one agent run may ask about the rest of the trace, each computed at first use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import Trace

from .code_faults import CodeFault, code_faults
from .endings import Ending, endings
from .executions import executions
from .facts import RunFacts
from .memory import SuiteMemory
from .mending import Worked, last_worked
from .missing_files import MissedAgain, missed_again
from .run_reading import read_runs

Reads = dict[tuple[str, Any], Any]
"""Questions, each a method's name and its argument, to their answers."""


class RestOfTrace:
    """The answers for one trace; each method takes one hashable argument and returns what can be compared."""

    def __init__(self, trace: Trace, memory: SuiteMemory) -> None:
        self.trace, self._memory = trace, memory

    def answer(self, question: str, about: Hashable) -> Any:
        """The answer to a question that is asked by name."""
        return getattr(self, question)(about)

    def still(self, reads: Reads) -> bool:
        """Whether all answers are as they were."""
        return all(self.answer(*question) == answer for question, answer in reads.items())

    @cached_property
    def facts(self) -> Mapping[str, RunFacts]:
        """The facts of all runs by id."""
        return read_runs(self.trace, self._memory)

    def span(self, span_id: str) -> NormalizedSpan:
        """The span of that id."""
        return self.trace.spans[span_id]

    def started(self, run_ids: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Names and answers of these runs, in the order of the trace."""
        return tuple((run.name, run.answer) for run in self.trace.runs if run.id in run_ids) if run_ids else ()

    def ending(self, run_id: str) -> Ending | None:
        """How a run ended that failed, None for another."""
        return self._endings.get(run_id)

    def worked_after(self, tool_and_time: tuple[str, str, int]) -> bool:
        """Whether a tool (agent's name, tool's name) or any tool of a run (its id, "") worked after a time."""
        *key, at = tool_and_time
        return self._worked.get((key[0], key[1]), -1) > at

    def missed_again(self, span_id: str) -> str:
        """The next call, in another run, that did not find the file either that this span's call did not find."""
        return self._missed.get(span_id, "")

    def failed_code(self, run_id: str) -> tuple[CodeFault, ...]:
        """Code of which the first failure is of a run."""
        return self._faults[0].get(run_id, ())

    def empty_code(self, run_id: str) -> tuple[CodeFault, ...]:
        """Code that ran and brought nothing, the first time in a run."""
        return self._faults[1].get(run_id, ())

    @cached_property
    def _endings(self) -> Mapping[str, Ending]:
        return endings(self.trace)

    @cached_property
    def _worked(self) -> Worked:
        return last_worked(self.facts.values())

    @cached_property
    def _missed(self) -> MissedAgain:
        return missed_again(self.facts.values())

    @cached_property
    def _faults(self) -> tuple[Mapping[str, tuple[CodeFault, ...]], Mapping[str, tuple[CodeFault, ...]]]:
        ran = executions(self.facts, self._memory.ends)
        return _by_run(code_faults(ran, attrgetter("failed"))), _by_run(code_faults(ran, attrgetter("empty")))


def _by_run(faults: tuple[CodeFault, ...]) -> dict[str, tuple[CodeFault, ...]]:
    found: defaultdict[str, tuple[CodeFault, ...]] = defaultdict(tuple)
    for fault in faults:
        first = fault.failures[0]
        if first.author is not None and first.run is not None:
            found[first.run.run.id] += (fault,)
    return found
