"""Facts of agent runs that several detectors need, computed once a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..schemas.trajectory import AgentRun, Trace
from .text import TextCache


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts of one agent run."""

    run: AgentRun

    @classmethod
    def of(cls, run: AgentRun, texts: TextCache) -> RunFacts:  # noqa: ARG003 - filled in below
        """Read one run."""
        return cls(run)


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """Facts of all runs of a trace, by run id."""

    runs: Mapping[str, RunFacts]

    @classmethod
    def of(cls, trace: Trace, texts: TextCache) -> TraceFacts:
        """Read all runs."""
        return cls({run.id: RunFacts.of(run, texts) for run in trace.runs})
