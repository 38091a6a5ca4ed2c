"""The answers of judges about one trace in one repetition of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.judges.llm.case import Deliberation
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Finding
from tracejury.schemas.verdicts import Verdict

from .spend import Usage

WHOLE_TRACE: Final = ""
"""In the place of a run's id: the trace as a whole."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """One agent run judged. `failures`: judge to one line why it gave no answer; `dropped`: claims by reason.

    `provisional`: findings of its windows, before the closing pass; `lost`: windows and plans without an answer.
    `opinions`: on the detectors' findings.
    """

    run_id: str
    role: str
    verdicts: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    provisional: int = 0
    lost: int = 0
    opinions: tuple[DetectorOpinion, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceResult:
    """One trace judged once. `name`: of its file; `repetition` from 0; `spend` by purpose of the calls.

    `decisive`: what was said of its decisive error, None where nobody was asked. It marks an error and is none of the
    findings.
    """

    name: str
    trace_id: str
    repetition: int
    runs: tuple[RunResult, ...] = ()
    spend: Mapping[str, Usage] = field(default_factory=dict)
    decisive: Deliberation | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all its runs."""
        return tuple(f for run in self.runs for f in run.findings)

    @property
    def verdicts(self) -> tuple[tuple[RunResult, Verdict], ...]:
        """Each with the run that it is about."""
        return tuple((run, v) for run in self.runs for v in run.verdicts)


def trace_scores(result: TraceResult) -> dict[str, int]:
    """A judge's score of the trace as a whole: the mean of its scores of the trace's runs, rounded half up."""
    given: dict[str, list[int]] = {}
    for _, verdict in result.verdicts:
        if verdict.score is not None:
            given.setdefault(verdict.judge, []).append(verdict.score)
    return {judge: (2 * sum(scores) + len(scores)) // (2 * len(scores)) for judge, scores in given.items()}
