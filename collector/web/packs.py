"""Pages of packs: the measures of sessions or runs, over time and by group, and the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fastapi import FastAPI, Request, Response

from tracejury.collector.api.params_measures import GROUPS, checked_groups
from tracejury.collector.api.paths import SOME
from tracejury.collector.queries.measures import MeasureAnswer, MeasureFigure, StoredMeasures
from tracejury.collector.queries.task_trials import TrialsOfTask
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.queries.measures import MeasuredPack, MeasureQuery
from tracejury.schemas.rates import Estimate

from .filters import counted
from .headline import points, series
from .site import Site, page, simulated
from .window import Window

MOST_GROUPS: Final = 20


@dataclass(frozen=True, slots=True)
class PackMeasureRow:
    """A measure with its difference to the time before, in words; "" where there is nothing to compare."""

    figure: MeasureFigure
    trend: str
    kind: str


@dataclass(frozen=True, slots=True)
class PackView:
    """The measures of a pack, each against the time before.

    `others`: where none was measured, how many simulated sessions were instead of real ones, or the other way round.
    """

    pack: MeasuredPack
    answer: MeasureAnswer
    rows: Sequence[PackMeasureRow]
    others: int


def add_packs(app: FastAPI, site: Site) -> None:
    """`/packs`, `/packs/{name}` and `/packs/{name}/tasks/{task}`."""

    @page(app, "/packs", "simulated")
    def packs(request: Request) -> Response:
        window, measures = site.window(request), site.reader.measures
        query = asked(request, window)
        views = [pack_view(measures, answer, query, window) for answer in measures.ask(query)]
        return site.render(request, "packs.html", views=views, simulated=query.simulated)

    @page(app, "/packs/{name}", "simulated", "by", "measure")
    def pack(request: Request, name: str) -> Response:
        window, measures = site.window(request), site.reader.measures
        installed(measures, name)
        by = ",".join(filter(None, request.query_params.getlist("by"))) or GROUPS[1]
        query = replace(asked(request, window), pack=name)
        (answer,) = measures.ask(replace(query, step=window.step))
        names = checked_groups(by)
        (grouped,) = measures.ask(replace(query, by=names, limit=MOST_GROUPS))
        letters = [measure.letter for measure in answer.pack.measures]
        letter = request.query_params.get("measure", "")
        chosen = letters.index(letter) if letter in letters else 0
        return site.render(
            request,
            "pack.html",
            view=pack_view(measures, answer, query, window),
            simulated=query.simulated,
            grouped=grouped,
            by=by,
            task_at=names.index("task") if "task" in names and answer.pack.unit == "session" else None,
            groups=GROUPS,
            chosen=answer.pack.measures[chosen],
            chart=chart(answer, chosen, window),
        )

    @page(app, f"/packs/{{name}}/tasks/{{task:{SOME}}}", "simulated")
    def task(request: Request, name: str, task: str) -> Response:
        window, measures = site.window(request), site.reader.measures
        pack = installed(measures, name)
        if pack.unit != "session":
            raise NotFoundError(f"{pack.title} are of agent runs: a task has no trials there")
        query = replace(asked(request, window), task=task)
        found = site.reader.task_trials(pack, query)
        others = 0
        if not found.cells:
            others = measures.of(pack, replace(query, simulated=not query.simulated)).total.sessions
        return site.render(
            request,
            "task.html",
            pack=pack,
            task=task,
            found=found,
            simulated=query.simulated,
            others=others,
            own=own_names(found),
            measured=[(at, one) for at, one in enumerate(pack.measures) if not one.validates],
        )


def installed(measures: StoredMeasures, name: str) -> MeasuredPack:
    """The pack of that name. Raises NotFoundError."""
    found = next((one for one in measures.packs if one.name == name), None)
    if found is None:
        raise NotFoundError(f"no pack {name[:60]!r} is installed")
    return found


def own_names(found: TrialsOfTask) -> Sequence[str]:
    """The pack's own figures that any trial or cell has."""
    figures = [one.own for cell in found.cells for one in cell.trials] + [cell.group.own for cell in found.cells]
    return list(dict.fromkeys(name for some in figures for name, value in some.items() if value not in (None, {})))


def asked(request: Request, window: Window) -> MeasureQuery:
    """The question of a page: the measures of its time and service, of real or simulated sessions."""
    return MeasureQuery(window.since, window.until, service=window.service, simulated=simulated(request))


def pack_view(measures: StoredMeasures, answer: MeasureAnswer, query: MeasureQuery, window: Window) -> PackView:
    """The answer to a query against the time before."""
    before = replace(query, since=window.before.since, until=window.before.until)
    compared = measures.compare(answer, before).differences if answer.total.sessions else {}
    best = answer.pack.best
    rows = [measure_row(figure, compared.get(figure.measure.letter), best) for figure in answer.total.figures]
    others = 0
    if not answer.total.sessions:
        others = measures.of(answer.pack, replace(query, simulated=not query.simulated)).total.sessions
    return PackView(answer.pack, answer, rows, others)


def measure_row(figure: MeasureFigure, difference: Estimate | None, best: int = 1) -> PackMeasureRow:
    """A figure beside its difference to the time before: in percentage points where it is a share, else in grades."""
    if difference is None:
        return PackMeasureRow(figure, "", "")
    value, low, high = difference.value, difference.low, difference.high
    if best == 1:
        words = f"{points(value)} points ({points(low)} to {points(high)})"
    else:
        words = f"{value:+.2f} ({low:+.2f} to {high:+.2f})"
    return PackMeasureRow(figure, words, "bad" if difference.high < 0 else "fine" if difference.low > 0 else "")


def chart(answer: MeasureAnswer, measure: int, window: Window) -> Mapping[str, Any]:
    """One measure over time with its interval; a step without a session that has it is a gap."""
    shown = {row.at: row.figures[measure] for row in answer.rows}
    figures = [shown.get(at) for at in window.steps]
    marks = [counted(figure.n, answer.pack.unit) if figure else "" for figure in figures]
    estimates = [figure.estimate if figure else None for figure in figures]
    return series(answer.pack.measures[measure].title, window, estimates, marks) | {"percent": answer.pack.best == 1}
