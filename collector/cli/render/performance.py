"""Latency, tokens, cost and failures for people, from the JSON of the API. Names came from spans: plain text."""

from __future__ import annotations

from operator import itemgetter

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.wire.performance import PerformanceFiguresJson, PerformanceJson

from .tables import content, moment, rows_table


def performance_table(page: PerformanceJson) -> RenderableType:
    """A line a group and point in time (a block where lines are too short), and what has no figures."""
    stepped, named = page.step_seconds is not None, page.by is not None
    columns = ("p50", "p95", "p99", "failed", "95 %", "tokens in", "cached", "out", "cost", "of")
    rows = list[list[Text]]()
    for row in page.items if named or stepped else ():
        name = [content(row.key or (agent_name("") if page.by == "agent" else "-"), 60)] * named
        rows.append([*name, *[moment(row.at)] * stepped, *_cells(row, page.unit)])
    total = [Text("all", "bold"), Text("")] if named and stepped else [Text("all", "bold")] if named or stepped else []
    rows.append([*total, *_cells(page.total, page.unit)])
    names = (*[page.by or ""] * named, *["from"] * stepped, *columns)
    table = rows_table(rows, "", {name: itemgetter(place) for place, name in enumerate(names)})
    lines = list[Text]()
    if page.simulated:
        lines.append(Text("of simulated sessions", "dim"))
    if page.left:
        lines.append(Text(f"{counted(page.left, 'more group')}: narrow with filters, or raise --limit", "dim"))
    if page.total.unpriced:
        lines.append(Text(f"+ without {counted(page.total.unpriced, 'LLM call')} of unknown price", "dim"))
    if page.unmeasured:
        lines.append(Text(f"{counted(page.unmeasured, 'trace')} without figures: not judged by this version", "dim"))
    return Group(table, *lines)


def _cells(figures: PerformanceFiguresJson, unit: str) -> list[Text]:
    share = figures.failed_share
    known = share is not None
    return [
        *(Text(_seconds(value), "bold") for value in (figures.p50_seconds, figures.p95_seconds, figures.p99_seconds)),
        Text(f"{100 * share.value:.1f} %" if share else "-", "bold" if known else "dim"),
        Text(f"{100 * share.low:.1f} - {100 * share.high:.1f} %" if share else "-", "dim"),
        Text(f"{figures.input_tokens:,}"),
        Text(f"{100 * figures.cached_share:.0f} %" if figures.cached_share is not None else "-", "dim"),
        Text(f"{figures.output_tokens:,}"),
        Text(f"${figures.usd:.4f}{'+' * bool(figures.unpriced)}"),
        Text(counted(figures.units, unit.replace("_", " ").replace("llm", "LLM")), "dim"),
    ]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.2f} s"
