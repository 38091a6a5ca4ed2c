"""The overview's main figures and its chart, made from rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.rates import Estimate, Population, Rate, RateAnswer, RateComparison, RateRow, Unit

from .filters import SECOND, counted, percent
from .window import Window, field_time

PLAIN: Final = 0.05
"""A difference with a smaller p-value counts as real."""
RARE: Final = 0.001
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
UNITS: Final[Mapping[Unit, str]] = {
    Unit.RUN: "runs",
    Unit.TURN: "turns",
    Unit.TRACE: "traces",
    Unit.SESSION: "sessions",
}
WHOSE: Final[Mapping[Population, str]] = {
    Population.BOTH: "detectors and LLM judges",
    Population.JUDGES: "LLM judges",
    Population.DETECTORS: "detectors",
}


@dataclass(frozen=True, slots=True)
class RateChange:
    """One share against another, in words. `kind`: worse, better, same or unknown."""

    kind: str
    words: str
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A step of time in the table beside the chart."""

    at: int
    rate: Rate
    href: str


@dataclass(frozen=True, slots=True)
class Headline:
    """The main figures. `chart`: as static/chart.js reads it; `unjudged`: why and how many, most first."""

    rate: Rate
    units: str
    population: Population
    whose: str
    change: RateChange
    chart: Mapping[str, Any]
    points: Sequence[Point]
    unjudged: Sequence[tuple[str, int]]
    from_rollups: bool
    traces: Mapping[NotJudged | None, int]

    @property
    def traces_not_judged(self) -> Sequence[tuple[NotJudged, int]]:
        """Traces of that time that no judge looked at, by why, most first."""
        found = [(why, count) for why, count in self.traces.items() if why and count]
        return sorted(found, key=lambda one: (-one[1], one[0]))


def headline(
    answer: RateAnswer, compared: RateComparison, window: Window, unit: Unit, asked: Mapping[str, Any] = NOTHING
) -> Headline:
    """The figures of an answer over time, against the period before. `asked`: further parameters of links to traces."""
    unjudged = sorted(answer.unjudged.counts.items(), key=lambda item: (-item[1], item[0]))
    return Headline(
        answer.total,
        UNITS[unit],
        answer.population,
        WHOSE[answer.population],
        change(compared),
        chart(answer.rows, window, unit, asked),
        [Point(row.at, row.rate, step_link(row.at, window, asked)) for row in answer.rows if row.rate.judged],
        [(why, count) for why, count in unjudged if count],
        answer.from_rollups,
        answer.traces,
    )


def change(compared: RateComparison) -> RateChange:
    """A comparison in words; `a` is the period before."""
    if compared.difference is None or compared.p_value is None:
        missing = "before" if compared.b.total.judged else "now"
        return RateChange("unknown", f"nothing was judged {missing}, so there is nothing to compare", None)
    return change_of(compared.difference, compared.p_value, "the period before")


def change_of(
    difference: Estimate, p_value: float, before: str, kinds: tuple[str, str] = ("worse", "better")
) -> RateChange:
    """A difference of shares in words; `kinds`: the words for a larger and a smaller share."""
    told = f"{points(difference.value)} points ({points(difference.low)} to {points(difference.high)})"
    chance = f"a difference as large would come {spoken(p_value)}"
    if p_value >= PLAIN:
        return RateChange("same", f"no clear difference from {before}: {told}; {chance}", p_value)
    kind = kinds[0] if difference.value > 0 else kinds[1]
    return RateChange(kind, f"{kind} than {before}: {told}; {chance}", p_value)


def points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.1f}"


def spoken(p_value: float) -> str:
    """A p-value in words."""
    if p_value < RARE:
        return "by chance in fewer than 1 of 1000 cases"
    return f"by chance in {percent(p_value)} of cases (p = {p_value:.2g})"


def chart(rows: Sequence[RateRow], window: Window, unit: Unit, asked: Mapping[str, Any] = NOTHING) -> Mapping[str, Any]:
    """The share over time with its interval; a step in which nothing was judged is a gap."""
    shown = {row.at // window.step * window.step: row for row in rows}
    at_steps = {at: shown.get(at) for at in window.steps}
    marks = [f"{row.rate.hits} of {counted(row.rate.judged, unit)}" if row else "" for row in at_steps.values()]
    links = [step_link(at, window, asked) if row else "" for at, row in at_steps.items()]
    return series("Error rate", window, [row.rate.share if row else None for row in at_steps.values()], marks) | {
        "links": links
    }


def series(name: str, window: Window, estimates: Sequence[Estimate | None], marks: Sequence[str]) -> dict[str, Any]:
    """A chart of shares, one a step of the window; None leaves a gap."""
    return {
        "times": [at // SECOND for at in window.steps],
        "percent": True,
        "series": [
            {
                "name": name,
                "values": [e and e.value for e in estimates],
                "low": [e and e.low for e in estimates],
                "high": [e and e.high for e in estimates],
                "marks": marks,
            }
        ],
    }


def step_link(at: int, window: Window, asked: Mapping[str, Any] = NOTHING) -> str:
    """The failing traces of one step."""
    whole = Window(at, at + window.step, "", window.service)
    return whole.link("/traces", severity="LOW", from_=field_time(whole.since), to=field_time(whole.until), **asked)
