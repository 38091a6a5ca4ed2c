"""The detectors' errors in runs that their judges are asked about, and those that the judges reported themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.judges.causes import cause_of
from tracejury.judges.grouping import standing_errors
from tracejury.judges.verification import decided
from tracejury.schemas.findings import Finding, Verification
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.trajectory import AgentRun, Trace

MOST_ASKED: Final = 30
"""Errors that judges are asked about in one call, the surest and gravest of them."""

_SHOWN: Final = PROFILES["recall"]


@dataclass(frozen=True, slots=True)
class DetectedError:
    """The detectors' findings in one error, its lead first; some of them nobody has confirmed or refuted yet."""

    findings: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        """The finding that the judges are told."""
        return self.findings[0]

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that nobody has confirmed or refuted."""
        return tuple(f for f in self.findings if not decided(f))


@dataclass(frozen=True, slots=True)
class DetectedErrors:
    """`asked`: errors to ask about, at most `MOST_ASKED`; `known`: those that the judges reported themselves."""

    asked: tuple[DetectedError, ...] = ()
    known: tuple[DetectedError, ...] = ()


def detected_errors(
    trace: Trace, runs: Sequence[AgentRun], reported: Iterable[Finding], own: Sequence[Finding]
) -> DetectedErrors:
    """The errors of these runs in which detectors have a finding from the recall profile on that nobody has decided.

    `reported`: the detectors' findings that stand in the trace; `own`: those of the runs' judges. An error is known to
    the judges where one of their findings, unless it was refuted, has the same cause at the same span.
    """
    theirs = {finding.id: finding for finding in reported}
    ids = {run.id for run in runs}
    places = {(f.span_id, cause_of(f)) for f in own if f.verification is not Verification.REFUTED}
    errors: list[DetectedError] = []
    for error in standing_errors([*theirs.values(), *own], trace.runs):
        one = DetectedError(tuple(f for f in error.findings if f.id in theirs))
        if one.findings and one.lead.agent_run_id in ids and any(f.confidence >= _SHOWN for f in one.open):
            errors.append(one)
    known = tuple(e for e in errors if any((f.span_id, cause_of(f)) in places for f in e.findings))
    asked = sorted((e for e in errors if e not in known), key=lambda e: (-e.lead.confidence, -e.lead.severity.rank))
    return DetectedErrors(tuple(asked[:MOST_ASKED]), known)
