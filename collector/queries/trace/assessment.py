"""Findings, errors and verdicts of a trace in outline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import Finding
from tracejury.schemas.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class TraceAssessment:
    """Findings that hold, the errors that they make and the verdicts of a trace.

    `least`: the confidence asked for; `findings` are as sure, and an error is where any of its findings is. `cost`: of
    the agents in US dollars, None: not known.
    """

    findings: Sequence[Finding] = ()
    errors: Sequence[AgentError] = ()
    least: float = 0.0
    verdicts: Sequence[Verdict] = ()
    cost: float | None = None

    @classmethod
    def of(
        cls,
        errors: Iterable[AgentError],
        standing: Sequence[Finding],
        least: float,
        verdicts: Sequence[Verdict] = (),
        cost: float | None = None,
    ) -> Self:
        """With what is sure enough of all errors and findings that hold."""
        return cls(
            [finding for finding in standing if finding.confidence >= least],
            [error for error in errors if error.confidence() >= least],
            least,
            verdicts,
            cost,
        )
