"""An exact question about rates: which facts and findings, in which profile, grouped by what."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tracejury.collector.labels.checks import a_category
from tracejury.collector.store.derived.facts import fact_unit, short
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.points import checked_time, points
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.rates import By, Population, RateQuery, Unit
from tracejury.schemas.taxonomy import TRAIL, Severity

OF_RUNS: Final[Mapping[By, str]] = {
    By.SERVICE: "Service",
    By.VERSION: "Version",
    By.AGENT: "Agent",
    By.ROLE: "Role",
    By.MODEL: "Model",
    By.SESSION: "Session",
    By.BEHAVIOUR: "arrayJoin(if(empty(Behaviours), [''], Behaviours))",
}
"""Attributes of runs, with their columns of `run_facts`; every other attribute is one of findings."""


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """The judge that a question is about. `rule`: it is a detector."""

    name: str
    rule: bool


@dataclass(frozen=True, slots=True)
class Question:
    """`runs`: values by column; `findings`: values by attribute, at most one of each; `severity`: the least rank.

    `least`: confidence for traces of a recognised and an unrecognised convention. `pack`: whose checks the question is
    about, "" for none; `behaviour`: of users, "" for any. `stated`: conditions on trace ids, and their values.
    `pattern`: the id of one whose runs alone labels are asked of, "" for all.
    """

    tenant: str
    since: int
    until: int
    step: int
    by: By | None
    unit: Unit
    population: Population
    least: Confidence
    runs: Mapping[str, str]
    findings: Mapping[By, str]
    severity: int
    judge: AskedJudge | None
    pack: str = ""
    behaviour: str = ""
    simulated: bool = False
    stated: tuple[Sequence[str], Mapping[str, Any]] = ((), {})
    pattern: str = ""

    @property
    def of_findings(self) -> bool:
        """Whether groups are told apart by something of findings."""
        return self.by is not None and self.by not in OF_RUNS and not (self.by is By.JUDGE and self.judge)

    @property
    def of_judges(self) -> bool:
        """Whether groups are all judges, each with the runs that it scored."""
        return self.by is By.JUDGE and self.judge is None

    @property
    def facts(self) -> str:
        """The facts that it is answered from."""
        return fact_unit(self.unit, simulated=self.simulated)

    @property
    def points(self) -> int:
        """The number of points in time."""
        return points(self.since, self.until, self.step)

    def whole(self) -> Question:
        """The same without points in time."""
        return replace(self, step=0)

    def ungrouped(self) -> Question:
        """The same without groups."""
        return replace(self, by=None)


def exact(
    query: RateQuery, population: Population, rules: Collection[str], packs: Collection[str] = (), tenant: str = ""
) -> Question:
    """The question behind a query, for one population; `rules`, `packs`: the names of all detectors and packs.

    Raises:
        ConfigError: the query means nothing.
    """
    since, until = checked_time(query.since, query.until, query.step)
    runs = {By.SERVICE: query.service, By.VERSION: query.version, By.AGENT: query.agent}
    runs |= {By.ROLE: query.role, By.MODEL: query.model}
    told = {OF_RUNS[by]: short(value) for by, value in runs.items() if value}
    if query.session:
        told[OF_RUNS[By.SESSION]] = query.session
    name, findings = short(query.judge), dict(_of_findings(query))
    taxonomy = short(query.taxonomy) or findings.get(By.CATEGORY, "").partition("/")[0]
    return Question(
        tenant=tenant,
        since=since,
        until=until,
        step=query.step,
        by=query.by,
        unit=query.unit,
        population=population,
        least=Confidence.of(query.profile),
        runs=told,
        findings=findings,
        severity=_rank(query.severity),
        judge=AskedJudge(name, name in rules) if name else None,
        pack=taxonomy if taxonomy in packs and not name else "",
        behaviour=query.behaviour,
        simulated=query.simulated,
    )


def _of_findings(query: RateQuery) -> list[tuple[By, str]]:
    taxonomy, category = short(query.taxonomy), query.category
    found = [(By.DIMENSION, query.dimension), (By.TOOL, short(query.tool))]
    if category:
        found.append((By.CATEGORY, _category(taxonomy, category)))
    elif taxonomy:
        found.append((By.TAXONOMY, taxonomy))
    return [(by, value) for by, value in found if value]


def _category(taxonomy: str, category: str) -> str:
    """With its taxonomy, as answers name it: a name alone is one of TRAIL's, in any case. Raises ConfigError."""
    if taxonomy:
        category = category.removeprefix(f"{taxonomy}/")
    else:
        taxonomy, slash, name = category.partition("/")
        taxonomy, category = (taxonomy, name) if slash else (TRAIL, category)
    return f"{taxonomy}/{a_category(taxonomy, category) if taxonomy == TRAIL else short(category)}"


def _rank(severity: str) -> int:
    if not severity:
        return 0
    try:
        return Severity(severity.upper()).rank
    except ValueError:
        names = ", ".join(Severity)
        raise ConfigError(f"unknown severity {severity[:40]!r}: use one of {names}") from None
