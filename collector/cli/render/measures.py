"""Measures for people, from the JSON of the API. Names came from spans: plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.text.counting import counted
from tracejury.schemas.wire.measures import MeasureFigureJson, MeasuresJson, PackMeasuresJson
from tracejury.schemas.wire.rates import EstimateJson

from .tables import content, moment, plain_table

WORST: Final = 5
"""Sessions that are named."""
UNLABELLED: Final = "unlabelled"
JUDGED_BY_HAND: Final = "only sessions judged by hand, which count in no figure, in this time"
NONE_CLOSED: Final = (
    "no session was measured in this time: a session is measured when it closes, "
    "after judges.session_quiet_seconds without a trace; tracejury judge --session ID closes one at once"
)


def measures_table(page: MeasuresJson) -> RenderableType:
    """The measures of each pack, its groups, what they are compared to, and its worst sessions."""
    if not page.items:
        return Text("no packs: name some under judges.packs in the configuration", "dim")
    return Group(*(part for pack in page.items for part in _pack(pack, page)))


def _pack(pack: PackMeasuresJson, page: MeasuresJson) -> Iterator[RenderableType]:
    pooled = ", pooled over sessions" if page.pooled else ""
    yield Text.assemble(
        content(pack.title, 80, "bold"), f"  {counted(pack.total.sessions, 'session')}{pooled}", *_counts(pack)
    )
    if pack.total.sessions:
        yield _figures(pack)
    else:
        yield Text(JUDGED_BY_HAND if pack.worst else NONE_CLOSED, "dim")
    if pack.total.sessions and (page.by or page.step_seconds):
        yield _groups(pack, page)
    if page.by == "behaviour" and pack.items:
        yield Text("a session counts in each behaviour of its users: rows add up to more than all", "dim")
    if pack.tasks:
        yield _tasks(pack)
    if pack.left:
        yield Text(f"{counted(pack.left, 'more group')}: narrow with filters, or raise --limit", "dim")
    if pack.unread:
        yield Text(f"{counted(pack.unread, 'earlier session')} not read: choose a shorter time", "dim")
    for one in pack.worst[:WORST]:
        values = ", ".join(f"{letter} {_value(value)}" for letter, value in one.values.items())
        place = Text.assemble(content(one.service or "unknown service", 60), " / ", content(one.session_id, 80))
        yield Text.assemble("worst: ", place, f"  {values}")
    yield Text()


def _figures(pack: PackMeasuresJson) -> RenderableType:
    compared = pack.compared
    table = plain_table(
        "measure", "mean", "95 %", *["difference"] * bool(compared), "of", "n/a", "unscored", "ungrounded"
    )
    titles = {measure.letter: measure.title for measure in pack.measures}
    for one in pack.total.measures:
        told = [_difference(compared.differences.get(one.letter))] if compared else []
        counts = (one.n, one.not_applicable, one.unscored, one.ungrounded)
        name = Text.assemble((one.letter, "bold"), "  ", content(titles[one.letter], 60))
        table.add_row(name, *_estimate(one), *told, *(Text(f"{count:,}", "" if count else "dim") for count in counts))
    average = pack.total.average
    blank = [Text()] * (bool(compared) + 5)
    table.add_row(Text("AVG  mean of these"), Text(_value(average), "bold"), *blank)
    return table


def _groups(pack: PackMeasuresJson, page: MeasuresJson) -> RenderableType:
    stepped = page.step_seconds is not None
    letters = [measure.letter for measure in pack.measures]
    table = plain_table(*[page.by or ""] * bool(page.by), *["from"] * stepped, *letters, "AVG", "sessions")
    for row in pack.items:
        name = [content(row.key or (UNLABELLED if page.by == "behaviour" else "-"), 60)] * bool(page.by)
        values = [Text(_value(one.estimate.value if one.estimate else None)) for one in row.measures]
        table.add_row(*name, *[moment(row.at)] * stepped, *values, Text(_value(row.average)), Text(f"{row.sessions:,}"))
    return table


def _tasks(pack: PackMeasuresJson) -> RenderableType:
    """Tasks with an oracle."""
    table = plain_table("tasks by oracle", "success", "drop", "calls / budget", "sessions", "failed by")
    for one in pack.tasks:
        modes = ", ".join(f"{mode} {100 * share:.0f} %" for mode, share in one.modes.items())
        figures = (_value(one.success), _value(one.drop), _value(one.calls), f"{one.sessions:,}", modes or "-")
        table.add_row(content(one.behaviour or UNLABELLED, 60), *map(Text, figures))
    return table


def _counts(pack: PackMeasuresJson) -> Iterator[Text]:
    if pack.waiting:
        yield Text(f", {pack.waiting:,} more {'wait' if pack.waiting > 1 else 'waits'} to be measured", "yellow")
    total = pack.total
    for name, spread in (("exchanges a session", total.exchanges), ("states an exchange", total.states)):
        if spread:
            yield Text(f", {spread.mean:.1f} {name} (sd {spread.deviation:.1f})", "dim")


def _estimate(one: MeasureFigureJson) -> tuple[Text, Text]:
    if one.estimate is None:
        return Text("-", "dim"), Text("-", "dim")
    return Text(_value(one.estimate.value), "bold"), Text(f"{one.estimate.low:.3f} - {one.estimate.high:.3f}", "dim")


def _difference(found: EstimateJson | None) -> Text:
    if found is None:
        return Text("-", "dim")
    style = "red" if found.high < 0 else "green" if found.low > 0 else "dim"
    return Text(f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})", style)


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
