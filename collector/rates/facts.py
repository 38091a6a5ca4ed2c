"""Facts: the contribution of one run, or of one trace as a whole, to rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ...schemas.rates import Population
from ...schemas.taxonomy import Dimension, Severity

HOUR: Final = 3_600_000_000_000
"""Nanoseconds."""

NAME: Final = 256
"""Characters by which names are distinguished."""


@dataclass(frozen=True, slots=True)
class FactKey:
    """The key of a fact. `unit`: run or trace (then `run_id` is ""); `hour` since 1970, of the latest arrival."""

    unit: str
    hour: int
    trace_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class FactFinding:
    """An error that holds. `turn` None outside any turn."""

    judge: str
    llm: bool
    dimensions: tuple[Dimension, ...]
    taxonomy: str
    category: str
    severity: Severity
    confidence: float
    tool: str
    turn: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The weight with which a fact counts in a population, or (0) why it does not."""

    weight: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One run, or one trace. `at`: unix nanos; `scored`: LLM judges with their own weights; `missed`: who gave no word.

    `parts`: as of `BaseTrace`.
    """

    key: FactKey
    at: int
    service: str
    version: str
    session: str
    agent: str
    role: str
    model: str
    recognised: bool
    turns: int
    standings: dict[Population, Standing]
    scored: tuple[tuple[str, float], ...] = ()
    missed: tuple[str, ...] = ()
    findings: tuple[FactFinding, ...] = ()
    parts: tuple[str, ...] = field(default=())


def short(name: str) -> str:
    """A name, cut to the length by which names are distinguished."""
    return name[:NAME]


FACT_COLUMNS: Final = (
    "tenant", "Unit", "Hour", "TraceId", "RunId", "At", "Service", "Version", "Session", "Agent", "Role", "Model",
    "Known", "Turns", "Detectors", "Judges", "Both", "DetectorsWhy", "JudgesWhy", "BothWhy", "Scored.Judge",
    "Scored.Weight", "Missed", "Findings.Judge", "Findings.Llm", "Findings.Dimensions", "Findings.Taxonomy",
    "Findings.Category", "Findings.Severity", "Findings.Confidence", "Findings.Tool", "Findings.Turn", "Parts",
    "Removed", "FoldedAt", "ReceivedAt",
)  # fmt: skip

_NO_TURN: Final = -1


def fact_row(fact: Fact, tenant: str, stamp: int) -> tuple[Any, ...]:
    """The fact as a row of `run_facts`."""
    f, key, found = fact, fact.key, fact.findings
    stand = [f.standings[p] for p in (Population.DETECTORS, Population.JUDGES, Population.BOTH)]
    return (
        tenant, key.unit, key.hour, key.trace_id, key.run_id, f.at, f.service, f.version, f.session, f.agent, f.role,
        f.model, f.recognised, f.turns, *(s.weight for s in stand), *(s.why for s in stand),
        [judge for judge, _ in f.scored], [weight for _, weight in f.scored], list(f.missed),
        [x.judge for x in found], [x.llm for x in found], [[d.value for d in x.dimensions] for x in found],
        [x.taxonomy for x in found], [x.category for x in found], [x.severity.rank for x in found],
        [x.confidence for x in found], [x.tool for x in found],
        [_NO_TURN if x.turn is None else x.turn for x in found], list(f.parts), 0, stamp, f.at,
    )  # fmt: skip


def removed_row(key: FactKey, tenant: str, stamp: int) -> tuple[Any, ...]:
    """A row that says that there is no such fact any more."""
    nothing = (0, "", "", "", "", "", "", False, 0, 0.0, 0.0, 0.0, "", "", "", [], [], [], *([] for _ in range(9)), [])
    return (tenant, key.unit, key.hour, key.trace_id, key.run_id, *nothing, 1, stamp, key.hour * HOUR)
