"""Scored facts: one fact of the truth, its reconstruction, and the rules by which the export does not state it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .capture import Capture
from .export import Export
from .rebuilt import RebuiltCapture
from .stated import Stated


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


@dataclass(frozen=True, slots=True)
class CaptureCase:
    """One capture with its raw export, its reconstruction, and what the export states."""

    capture: Capture
    export: Export
    rebuilt: RebuiltCapture
    stated: Stated

    def fact(
        self,
        measure: Measure,
        what: str,
        expected: object,
        got: object,
        kind: str = "",
        *,
        ok: bool | None = None,
        rules: tuple[str, ...] = (),
        weight: int = 1,
        stated: bool = True,
    ) -> ScoredFact:
        """A fact of this capture; `ok` where it is not missed in any way, unless told otherwise."""
        right = not kind if ok is None else ok
        return ScoredFact(self.capture.id, measure, what, expected, got, right, kind, rules, weight, stated)
