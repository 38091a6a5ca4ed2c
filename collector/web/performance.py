"""Latency, tokens, cost and failures: the page of a service, and the panel of the overview."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fastapi import FastAPI, Request, Response

from tracejury.collector.queries.present_performance import cached_share, failed_share
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.queries.performance import (
    Performance,
    PerformanceAnswer,
    PerformanceBy,
    PerformanceQuery,
    PerformanceRow,
    PerformanceUnit,
)
from tracejury.schemas.rates import Estimate
from tracejury.schemas.text.naming import MOST, agent_name, shortened

from .filters import SECOND
from .site import Site, choice, page, simulated
from .window import Window

GROUPS: Final = 12
UNITS: Final[Mapping[PerformanceUnit, str]] = {
    PerformanceUnit.RUN: "run",
    PerformanceUnit.LLM_CALL: "LLM call",
    PerformanceUnit.TOOL_CALL: "tool call",
}
BROKEN_DOWN: Final[Mapping[PerformanceBy, tuple[str, PerformanceUnit]]] = {
    PerformanceBy.SERVICE: ("Services", PerformanceUnit.RUN),
    PerformanceBy.VERSION: ("Versions", PerformanceUnit.RUN),
    PerformanceBy.AGENT: ("Agents", PerformanceUnit.RUN),
    PerformanceBy.MODEL: ("Models", PerformanceUnit.LLM_CALL),
    PerformanceBy.TOOL: ("Tools", PerformanceUnit.TOOL_CALL),
    PerformanceBy.PROMPT: ("Prompts", PerformanceUnit.LLM_CALL),
}
"""What a break-down is called, and the unit that it is of."""
NARROWED: Final = ("version", "agent", "model")
"""Filters that every unit knows."""
PARAMS: Final = ("unit", "simulated", *NARROWED)


@dataclass(frozen=True, slots=True)
class ShownFigures:
    """One line of a table. `name`: of a group, or "" of a point in time (`at`); `href`: its traces, "" for none."""

    name: str
    at: int
    href: str
    figures: Performance

    @property
    def failed(self) -> Estimate | None:
        """The share that failed."""
        return failed_share(self.figures)

    @property
    def cached(self) -> float | None:
        """The share of the tokens sent that came from a cache."""
        return cached_share(self.figures)


@dataclass(frozen=True, slots=True)
class PerformanceView:
    """The figures of a time. `unit` as people say it; charts as static/chart.js reads them; `points`: their table."""

    unit: str
    total: ShownFigures
    latency: Mapping[str, Any]
    tokens: Mapping[str, Any]
    cost: Mapping[str, Any]
    points: Sequence[ShownFigures]
    unmeasured: int


@dataclass(frozen=True, slots=True)
class PerformanceGroups:
    """The groups of a break-down; `most`: the upper end of the widest interval of failures."""

    by: PerformanceBy
    title: str
    unit: str
    rows: Sequence[ShownFigures]
    left: int
    most: float


def add_performance_pages(app: FastAPI, site: Site) -> None:
    """`/services` with its fragments, and the panel of the overview."""

    @page(app, "/services", *PARAMS)
    def services(request: Request) -> Response:
        window, query = site.window(request), asked(request, site.window(request))
        by = [one for one in BROKEN_DOWN if one is not PerformanceBy.SERVICE or not window.service]
        narrowed = {name: getattr(query, name) for name in NARROWED}
        view = performance_view(site.reader.performance.ask(query), query, window)
        return site.render(
            request,
            "performance.html",
            view=view,
            query=query,
            units=UNITS,
            narrowed=narrowed,
            parts_of=[(one, BROKEN_DOWN[one][0]) for one in by],
        )

    @page(app, "/services/by/{by}", *PARAMS)
    def broken_down(request: Request, by: str) -> Response:
        if by not in set(PerformanceBy):
            raise NotFoundError(f"no break-down by {by[:40]!r}: use one of {', '.join(PerformanceBy)}")
        window, kind = site.window(request), PerformanceBy(by)
        unit = BROKEN_DOWN[kind][1]
        query = replace(asked(request, window), by=kind, unit=unit, step=0, limit=GROUPS)
        view = groups_view(site.reader.performance.ask(query), query, window)
        return site.render(request, "performance_by.html", view=view)

    @page(app, "/overview/performance", *PARAMS, "population", "profile", "attribute", "tag", "user")
    def panel(request: Request) -> Response:
        window = site.window(request)
        query = PerformanceQuery(
            window.since, window.until, window.step, service=window.service, simulated=simulated(request)
        )
        view = performance_view(site.reader.performance.ask(query), query, window)
        return site.render(request, "performance_panel.html", view=view)


def asked(request: Request, window: Window) -> PerformanceQuery:
    """The question of a URL. Raises ConfigError: it names what there is not."""
    given = request.query_params
    unit = choice(PerformanceUnit, "unit", given.get("unit") or PerformanceUnit.RUN)
    narrowed: dict[str, Any] = {name: given.get(name, "")[:MOST] for name in NARROWED}
    return PerformanceQuery(
        window.since,
        window.until,
        window.step,
        unit=unit,
        service=window.service,
        simulated=simulated(request),
        **narrowed,
    )


def performance_view(answer: PerformanceAnswer, query: PerformanceQuery, window: Window) -> PerformanceView:
    """The figures of an answer over time."""
    rows = {row.at // window.step * window.step: row.figures for row in answer.rows}
    narrowed = _narrowed(query)

    def chart(*series: tuple[str, Callable[[Performance], float | None]]) -> Mapping[str, Any]:
        shown = [rows.get(at) for at in window.steps]
        return {
            "times": [at // SECOND for at in window.steps],
            "percent": False,
            "links": [_step_link(at, window, narrowed) if at in rows else "" for at in window.steps],
            "series": [
                {"name": name, "values": [None if one is None else value(one) for one in shown]}
                for name, value in series
            ],
        }

    return PerformanceView(
        UNITS[query.unit],
        ShownFigures("", query.since, "", answer.total),
        chart(
            ("p50, seconds", lambda one: _seconds(one.p50)),
            ("p95, seconds", lambda one: _seconds(one.p95)),
            ("p99, seconds", lambda one: _seconds(one.p99)),
        ),
        chart(
            ("Sent", lambda one: one.input_tokens),
            ("of these from a cache", lambda one: one.cached_tokens),
            ("Written", lambda one: one.output_tokens),
        ),
        chart(("US dollars", lambda one: one.cost)),
        [ShownFigures("", at, _step_link(at, window, narrowed), figures) for at, figures in sorted(rows.items())],
        answer.unmeasured,
    )


def groups_view(answer: PerformanceAnswer, query: PerformanceQuery, window: Window) -> PerformanceGroups:
    """The groups of an answer, each with a link to its traces."""
    by = query.by or PerformanceBy.SERVICE
    rows = [ShownFigures(_name(row, by), row.at, _link(row.key, by, query, window), row.figures) for row in answer.rows]
    most = max((row.failed.high for row in rows if row.failed), default=1.0)
    return PerformanceGroups(by, BROKEN_DOWN[by][0], UNITS[query.unit], rows, answer.left, most)


def _name(row: PerformanceRow, by: PerformanceBy) -> str:
    return shortened(row.key) or (agent_name("") if by is PerformanceBy.AGENT else f"no {by}")


def _link(key: str, by: PerformanceBy, query: PerformanceQuery, window: Window) -> str:
    # Names are told apart by as many characters: one of this length may be the beginning of several.
    if not key or len(key) >= MOST:
        return ""
    if by is PerformanceBy.SERVICE:
        return replace(window, service=key).link("/services", **_narrowed(query))
    return window.link("/traces", **{**_narrowed(query), by.value: key})


def _step_link(at: int, window: Window, narrowed: Mapping[str, Any]) -> str:
    """The traces of one step."""
    return replace(window, range="", since=at, until=at + window.step).link("/traces", **narrowed) if at else ""


def _narrowed(query: PerformanceQuery) -> dict[str, Any]:
    return {name: getattr(query, name) for name in NARROWED} | {"simulated": "1" if query.simulated else ""}


def _seconds(nanos: float | None) -> float | None:
    return None if nanos is None else nanos / SECOND
