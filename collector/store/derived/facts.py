"""Facts: what one run, or one trace as a whole, contributes to rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, Final

from tracejury.schemas.rates import Population, Unit
from tracejury.schemas.taxonomy import Dimension, Severity

HOUR: Final = 3_600_000_000_000
"""Nanoseconds."""

NAME: Final = 256
"""Characters by which names are distinguished."""


@dataclass(frozen=True, slots=True)
class FactKey:
    """The key of a fact. `unit`: as of `fact_unit`; `run_id`: "" of a trace; `hour` since 1970, of the last arrival."""

    unit: str
    hour: int
    trace_id: str
    run_id: str


def fact_unit(unit: Unit, *, simulated: bool) -> str:
    """The facts that units are counted from: of runs or traces, of real sessions or simulated ones."""
    kind = Unit.RUN if unit in (Unit.RUN, Unit.TURN) else Unit.TRACE
    return f"simulated-{kind}" if simulated else kind.value


class ErrorScope(IntFlag):
    """Whose findings tell an error so: those of a population, of one judge, or of a pack."""

    DETECTORS = 1
    JUDGES = 2
    BOTH = 4
    ITS_JUDGE = 8
    ITS_PACK = 16


SCOPE: Final = {
    Population.DETECTORS: ErrorScope.DETECTORS,
    Population.JUDGES: ErrorScope.JUDGES,
    Population.BOTH: ErrorScope.BOTH,
}


@dataclass(frozen=True, slots=True)
class FactError:
    """An error that holds as some of its findings tell it: the surest one's judge, category, tool and turn.

    `scopes`: of whom these findings are, so where it counts. `turn`: None outside any. `confidences`: with which it is
    at least LOW, MEDIUM, HIGH. `pattern`: the id of its pattern.
    """

    judge: str
    llm: bool
    scopes: ErrorScope
    dimensions: tuple[Dimension, ...]
    taxonomy: str
    category: str
    confidences: tuple[float, float, float]
    tool: str
    turn: int | None
    pattern: str = ""

    def severity(self, least: float) -> Severity:
        """The severity for readers who ask for a confidence of at least `least`."""
        sure = [s for s, confidence in zip(Severity, self.confidences, strict=True) if confidence >= least]
        return sure[-1] if sure else Severity.LOW


@dataclass(frozen=True, slots=True)
class Standing:
    """The weight with which a fact counts in a population, or (0) why it does not."""

    weight: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One run, or one trace. `at`: unix nanos; `scored`: LLM judges with their own weights; `missed`: who gave no word.

    `parts`: as of `BaseTrace`. `behaviours`: of the users of its exchanges.
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
    errors: tuple[FactError, ...] = ()
    parts: tuple[str, ...] = field(default=())
    behaviours: tuple[str, ...] = ()


def short(name: str) -> str:
    """A name, cut to the length by which names are distinguished."""
    return name[:NAME]


FACT_COLUMNS: Final = (
    "tenant", "Unit", "Hour", "TraceId", "RunId", "At", "Service", "Version", "Session", "Agent", "Role", "Model",
    "Known", "Turns", "Detectors", "Judges", "Both", "DetectorsWhy", "JudgesWhy", "BothWhy", "Scored.Judge",
    "Scored.Weight", "Missed", "Errors.Judge", "Errors.Llm", "Errors.Scopes", "Errors.Dimensions", "Errors.Taxonomy",
    "Errors.Category", "Errors.Low", "Errors.Medium", "Errors.High", "Errors.Tool", "Errors.Turn", "Parts",
    "Behaviours", "Errors.Pattern", "Removed", "FoldedAt", "ReceivedAt",
)  # fmt: skip

_NO_TURN: Final = -1


def fact_row(fact: Fact, tenant: str, stamp: int) -> tuple[Any, ...]:
    """The fact as a row of `run_facts`."""
    f, key, found = fact, fact.key, fact.errors
    stand = [f.standings[p] for p in (Population.DETECTORS, Population.JUDGES, Population.BOTH)]
    return (
        tenant, key.unit, key.hour, key.trace_id, key.run_id, f.at, f.service, f.version, f.session, f.agent, f.role,
        f.model, f.recognised, f.turns, *(s.weight for s in stand), *(s.why for s in stand),
        [judge for judge, _ in f.scored], [weight for _, weight in f.scored], list(f.missed),
        [x.judge for x in found], [x.llm for x in found], [int(x.scopes) for x in found],
        [[d.value for d in x.dimensions] for x in found], [x.taxonomy for x in found], [x.category for x in found],
        *([x.confidences[rank] for x in found] for rank in range(3)), [x.tool for x in found],
        [_NO_TURN if x.turn is None else x.turn for x in found], list(f.parts),
        list(f.behaviours), [x.pattern for x in found], 0, stamp, f.at,
    )  # fmt: skip


def removed_row(key: FactKey, tenant: str, stamp: int) -> tuple[Any, ...]:
    """A row that says that there is no such fact any more."""
    nothing = (0, "", "", "", "", "", "", False, 0, 0.0, 0.0, 0.0, "", "", "", *([] for _ in range(17)))
    return (tenant, key.unit, key.hour, key.trace_id, key.run_id, *nothing, 1, stamp, key.hour * HOUR)
