"""Rules that calls break while a task goes on: forbidden calls, further writes, edges and exclusive pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from tracejury.judges.packs.cards.values import contains

from .calls import OracleCall
from .oracle_case import OracleCase
from .ordering import early_calls


class Mode(StrEnum):
    """How a task failed, in the order in which modes apply; the values are categories of findings."""

    UNAUTHORISED = "unauthorised tool"  # R4
    PREMATURE = "premature termination"  # R1a
    PARTIAL = "partial completion"  # R1b
    SEQUENCE = "incorrect sequence"  # R2
    PARAMETER = "erroneous parameter"  # R3


@dataclass(frozen=True, slots=True)
class Break:
    """A rule that a call broke; `reason`: one sentence."""

    mode: Mode
    call: OracleCall
    reason: str


def broken(case: OracleCase, *, over: bool) -> tuple[Break, ...]:
    """All rules that are broken, in the order of the calls that broke them.

    `over`: nothing follows. Else a later call may still be the one that a step means, and mend an edge.
    """
    found = [*_forbidden(case), *_further(case), *_exclusive(case), *_edges(case, over=over)]
    return tuple(sorted(found, key=lambda one: (one.call.order, one.mode is Mode.SEQUENCE, one.reason)))


def _forbidden(case: OracleCase) -> Iterator[Break]:
    """A call of a forbidden tool ran, even where it failed in the end."""
    for call in (one for one in case.calls if one.ran):
        patterns = (p for p in case.oracle.forbidden if p.tool == call.tool)
        if any(contains(call.arguments or {}, p.arguments) for p in patterns):
            yield Break(Mode.UNAUTHORISED, call, f"The task forbids this call of {call.tool}.")


def _further(case: OracleCase) -> Iterator[Break]:
    """A call wrote that is no step's, where nothing else may; a step without a call may mean the first of its tool."""
    used, meant = {*case.matched.values()}, Counter(step.tool for step in case.missing)
    for n, call in enumerate(case.calls if case.oracle.only else ()):
        if n in used or not case.wrote(call):
            continue
        if meant[call.tool]:
            meant[call.tool] -= 1
        else:
            yield Break(Mode.UNAUTHORISED, call, f"{call.tool} writes, and no step asks for this call.")


def _exclusive(case: OracleCase) -> Iterator[Break]:
    """Both tools of a pair did what they do: one that failed may be followed by the other."""
    for pair in case.oracle.exclusive:
        first = [call for tool in pair for call in [c for c in case.calls if c.ok and c.tool == tool][:1]]
        if len(first) == len(pair):
            earlier, later = sorted(first, key=attrgetter("order"))
            yield Break(Mode.SEQUENCE, later, f"Of {earlier.tool} and {later.tool} the task allows one.")


def _edges(case: OracleCase, *, over: bool) -> Iterator[Break]:
    """Calls that came before one that must come first."""
    for early in early_calls(case, over=over):
        yield Break(Mode.SEQUENCE, early.call, early.reason)
