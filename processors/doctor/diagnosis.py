"""A diagnosis: what was recognised and found, and the gaps, worst first. Names in it are the sender's: hostile text."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury.schemas.taxonomy import Severity


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy for a gap, and where it was verified ("" where it follows from what the gap is)."""

    do: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that the traces do not tell. Never an error of the agent.

    `kind` is stable, for programs; `what` counts it; `lost` is what cannot be judged therefore. HIGH: hardly anything
    can be judged; MEDIUM: some judges cannot judge, or misjudge; LOW: a remark. `span_ids`: the first ones concerned.
    """

    kind: str
    severity: Severity
    title: str
    what: str
    lost: str
    remedies: tuple[Remedy, ...]
    span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent under an agent ("" for a manager): its runs, their LLM calls and tool calls."""

    name: str
    parent: str
    runs: int
    llm_calls: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """A tool: its calls, how many with arguments and results that are known, failed, and with a span."""

    name: str
    calls: int
    arguments: int
    results: int
    failed: int
    spans: int


@dataclass(frozen=True, slots=True)
class Contents:
    """LLM calls counted once, and how many of them have what."""

    calls: int = 0
    inputs: int = 0
    outputs: int = 0
    tools: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis of some traces.

    `conventions`: (name, spans), "" for spans in none; `scopes`: (name, version, spans).
    """

    services: tuple[str, ...]
    trace_ids: tuple[str, ...]
    open: int
    spans: int
    conventions: tuple[tuple[str, int], ...]
    scopes: tuple[tuple[str, str, int], ...]
    agents: tuple[AgentSummary, ...]
    tools: tuple[ToolSummary, ...]
    contents: Contents
    gaps: tuple[Gap, ...]

    @property
    def real_gaps(self) -> tuple[Gap, ...]:
        """The gaps without mere remarks."""
        return tuple(g for g in self.gaps if g.severity is not Severity.LOW)
