"""Rates grouped by a dimension: the rows of a table, each with a link to its traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tracejury.collector.queries.explain.glossary import find_term
from tracejury.collector.queries.reader import Rates
from tracejury.schemas.queries.glossary import Term
from tracejury.schemas.rates import By, Rate, RateAnswer, RateQuery, ToolRates
from tracejury.schemas.taxonomy import TRAIL, Dimension, with_group
from tracejury.schemas.text.naming import MOST, agent_name, shortened

from .headline import NOTHING
from .links import session_link
from .window import Window

TITLES: Final[Mapping[By, str]] = {
    By.AGENT: "Worst agents",
    By.TOOL: "Worst tools",
    By.CATEGORY: "Categories",
    By.DIMENSION: "Dimensions",
    By.SEVERITY: "Severities",
    By.MODEL: "Models",
    By.ROLE: "Roles",
    By.SERVICE: "Services",
    By.VERSION: "Versions",
    By.JUDGE: "Detectors and judges",
    By.SESSION: "Sessions",
    By.TAXONOMY: "Taxonomies",
    By.BEHAVIOUR: "Users",
}
_NAMED: Final = frozenset({By.CATEGORY, By.DIMENSION, By.SEVERITY, By.JUDGE})
"""Groups that the glossary explains; other names come from users."""


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """One group. `name`: as it shows; `about`: its explanation, "" for a name that comes from users.

    `href`: "" where no list can be asked for it.
    """

    name: str
    about: str
    href: str
    rate: Rate


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A table of groups, worst first. `most`: the share that fills a bar; `left`: groups not shown."""

    title: str
    by: By
    rows: Sequence[BreakdownRow]
    most: float
    left: int


def break_down(answer: RateAnswer | ToolRates, by: By, window: Window, asked: Mapping[str, Any] = NOTHING) -> Breakdown:
    """The groups of an answer in which anything was found. `asked`: further parameters of links to traces."""
    rows = [_row(row.key, row.rate, by, window, asked) for row in answer.rows if row.rate.hits]
    most = max((row.rate.share.high for row in rows if row.rate.share), default=0.0)
    return Breakdown(TITLES[by], by, rows, most or 1.0, answer.left)


@dataclass(frozen=True, slots=True)
class JudgeBehaviours:
    """Rates of what every judge found, by `behaviours` of users, all judges together under "all".

    `rows`: (judge, the rate by behaviour), those with most errors first; `unlabelled`: units of users nobody labelled.
    """

    behaviours: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Rate | None]]]
    unlabelled: int


def judges_by_behaviour(rates: Rates, query: RateQuery) -> JudgeBehaviours:
    """The table of a query's time and runs; of judges with errors alone. Raises as `Rates.ask`."""
    whole = rates.ask(replace(query, by=By.BEHAVIOUR))
    found = {row.key: row.rate for row in whole.rows}
    unlabelled = found.pop("", None)
    by_judge: dict[str, dict[str, Rate]] = {}
    for behaviour in found:
        of_judges = replace(query, by=By.JUDGE, behaviour=behaviour, population=whole.population)
        for row in rates.ask(of_judges).rows:
            by_judge.setdefault(row.key, {})[behaviour] = row.rate
    hits = {judge: sum(rate.hits for rate in own.values()) for judge, own in by_judge.items()}
    named = sorted((judge for judge in hits if hits[judge]), key=lambda judge: (-hits[judge], judge))
    rows = [("all", found), *((judge, by_judge[judge]) for judge in named)] if found else []
    return JudgeBehaviours(
        tuple(found),
        [(name, [own.get(behaviour) for behaviour in found]) for name, own in rows],
        unlabelled.judged if unlabelled else 0,
    )


def _row(key: str, rate: Rate, by: By, window: Window, asked: Mapping[str, Any]) -> BreakdownRow:
    name = key.removeprefix(f"{TRAIL}/") if by is By.CATEGORY else key
    term = find_term(name) if by in _NAMED else None
    return BreakdownRow(
        shortened(_shown(key, name, by, term)) or (agent_name("") if by is By.AGENT else f"no {by}"),
        term.text if term else "",
        _link(name, by, window, asked),
        rate,
    )


def _shown(key: str, name: str, by: By, term: Term | None) -> str:
    if by is By.DIMENSION and term and name in set(Dimension):
        return term.title
    return with_group(TRAIL, name) if name != key else name


def _link(name: str, by: By, window: Window, asked: Mapping[str, Any]) -> str:
    # Rates tell names apart by as many characters: one of this length may be the beginning of several.
    if not name or len(name) >= MOST:
        return ""
    if by is By.SESSION:
        return session_link(window, name, profile=asked.get("profile", ""))
    # A severity is the least one that shows; whatever else is named, traces without findings do not.
    least = {} if by is By.SEVERITY else {"severity": "LOW"}
    return window.link("/traces", **{**asked, by.value: name, **least})
