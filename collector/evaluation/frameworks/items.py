"""Scored facts: one fact of the truth, its reconstruction, and the rules by which the export does not state it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Measure(StrEnum):
    """The measures of the table."""

    AGENTS = "agents"
    PARENTS = "parent relations"
    TOOL_CALLS = "tool calls"
    LLM_CALLS = "LLM calls"
    FAILURES = "injected failures"
    FINDINGS = "findings on happy runs"
    MANAGER = "manager of a killed run"
    FAULTS = "faults"


@dataclass(frozen=True, slots=True)
class ScoredFact:
    """One fact. `rules`: why the export does not tell it, or not all its sides.

    Only what is `stated` counts in ratios; of the rest `ok` says that nothing was invented. `kind` names the way it was
    missed ("" where it was not); `weight` how many it counts.
    """

    capture: str
    measure: Measure
    what: str
    expected: object
    got: object
    ok: bool
    kind: str = ""
    rules: tuple[str, ...] = ()
    weight: int = 1
    stated: bool = True

    @property
    def label(self) -> str:
        """The capture's label."""
        return self.capture.partition("/")[0]
