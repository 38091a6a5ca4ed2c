"""What a session shows of a task with an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tracejury.judges.packs.cards.oracle import Oracle, OracleStep
from tracejury.judges.packs.cards.writes import Writes
from tracejury.judges.packs.emitted_states import UNOBSERVED, States

from .calls import OracleCall
from .matching import assign, fitting


@dataclass(frozen=True)
class OracleCase:
    """`calls` in order. `answered`: of each exchange whether it has an answer, in order."""

    oracle: Oracle
    writes: Writes
    calls: tuple[OracleCall, ...] = ()
    answered: tuple[bool, ...] = ()
    states: States = UNOBSERVED

    @property
    def budget(self) -> int:
        """Calls that the task takes, n_t."""
        return self.oracle.budget or len(self.oracle.steps)

    def wrote(self, call: OracleCall) -> bool:
        """Whether it changed something; one that failed did not."""
        return call.ok and self.writes(call.tool)

    @cached_property
    def fits(self) -> list[list[int]]:
        """By call, the positions of the steps that it matches, in their order."""
        return fitting(self.oracle.ordered, self.calls)

    @cached_property
    def matched(self) -> dict[str, int]:
        """The position of its call by the id of each step that has one."""
        return {self.oracle.ordered[step].id: call for step, call in assign(self.fits).items()}

    @cached_property
    def missing(self) -> list[OracleStep]:
        """The steps that have none."""
        return [step for step in self.oracle.ordered if step.id not in self.matched]

    @cached_property
    def written(self) -> list[OracleCall]:
        """The calls that wrote."""
        return [call for call in self.calls if self.wrote(call)]

    @property
    def guessed(self) -> list[str]:
        """The tools of which only their names tell whether they write."""
        return sorted({call.tool for call in self.calls if self.writes.guessed(call.tool)})
